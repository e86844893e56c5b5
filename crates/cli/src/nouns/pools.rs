//! `gpuaas pools`: groups of nodes that come from one provider and are cleaned in one way.

use clap::Subcommand;
use contract::{
    Label, Nothing,
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
  gpuaas pools change hosts --isolation user_revoke";

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
        };
        context.output.item(&answer)
    }
}
