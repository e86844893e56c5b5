//! Where a project stands with a budget, in words that a person can act on. Pure.

use contract::{
    Timestamp,
    budgets::{Budget, BudgetExplanation, BudgetMode},
};
use jiff::SignedDuration;
use kernel::money::{Currency, Money, MoneyError};

pub fn explain(budget: &Budget, now: Timestamp) -> Result<BudgetExplanation, MoneyError> {
    let currency: Currency = budget.currency.as_str().parse()?;
    let money = |micros: i64| Money::from_micros(micros, currency);
    let (amount, spent, held) = (budget.amount_micros, budget.spent_micros, budget.held_micros);
    let left = amount.saturating_sub(spent).saturating_sub(held).max(0);
    let ends = budget
        .until
        .map_or_else(|| "the budget does not reset".into(), |at| format!("the budget resets at {}", moment(at)));
    let lasts = lasts_until(now, amount.saturating_sub(spent), budget.burn_micros_per_hour)
        .filter(|it| budget.until.is_none_or(|until| *it < until))
        .map(|it| format!("; at the current rate it is used up at {}", moment(it)))
        .unwrap_or_default();
    let is_hard = budget.mode == BudgetMode::Hard;
    let refuses = if is_hard {
        let before = if budget.until.is_some() { " before then" } else { "" };
        format!("a request that may use more than {}{before} is refused", money(left))
    } else {
        "it does not refuse requests".to_owned()
    };
    let rule = format!(
        "{} of {} is used and {} is held for open requests; {ends}, and {refuses}{lasts}",
        money(spent),
        money(amount),
        money(held)
    );
    let change = is_hard.then(|| {
        format!(
            "request less or a shorter lease, release an allocation, wait, or raise it with `gpuaas budgets change {} --amount …`",
            budget.id
        )
    });
    Ok(BudgetExplanation { budget_id: budget.id, rule, change })
}

pub fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// When an amount is used up that so much of is used in an hour.
fn lasts_until(now: Timestamp, left: i64, per_hour: i64) -> Option<Timestamp> {
    if per_hour <= 0 || left <= 0 {
        return None;
    }
    let micros = i128::from(left) * 3_600_000_000 / i128::from(per_hour);
    now.checked_add(SignedDuration::from_micros(i64::try_from(micros).ok()?)).ok()
}
