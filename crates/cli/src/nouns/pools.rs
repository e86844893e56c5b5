//! `gpuaas pools`: groups of nodes that come from one provider and are cleaned in one way.

use clap::Subcommand;
use contract::{
    Label, Nothing, Reason,
    agents::{AgentUpdateSpec, AgentVersion, StopPoolUpdate, UpdatePool},
    organizations::Because,
    pools::{ChangePool, CreatePool, Isolation, ListPools, Pool, PoolChange, PoolFilter, PoolProvider, PoolSpec},
};

use crate::{
    arguments::{self, Once, Paging},
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples (platform staff):
  gpuaas pools create hosts --region eu-north --provider enrolled --isolation full_reimage
  gpuaas pools list --region eu-north
  gpuaas pools change hosts --isolation user_revoke
  gpuaas pools update hosts --version 0.2.0 --reason \"ticket 42\"
  gpuaas pools stop-update hosts --reason \"ticket 43\"

An update replaces the agent on every node of the pool, `nodes.update_at_once`
nodes at a time, and stops when one of them fails. Track its progress with
`gpuaas nodes list --pool hosts`.";

/// Manage pools: nodes of one region and provider with the same isolation (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Pools {
    /// Create a pool in a region
    Create {
        /// Name of the pool
        #[arg(value_parser = arguments::text::<Label>)]
        name: Label,
        /// Region of the nodes, by ID or name
        #[arg(long)]
        region: String,
        /// Provider of the nodes
        #[arg(long, value_parser = arguments::word::<PoolProvider>())]
        provider: PoolProvider,
        /// How a node is sanitized between tenants
        #[arg(long, value_parser = arguments::word::<Isolation>())]
        isolation: Isolation,
        /// Run workloads in virtual machines, so that several organizations can share a node
        #[arg(long)]
        vm_isolation: bool,
        #[command(flatten)]
        once: Once,
    },
    /// List pools
    List {
        /// Filter by region, by ID or name
        #[arg(long)]
        region: Option<String>,
        /// Filter by name
        #[arg(long, value_parser = arguments::text::<Label>)]
        name: Option<Label>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Change how the nodes of a pool are sanitized
    Change {
        /// ID or name of the pool
        pool: String,
        /// How a node is sanitized between tenants
        #[arg(long, value_parser = arguments::word::<Isolation>())]
        isolation: Isolation,
    },
    /// Update the agent on every node of a pool, a few nodes at a time
    Update {
        /// ID or name of the pool
        pool: String,
        /// Agent version to install [default: newest available]
        #[arg(long, value_parser = arguments::text::<AgentVersion>)]
        version: Option<AgentVersion>,
        /// Reason, recorded in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
    },
    /// Cancel the updates of a pool that have not started
    StopUpdate {
        /// Id or name
        pool: String,
        /// Reason, recorded in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
    },
}

const COLUMNS: Columns = columns!(Pool: id, name, region_id, provider, isolation, isolates_vms, created_at);

impl Pools {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Pools::Create { name, region, provider, isolation, vm_isolation, once } => {
                let region_id = context.region_named(&region).await?;
                let spec = PoolSpec { name, region_id, provider, isolation, isolates_vms: vm_isolation };
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
                return context.output.done(&answer, "Canceled the updates that had not started.");
            }
        };
        context.output.item(&answer)
    }
}
