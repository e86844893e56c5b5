//! `gpuaas gateways`: the doors through which people reach allocations.

use clap::Subcommand;
use contract::{
    Label, Nothing,
    gateways::{
        CreateGateway, Domain, Gateway, GatewayAgentUrl, GatewayFilter, GatewayPath, GatewayPublicUrl, GatewaySpec,
        GatewayStatus, GetGateway, HostAndPort, ListGateways, RemoveGateway,
    },
    id::GatewayId,
};

use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas gateways create --name edge-1 --region eu-north --agent-url https://edge-1.example.com:7444 --public-url wss://gw.example.com --web-domain web.example.net
  gpuaas gateways list
  gpuaas gateways remove gateway-01k9z8y7x6w5v4t3s2r1q0p9n8 --yes";

/// Manage gateways, the entry points to allocations (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Gateways {
    /// Register a gateway; its join token is printed once
    Create {
        /// Name of the gateway
        #[arg(long, value_parser = arguments::text::<Label>)]
        name: Label,
        /// Region whose hosts it serves, by ID or name
        #[arg(long)]
        region: String,
        /// URL that hosts connect to
        #[arg(long, value_parser = arguments::text::<GatewayAgentUrl>)]
        agent_url: GatewayAgentUrl,
        /// URL that clients connect to
        #[arg(long, value_parser = arguments::text::<GatewayPublicUrl>)]
        public_url: GatewayPublicUrl,
        /// Address that SSH clients connect to
        #[arg(long, value_parser = arguments::text::<HostAndPort>)]
        ssh_address: Option<HostAndPort>,
        /// Parent domain under which each web service gets a hostname
        #[arg(long, value_parser = arguments::text::<Domain>)]
        web_domain: Domain,
        #[command(flatten)]
        once: Once,
    },
    /// List gateways
    List {
        /// Filter by status
        #[arg(long, value_parser = arguments::word::<GatewayStatus>())]
        status: Option<GatewayStatus>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a gateway
    Get {
        /// ID of the gateway
        #[arg(value_name = "GATEWAY")]
        id: GatewayId,
    },
    /// Remove a gateway: revoke its certificate and disconnect its hosts
    Remove {
        /// ID of the gateway
        #[arg(value_name = "GATEWAY")]
        id: GatewayId,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns = columns!(Gateway: id, name, region_id, status, public_url, nodes, sessions, last_seen_at);

impl Gateways {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Gateways::Create { name, region, agent_url, public_url, ssh_address, web_domain, once } => {
                let region_id = context.region_named(&region).await?;
                let spec = GatewaySpec { name, region_id, agent_url, public_url, ssh_address, web_domain };
                let answer = context.create::<CreateGateway>(&once, Nothing {}, spec).await?;
                context.output.item_with_secret(&answer, "gateway", "secret")?;
                let text = |name: &str| answer.get(name).and_then(|it| it.as_str()).unwrap_or_default().to_owned();
                context.output.hint(format!(
                    "\nSave the secret now; it is not shown again. On the gateway's machine, set GPUAAS_GATEWAY_JOIN_TOKEN to it,\nset control_url = \"{}\", ca_fingerprint = \"{}\" under [gateway], and run:\n  gpuaasd serve --roles gateway",
                    text("control_url"),
                    text("ca_fingerprint")
                ));
                Ok(())
            }
            Gateways::List { status, paging } => {
                let query = GatewayFilter { status, limit: paging.page(), ..Default::default() };
                context.list::<ListGateways>(Nothing {}, query, paging, COLUMNS).await
            }
            Gateways::Get { id } => {
                context.output.item(&context.ask::<GetGateway>(GatewayPath { gateway_id: id }).await?)
            }
            Gateways::Remove { id, consent } => {
                prompt::confirm(
                    consent,
                    "disconnects the gateway; its sessions continue through other gateways",
                    &id.to_string(),
                )
                .await?;
                let answer = context.ask::<RemoveGateway>(GatewayPath { gateway_id: id }).await?;
                context.output.done(&answer, "Removed the gateway.")
            }
        }
    }
}
