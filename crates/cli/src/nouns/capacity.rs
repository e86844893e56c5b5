//! `gpuaas capacity`: how much there is of each SKU, and what became of it.

use clap::Subcommand;
use contract::{
    Label, Nothing,
    capacity::{CapacityFilter, CapacityLine, ListCapacity},
};

use crate::{
    arguments::{self, Paging},
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas capacity list
  gpuaas capacity list --sku h200-slice --region eu-north
  gpuaas capacity list -o json

Each line counts what its SKU sells: whole nodes for bare metal, GPUs or MIG
slices otherwise. They are free to be taken, held while they are prepared or
cleaned, used by somebody, or broken: quarantined, gone, or out of service. What
suits several SKUs counts for each of them; a node of which a part is in use
counts as used.";

/// Capacity: how much of each SKU there is in each region
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Capacity {
    /// Show how much of each SKU there is in each region
    List {
        /// Only this SKU
        #[arg(long, value_parser = arguments::text::<Label>)]
        sku: Option<Label>,
        /// Only this region
        #[arg(long, value_parser = arguments::text::<Label>)]
        region: Option<Label>,
        #[command(flatten)]
        paging: Paging,
    },
}

const COLUMNS: Columns = columns!(CapacityLine: sku, region, unit, free, held, used, broken);

impl Capacity {
    pub async fn run(self, context: &Context) -> Done {
        let Capacity::List { sku, region, paging } = self;
        let query = CapacityFilter { sku, region, limit: paging.page(), ..CapacityFilter::default() };
        context.list::<ListCapacity>(Nothing {}, query, paging, COLUMNS).await
    }
}
