//! `gpuaas why`: explain why something is as it is.

use contract::allocations::ExplainAllocation;

use crate::{context::Context, failure::Done};

/// Explain why an allocation waits, failed or is where it is
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gpuaas why notebook\n  gpuaas why alloc-01k9z8y7x6w5v4t3s2r1q0p9n8 -o json")]
pub struct Why {
    /// An allocation's id or name
    #[arg(value_name = "ALLOCATION")]
    wanted: String,
}

impl Why {
    pub async fn run(self, context: &Context) -> Done {
        let answer = context.ask::<ExplainAllocation>(context.allocation_named(&self.wanted).await?).await?;
        context.output.item_known_by(&answer, "/allocation_id")
    }
}
