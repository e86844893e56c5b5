//! `gpuaas demo`: a tour from nothing to a bill.

use clap::Args;
use contract::Label;

use crate::{
    arguments,
    context::Context,
    demo::{self, Wishes},
    failure::Done,
};

const EXAMPLES: &str = "\
Examples:
  gpuaas demo
  gpuaas demo --yes
  gpuaas demo --sku h200-slice --project first-project

Each step is a command that you could have typed: the tour shows the line and
runs it, when you press Enter. What it takes it gives back, also when a step
fails or Ctrl-C ends it. On the server of `make dev` it costs nothing; on any
other it shows price and hold, and asks first.";

/// Take a tour: launch a GPU, run something on it, release it, read the bill
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Demo {
    /// What to take; the cheapest that is free when absent
    #[arg(long, value_parser = arguments::text::<Label>)]
    sku: Option<Label>,
    /// How long a step may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    patience: u64,
    /// Do not wait for Enter, and do not ask whether it may cost something
    #[arg(short, long)]
    yes: bool,
}

impl Demo {
    pub async fn run(self, context: &Context) -> Done {
        let patience = std::time::Duration::from_secs(self.patience);
        demo::run(context, Wishes { sku: self.sku, patience, yes: self.yes }).await
    }
}
