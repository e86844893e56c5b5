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
  gpuaas forward notebook 8888 --local-port 0

The first command makes port 8888 of the allocation available at http://127.0.0.1:8888.
The second picks any free local port and prints it.
Only ports opened by the allocation's own user are reachable. Press Ctrl-C to stop.";

/// Forward a local port to a port of an allocation
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Forward {
    /// ID or name of the allocation
    #[arg(value_name = "ALLOCATION")]
    wanted: String,
    /// Remote port on the allocation
    #[arg(value_name = "PORT")]
    port: Within<1, 65535>,
    /// Local port, or 0 for any free port [default: same as PORT]
    #[arg(long, value_name = "PORT")]
    local_port: Option<u16>,
    /// Node to connect to [default: the first]
    #[arg(long, value_name = "ID")]
    node: Option<NodeId>,
}

impl Forward {
    pub async fn run(self, context: &Context) -> Done {
        let path = context.allocation_named(&self.wanted).await?;
        let here = self.local_port.unwrap_or(u16::try_from(self.port.get()).unwrap_or(0));
        let cannot = |error: std::io::Error| {
            Failure::usage(
                format!("cannot listen on 127.0.0.1:{here}: {error}"),
                "Choose another port with --local-port.",
            )
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
        context.output.line(format!("Forwarding {local} to port {} of {}", self.port, self.wanted))?;
        forward::run(context.output, listener, &ticket(&answer)?).await
    }
}
