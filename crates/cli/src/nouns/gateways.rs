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
  gpuaas gateways create --name edge-1 --region eu-north --agent-url https://edge-1.example.com:7444 --public-url wss://gw.example.com --app-domain apps.example.net
  gpuaas gateways list
  gpuaas gateways remove gateway-01k9z8y7x6w5v4t3s2r1q0p9n8 --yes";

/// Gateways: the doors through which people reach allocations (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Gateways {
    /// Add a gateway; prints the token with which its process joins, once
    Create {
        /// What to call it
        #[arg(long, value_parser = arguments::text::<Label>)]
        name: Label,
        /// Id or name of the region whose hosts it serves
        #[arg(long)]
        region: String,
        /// Where hosts reach it
        #[arg(long, value_parser = arguments::text::<GatewayAgentUrl>)]
        agent_url: GatewayAgentUrl,
        /// Where people's programs reach it
        #[arg(long, value_parser = arguments::text::<GatewayPublicUrl>)]
        public_url: GatewayPublicUrl,
        /// Where SSH clients reach it
        #[arg(long, value_parser = arguments::text::<HostAndPort>)]
        ssh_address: Option<HostAndPort>,
        /// Below which every app has a name of its own
        #[arg(long, value_parser = arguments::text::<Domain>)]
        app_domain: Domain,
        #[command(flatten)]
        once: Once,
    },
    /// List gateways
    List {
        /// Only those in this condition
        #[arg(long, value_parser = arguments::word::<GatewayStatus>())]
        status: Option<GatewayStatus>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show one gateway
    Get {
        /// Its id
        #[arg(value_name = "GATEWAY")]
        id: GatewayId,
    },
    /// Remove a gateway: its certificate stops working, and hosts leave it
    Remove {
        /// Its id
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
            Gateways::Create { name, region, agent_url, public_url, ssh_address, app_domain, once } => {
                let region_id = context.region_named(&region).await?;
                let spec = GatewaySpec { name, region_id, agent_url, public_url, ssh_address, app_domain };
                let answer = context.create::<CreateGateway>(&once, Nothing {}, spec).await?;
                context.output.item_with_secret(&answer, "gateway", "secret")?;
                let text = |name: &str| answer.get(name).and_then(|it| it.as_str()).unwrap_or_default().to_owned();
                context.output.hint(format!(
                    "\nThe secret is shown this once. Where the gateway runs, with the secret in GPUAAS_GATEWAY_JOIN_TOKEN\nand control_url = \"{}\", ca_fingerprint = \"{}\" under [gateway]:\n  gpuaasd serve --roles gateway",
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
                prompt::confirm(consent, "cuts the gateway off; its sessions go on through others", &id.to_string())
                    .await?;
                let answer = context.ask::<RemoveGateway>(GatewayPath { gateway_id: id }).await?;
                context.output.done(&answer, "Removed.")
            }
        }
    }
}
