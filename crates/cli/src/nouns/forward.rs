//! `gpuaas forward`: a port of an allocation on this machine.

use clap::Args;
use contract::{
    Within,
    access_tickets::{AccessTicketSpec, CreateAccessTicket, TicketKind},
    id::NodeId,
};
use tokio::net::TcpListener;

use super::terminal::ticket;
use crate::{
    context::Context,
    failure::{Done, Failure},
    forward,
};

const EXAMPLES: &str = "\
Examples:
  gpuaas forward notebook 8888
  gpuaas forward notebook 8888 --local 0

The first makes http://127.0.0.1:8888 the allocation's port 8888; the second takes any free port here and prints it.

Only ports on which the allocation's own user listens can be reached. Ctrl-C ends it.";

/// Reach a port of an allocation as if it were on this machine
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Forward {
    /// Id or name
    #[arg(value_name = "ALLOCATION")]
    wanted: String,
    /// The port there
    #[arg(value_name = "PORT")]
    port: Within<1, 65535>,
    /// The port here; the same when absent, any free one when nought
    #[arg(long, value_name = "PORT")]
    local: Option<u16>,
    /// Which of its nodes; the first when absent
    #[arg(long, value_name = "ID")]
    node: Option<NodeId>,
}

impl Forward {
    pub async fn run(self, context: &Context) -> Done {
        let path = context.allocation_named(&self.wanted).await?;
        let here = self.local.unwrap_or(u16::try_from(self.port.get()).unwrap_or(0));
        let cannot = |error: std::io::Error| {
            Failure::usage(format!("cannot listen on 127.0.0.1:{here}: {error}"), "Choose another port with --local.")
        };
        let listener = TcpListener::bind(("127.0.0.1", here)).await.map_err(cannot)?;
        let local = listener.local_addr().map_err(cannot)?;
        let spec = AccessTicketSpec {
            kind: TicketKind::Tcp,
            port: Some(self.port),
            node_id: self.node,
            resume: None,
            watch: false,
            command: None,
            plain: false,
            share: false,
        };
        let answer = context.send::<CreateAccessTicket>(path, spec).await?;
        context.output.line(format!("{local} is port {} of {}", self.port, self.wanted))?;
        forward::run(context.output, listener, &ticket(&answer)?).await
    }
}
