//! Whether what a project asks for stays within its hard budgets. Runs in the
//! transaction that writes the request.

use contract::{
    Timestamp,
    id::{BudgetId, OrganizationId, ProjectId},
};
use kernel::{
    Tx, clock,
    money::{Currency, Money},
};

use uuid::Uuid;

use crate::wallets::Spenders;

use super::{
    explain::moment,
    period::{around, wording},
    store,
};

/// A request that is written already, and for which there has to be room.
#[derive(Debug, Clone, Copy)]
pub struct BudgetedRequest {
    pub organization: OrganizationId,
    pub project: ProjectId,
    /// What the request is for.
    pub subject: Uuid,
    pub currency: Currency,
    /// How long something without a lease is counted for.
    pub window_minutes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    #[error("{}", refusal(.0))]
    Exceeded(Box<Exceeded>),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

#[derive(Debug, Clone, Copy)]
pub struct Exceeded {
    pub budget: BudgetId,
    pub amount: Money,
    pub spent: Money,
    pub held: Money,
    pub asked: Money,
    pub wording: &'static str,
    pub until: Option<Timestamp>,
}

fn refusal(it: &Exceeded) -> String {
    let Exceeded { budget, amount, spent, held, asked, wording, until } = it;
    let ends = until
        .as_ref()
        .map_or_else(|| "the budget does not reset".to_owned(), |at| format!("the budget resets at {}", moment(*at)));
    format!(
        "this request may use {asked}, which exceeds the project's budget {budget} of {amount} {wording}: {spent} is used and {held} is held for earlier requests; {ends}. Request less or a shorter lease, release an allocation, or have the budget raised with `gpuaas budgets change {budget} --amount …`; for details, run `gpuaas why {budget}`"
    )
}

/// Refuses what may take the project above a hard budget before its period
/// ends. Of several at once each sees those before it: they take turns.
pub async fn check(tx: &mut Tx, asked: BudgetedRequest) -> Result<(), BudgetError> {
    let budgets = store::lock_hard(tx, asked.project, asked.currency).await?;
    if budgets.is_empty() {
        return Ok(());
    }
    let now = clock::now(tx).await?;
    let expected = tx.hook::<Spenders>().expected(tx, asked.project, asked.currency).await?;
    for budget in budgets {
        let span = around(budget.period, now);
        let spent = store::usage(tx, &budget, span).await?.spent;
        let (whose, own) = ((asked.organization, asked.currency), Some(asked.subject));
        let (held, wanted) = store::may_use(tx, whose, &expected, span, asked.window_minutes, own).await?;
        let money = |micros: i128| Money::from_micros(i64::try_from(micros).unwrap_or(i64::MAX), asked.currency);
        if wanted > 0 && spent + held + wanted > i128::from(budget.amount_micros) {
            return Err(BudgetError::Exceeded(Box::new(Exceeded {
                budget: budget.id,
                amount: money(i128::from(budget.amount_micros)),
                spent: money(spent),
                held: money(held),
                asked: money(wanted),
                wording: wording(budget.period),
                until: span.until,
            })));
        }
    }
    Ok(())
}
