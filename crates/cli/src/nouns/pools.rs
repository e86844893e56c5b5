//! `gpuaas pools`: groups of nodes that come from one provider and are cleaned in one way.

use clap::Subcommand;
use contract::{
    Label, Nothing, Reason,
    agents::{AgentUpdateSpec, AgentVersion, StopPoolUpdate, UpdatePool},
    organizations::Because,
    pools::{ChangePool, CreatePool, Isolation, ListPools, Pool, PoolChange, PoolFilter, PoolSpec, Provider},
};

use crate::{
    arguments::{self, Once, Paging},
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples, all for platform staff:
  gpuaas pools create hosts --region eu-north --provider enrolled --isolation full_reimage
  gpuaas pools list --region eu-north
  gpuaas pools change hosts --isolation user_revoke
  gpuaas pools update hosts --version 0.2.0 --reason \"ticket 42\"
  gpuaas pools stop-update hosts --reason \"ticket 43\"

An update replaces the agent on every node of the pool, `nodes.update_at_once`
at a time, and stops when one of them fails. `gpuaas nodes list --pool hosts`
shows how far it is.";

/// Pools: nodes of one region and provider that are cleaned in one way (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Pools {
    /// Add a pool to a region
    Create {
        /// What to call it
        #[arg(value_parser = arguments::text::<Label>)]
        name: Label,
        /// Where its nodes are, by id or name
        #[arg(long)]
        region: String,
        /// Who supplies its nodes
        #[arg(long, value_parser = arguments::word::<Provider>())]
        provider: Provider,
        /// What happens to a node between two tenants
        #[arg(long, value_parser = arguments::word::<Isolation>())]
        isolation: Isolation,
        /// Workloads run in virtual machines, so that one node may serve several organizations
        #[arg(long)]
        isolates_vms: bool,
        #[command(flatten)]
        once: Once,
    },
    /// List the pools
    List {
        /// Only those of this region, by id or name
        #[arg(long)]
        region: Option<String>,
        /// Only the one with this name
        #[arg(long, value_parser = arguments::text::<Label>)]
        name: Option<Label>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Change how the nodes of a pool are cleaned
    Change {
        /// Id or name
        pool: String,
        /// What happens to a node between two tenants
        #[arg(long, value_parser = arguments::word::<Isolation>())]
        isolation: Isolation,
    },
    /// Replace the agent on every node of a pool, a few nodes at a time
    Update {
        /// Id or name
        pool: String,
        /// The version to give them; the newest that is served when not said
        #[arg(long, value_parser = arguments::text::<AgentVersion>)]
        version: Option<AgentVersion>,
        /// Why; kept in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
    },
    /// Call off the updates of a pool that have not begun
    StopUpdate {
        /// Id or name
        pool: String,
        /// Why; kept in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
    },
}

const COLUMNS: Columns = columns!(Pool: id, name, region_id, provider, isolation, isolates_vms, created_at);

impl Pools {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Pools::Create { name, region, provider, isolation, isolates_vms, once } => {
                let region_id = context.region_named(&region).await?;
                let spec = PoolSpec { name, region_id, provider, isolation, isolates_vms };
                context.create::<CreatePool>(&once, Nothing {}, spec).await?
            }
            Pools::List { region, name, paging } => {
                let region_id = match region {
                    Some(region) => Some(context.region_named(&region).await?),
                    None => None,
                };
                let query = PoolFilter { region_id, name, limit: paging.page(), ..PoolFilter::default() };
                return context.list::<ListPools>(Nothing {}, query, paging, COLUMNS).await;
            }
            Pools::Change { pool, isolation } => {
                let path = context.pool_named(&pool).await?;
                context.send::<ChangePool>(path, PoolChange { isolation }).await?
            }
            Pools::Update { pool, version, reason } => {
                let path = context.pool_named(&pool).await?;
                context.send::<UpdatePool>(path, AgentUpdateSpec { version, reason }).await?
            }
            Pools::StopUpdate { pool, reason } => {
                let path = context.pool_named(&pool).await?;
                let answer = context.send::<StopPoolUpdate>(path, Because { reason }).await?;
                return context.output.done(&answer, "what had not begun is called off");
            }
        };
        context.output.item(&answer)
    }
}
