//! `gpuaas why`: explain why something is as it is.

use contract::{allocations::ExplainAllocation, budgets::ExplainBudget};

use super::budgets;
use crate::{context::Context, failure::Done};

/// Explain the state of an allocation, or what uses a budget
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  gpuaas why notebook\n  gpuaas why alloc-01k9z8y7x6w5v4t3s2r1q0p9n8 -o json\n  gpuaas why budget-01k9z8y7x6w5v4t3s2r1q0p9n8"
)]
pub struct Why {
    /// Allocation, by ID or name, or the ID of a budget
    #[arg(value_name = "ALLOCATION")]
    wanted: String,
}

impl Why {
    pub async fn run(self, context: &Context) -> Done {
        if let Ok(budget) = self.wanted.parse() {
            let answer = context.ask::<ExplainBudget>(budgets::at(context, budget).await?).await?;
            return context.output.item_known_by(&answer, "/budget_id");
        }
        let answer = context.ask::<ExplainAllocation>(context.allocation_named(&self.wanted).await?).await?;
        context.output.item_known_by(&answer, "/allocation_id")
    }
}
