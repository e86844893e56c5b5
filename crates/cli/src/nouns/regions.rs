//! `gpuaas regions`: places that capacity is in.

use clap::Subcommand;
use contract::{
    Label, Nothing,
    regions::{CreateRegion, ListRegions, Region, RegionFilter, RegionSpec},
};

use crate::{
    arguments::{self, Once, Paging},
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas regions list

For platform staff:
  gpuaas regions create eu-north";

/// Manage regions
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Regions {
    /// Create a region (platform staff)
    Create {
        /// Name of the region; cannot be changed later
        #[arg(value_parser = arguments::text::<Label>)]
        name: Label,
        #[command(flatten)]
        once: Once,
    },
    /// List regions
    List {
        /// Filter by name
        #[arg(long, value_parser = arguments::text::<Label>)]
        name: Option<Label>,
        #[command(flatten)]
        paging: Paging,
    },
}

const COLUMNS: Columns = columns!(Region: id, name, created_at);

impl Regions {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Regions::Create { name, once } => {
                let answer = context.create::<CreateRegion>(&once, Nothing {}, RegionSpec { name }).await?;
                context.output.item(&answer)
            }
            Regions::List { name, paging } => {
                let query = RegionFilter { name, limit: paging.page(), ..RegionFilter::default() };
                context.list::<ListRegions>(Nothing {}, query, paging, COLUMNS).await
            }
        }
    }
}
