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

A hard budget refuses an allocation that could exceed it before the period ends;
running allocations continue. `gpuaas why BUDGET` shows what uses it. Periods
follow the UTC calendar.";

/// Manage spending budgets of projects
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Budgets {
    /// Create a budget for the project
    Create {
        /// Budget amount, such as 500 or 12.50
        #[arg(long, value_parser = arguments::micros)]
        amount: i64,
        /// Currency; only charges in this currency count
        #[arg(long, default_value = "USD", value_parser = arguments::text::<CurrencyCode>)]
        currency: CurrencyCode,
        /// Budget period
        #[arg(long, default_value = "month", value_parser = arguments::word::<BudgetPeriod>())]
        period: BudgetPeriod,
        /// Whether to refuse or only notify when the budget would be exceeded
        #[arg(long, default_value = "hard", value_parser = arguments::word::<BudgetMode>())]
        mode: BudgetMode,
        /// Percentage at which to notify; repeatable [default: 50, 80, 100]
        #[arg(long = "threshold", value_name = "PERCENT")]
        thresholds: Vec<u16>,
        #[command(flatten)]
        once: Once,
    },
    /// List budgets with their current spend
    List {
        /// Filter by project, by ID or name
        #[arg(long, value_name = "PROJECT")]
        for_project: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a budget with its current spend
    Get {
        /// ID of the budget
        #[arg(value_name = "ID")]
        budget: BudgetId,
    },
    /// Update the amount, mode or thresholds of a budget
    Change {
        /// ID of the budget
        #[arg(value_name = "ID")]
        budget: BudgetId,
        /// New budget amount
        #[arg(long, value_parser = arguments::micros)]
        amount: Option<i64>,
        /// Whether to refuse or only notify when the budget would be exceeded
        #[arg(long, value_parser = arguments::word::<BudgetMode>())]
        mode: Option<BudgetMode>,
        /// New percentage at which to notify; repeatable
        #[arg(long = "threshold", value_name = "PERCENT")]
        thresholds: Vec<u16>,
    },
    /// Delete a budget
    Delete {
        /// ID of the budget
        #[arg(value_name = "ID")]
        budget: BudgetId,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns = columns!(
    Budget: id, project_id, amount_micros, spent_micros, held_micros, currency, period, mode, thresholds, notified_percent, until
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
            Budgets::List { for_project, paging } => {
                let project_id = match for_project {
                    Some(name) => Some(context.project_named(&name).await?.project_id),
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
                prompt::confirm(consent, &format!("deletes the budget {id}"), &id).await?;
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
