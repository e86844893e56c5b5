//! `gpuaas demo`: a tour from nothing to a bill.

use clap::Args;
use contract::Label;

use crate::{
    arguments,
    context::Context,
    demo::{self, TourOptions},
    failure::Done,
};

const EXAMPLES: &str = "\
Examples:
  gpuaas demo
  gpuaas demo --yes
  gpuaas demo --sku h200-slice --project first-project --timeout 600

Each step shows a command and runs it when you press Enter. The tour releases
what it allocates, even if a step fails or you press Ctrl-C. On a `make dev`
server it is free; on any other server it shows the price and asks for
confirmation first.";

/// Take a guided tour: launch a GPU, run a command, release it, read the bill
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Demo {
    /// SKU to use [default: the cheapest one available]
    #[arg(long, value_parser = arguments::text::<Label>)]
    sku: Option<Label>,
    /// Maximum time per step, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Run every step without asking for confirmation
    #[arg(short, long)]
    yes: bool,
}

impl Demo {
    pub async fn run(self, context: &Context) -> Done {
        let timeout = std::time::Duration::from_secs(self.timeout);
        demo::run(context, TourOptions { sku: self.sku, timeout, yes: self.yes }).await
    }
}
