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

Each row counts units of a SKU: whole nodes for bare metal, GPUs or MIG slices
otherwise. FREE units can be allocated, HELD ones are being provisioned or
sanitized, USED ones are allocated, and BROKEN ones are quarantined, lost or out
of service. A unit that fits several SKUs counts for each of them; a partly used
node counts as used.";

/// Show available capacity by SKU and region
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Capacity {
    /// List capacity by SKU and region
    List {
        /// Filter by SKU
        #[arg(long, value_parser = arguments::text::<Label>)]
        sku: Option<Label>,
        /// Filter by region
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
