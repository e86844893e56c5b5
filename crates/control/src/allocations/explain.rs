//! Why an allocation is in its state, in words that a person can act on.

use contract::allocations::{Allocation, AllocationState, Explanation, Rejection};
use contract::{Open, id::AllocationId};
use kernel::Tx;
use planner::Audience;

use super::visits;
use crate::placement::Placement;

pub async fn explain(tx: &mut Tx, placement: &Placement, allocation: Allocation) -> sqlx::Result<Explanation> {
    let mut explanation = Explanation {
        allocation_id: allocation.id,
        state: allocation.state.clone(),
        rule: String::new(),
        change: None,
        waits_behind: None,
        rejected: Vec::new(),
    };
    let Open::Known(state) = allocation.state else { return Ok(explanation) };
    let reason = allocation.reason.unwrap_or_default();
    if state == AllocationState::Requested {
        waiting(tx, placement, allocation.id, &mut explanation).await?;
        return Ok(explanation);
    }
    let (rule, change) = plain(state, &reason);
    explanation.rule = rule;
    explanation.change = change.map(Into::into);
    Ok(explanation)
}

async fn waiting(
    tx: &mut Tx,
    placement: &Placement,
    id: AllocationId,
    explanation: &mut Explanation,
) -> sqlx::Result<()> {
    let Some(request) = visits::request(tx, id).await? else { return Ok(()) };
    explanation.waits_behind = Some(request.behind);
    if request.behind > 0 {
        explanation.rule = format!("{} older requests of the organization wait for the same", request.behind);
        explanation.change = Some("release or cancel one of them, or ask in another region or for another SKU".into());
        return Ok(());
    }
    match placement.explain(&request.ask) {
        None => explanation.rule = "there is room; it is about to be placed".into(),
        Some(found) => {
            explanation.rule = found.rule.to_string();
            // What only staff can change names nodes, which are no business of a tenant.
            let changes = std::iter::once(&found.smallest_change).chain(&found.other_changes);
            let own = changes.into_iter().find(|it| it.audience() != Audience::Operator);
            let change = own.map_or_else(|| "ask an operator for more capacity, or wait".into(), ToString::to_string);
            explanation.change = Some(change);
            let counted = found.counts.iter().rev();
            explanation.rejected =
                counted.map(|(rule, nodes)| Rejection { reason: rule.to_string(), nodes: *nodes }).collect();
        }
    }
    Ok(())
}

fn plain(state: AllocationState, reason: &str) -> (String, Option<&'static str>) {
    let with = |text: &str| if reason.is_empty() { text.to_owned() } else { format!("{text}: {reason}") };
    match state {
        AllocationState::Requested => (with("it waits to be placed"), None),
        AllocationState::Provisioning => (with("its hosts prepare and prove the GPUs"), Some("wait for their reports")),
        AllocationState::Active => ("its hosts proved the GPUs; it runs".into(), None),
        AllocationState::Stopping => (with("its hosts stop what runs"), Some("wait for their reports")),
        AllocationState::Stopped => ("it is stopped and keeps its GPUs".into(), Some("start it again, or release it")),
        AllocationState::Starting => (with("its hosts start it again"), Some("wait for their reports")),
        AllocationState::Releasing => (with("its hosts clean it"), Some("wait for their evidence")),
        AllocationState::Released => (with("it is over"), Some("ask for a new one")),
        AllocationState::Failed => {
            (with("it failed, and what was prepared is cleaned away"), Some("ask for a new one"))
        }
        AllocationState::ReleaseFailed => {
            (with("its hosts could not clean it"), Some("release it once more, or ask an operator to force it"))
        }
    }
}
