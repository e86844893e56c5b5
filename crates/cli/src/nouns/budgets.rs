//! `gpuaas budgets`: what projects may use in a period.

use clap::Subcommand;
use contract::{
    budgets::{
        Budget, BudgetChange, BudgetFilter, BudgetMode, BudgetPath, BudgetPeriod, BudgetSpec, ChangeBudget,
        CreateBudget, DeleteBudget, GetBudget, ListBudgets,
    },
    id::BudgetId,
    prices::CurrencyCode,
};

use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    failure::{Done, Failure},
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas budgets create --project research --amount 500 --period month
  gpuaas budgets create --project research --amount 2000 --period year --mode notify --threshold 80 --threshold 100
  gpuaas budgets list
  gpuaas budgets change budget-01k9z8y7x6w5v4t3s2r1q0p9n8 --amount 750

Under a hard budget an allocation is refused that may take the project above it
before the period ends; what runs is not ended. `gpuaas why BUDGET` shows how
much of it is used, and by what. Months, quarters and years are those of UTC.";

/// Budgets: what projects may use in a period
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Budgets {
    /// Set a budget for the project
    Create {
        /// How much, like 500 or 12.50
        #[arg(long, value_parser = arguments::micros)]
        amount: i64,
        /// In which currency; only what is charged in it counts
        #[arg(long, default_value = "USD", value_parser = arguments::text::<CurrencyCode>)]
        currency: CurrencyCode,
        /// After how long it begins anew
        #[arg(long, default_value = "month", value_parser = arguments::word::<BudgetPeriod>())]
        period: BudgetPeriod,
        /// Whether it refuses what may go beyond it
        #[arg(long, default_value = "hard", value_parser = arguments::word::<BudgetMode>())]
        mode: BudgetMode,
        /// A percentage to tell of; may be repeated; 50, 80 and 100 when absent
        #[arg(long = "threshold", value_name = "PERCENT")]
        thresholds: Vec<u16>,
        #[command(flatten)]
        once: Once,
    },
    /// List the budgets of the organization and where its projects stand
    List {
        /// Only those of this project, by id or name
        #[arg(long, value_name = "PROJECT")]
        of: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show one budget and where its project stands
    Get {
        /// Id of the budget
        #[arg(value_name = "ID")]
        budget: BudgetId,
    },
    /// Change the amount, the mode or the thresholds of a budget
    Change {
        /// Id of the budget
        #[arg(value_name = "ID")]
        budget: BudgetId,
        /// How much from now on
        #[arg(long, value_parser = arguments::micros)]
        amount: Option<i64>,
        /// Whether it refuses what may go beyond it
        #[arg(long, value_parser = arguments::word::<BudgetMode>())]
        mode: Option<BudgetMode>,
        /// A percentage to tell of from now on; may be repeated
        #[arg(long = "threshold", value_name = "PERCENT")]
        thresholds: Vec<u16>,
    },
    /// Delete a budget
    Delete {
        /// Id of the budget
        #[arg(value_name = "ID")]
        budget: BudgetId,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns = columns!(
    Budget: id, project_id, amount_micros, spent_micros, held_micros, currency, period, mode, thresholds, told_percent, until
);

impl Budgets {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Budgets::Create { amount, currency, period, mode, thresholds, once } => {
                let project_id = context.project().await?.project_id;
                let thresholds = (!thresholds.is_empty()).then_some(thresholds);
                let spec = BudgetSpec { project_id, amount_micros: amount, currency, period, mode, thresholds };
                context.create::<CreateBudget>(&once, context.organization().await?, spec).await?
            }
            Budgets::List { of, paging } => {
                let project_id = match of {
                    Some(of) => Some(context.project_named(&of).await?.project_id),
                    None => None,
                };
                let query = BudgetFilter { project_id, limit: paging.page(), ..BudgetFilter::default() };
                let path = context.organization().await?;
                return context.list::<ListBudgets>(path, query, paging, COLUMNS).await;
            }
            Budgets::Get { budget } => context.ask::<GetBudget>(at(context, budget).await?).await?,
            Budgets::Change { budget, amount, mode, thresholds } => {
                let thresholds = (!thresholds.is_empty()).then_some(thresholds);
                let change = BudgetChange { amount_micros: amount, mode, thresholds };
                context.send::<ChangeBudget>(at(context, budget).await?, change).await?
            }
            Budgets::Delete { budget, consent } => {
                let id = budget.to_string();
                prompt::confirm(consent, &format!("deletes {id}: nothing is held to it any more"), &id).await?;
                context.ask::<DeleteBudget>(at(context, budget).await?).await?
            }
        };
        context.output.item(&answer)
    }
}

pub async fn at(context: &Context, budget_id: BudgetId) -> Result<BudgetPath, Failure> {
    let organization_id = context.organization().await?.organization_id;
    Ok(BudgetPath { organization_id, budget_id })
}
