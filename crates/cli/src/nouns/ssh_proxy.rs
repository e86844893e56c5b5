//! `gpuaas ssh-proxy`: what OpenSSH's configuration calls to reach an allocation.

use clap::Args;
use tokio::{
    io::{AsyncWriteExt, copy, stdin, stdout},
    net::TcpStream,
};

use crate::{
    context::Context,
    failure::{Class, Done, Failure},
    ssh::Kit,
};

const EXAMPLES: &str = "\
Examples:
  gpuaas ssh-proxy notebook --prepare
  gpuaas ssh-proxy notebook

Used as `ssh -o ProxyCommand=\"gpuaas ssh-proxy %h\" …`; `gpuaas ssh-config` writes this for you.";

/// Connect standard input and output to an allocation's SSH port (OpenSSH ProxyCommand)
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SshProxy {
    /// ID or name of the allocation
    allocation: String,
    /// Only prepare the key, certificate and known hosts
    #[arg(long)]
    prepare: bool,
}

impl SshProxy {
    pub async fn run(self, context: &Context) -> Done {
        let path = context.allocation_named(&self.allocation).await?;
        let way = Kit::kept(context, &path)?.fill(context, path).await?;
        if self.prepare {
            return Ok(());
        }
        let stream = TcpStream::connect((way.host.as_str(), way.port)).await.map_err(|error| {
            let detail = format!("cannot connect to the gateway at {}:{}: {error}", way.host, way.port);
            Failure::new(Class::Unavailable, detail, "Try again in a moment.")
        })?;
        stream.set_nodelay(true)?;
        let (mut from, mut to) = stream.into_split();
        let inward = async {
            let _ = copy(&mut stdin(), &mut to).await;
            // What comes back is still waited for.
            let _ = to.shutdown().await;
            std::future::pending::<()>().await
        };
        let outward = async {
            let mut out = stdout();
            let _ = copy(&mut from, &mut out).await;
            let _ = out.flush().await;
        };
        tokio::select! {
            () = inward => (),
            () = outward => (),
        }
        Ok(())
    }
}
