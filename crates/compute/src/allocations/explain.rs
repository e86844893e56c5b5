//! Why an allocation is in its state, in words that a person can act on.

use contract::allocations::{Allocation, AllocationReason, AllocationState, Explanation, Rejection};
use contract::{Open, Timestamp, id::AllocationId, wallets::WalletState};
use kernel::{Scope, Tx, money::Money};
use planner::{Audience, Change};

use super::{
    endings,
    reason::{Reason, effect_on_others},
    store, visits,
};
use crate::{ComputeArea, placement::Placement};
use money::{
    ledger,
    wallets::{self, WalletStatus},
};
use platform::policies::settings;

pub async fn explain(tx: &mut Tx, area: &ComputeArea, allocation: Allocation) -> sqlx::Result<Explanation> {
    let mut explanation = Explanation {
        allocation_id: allocation.id,
        state: allocation.state.clone(),
        rule: String::new(),
        change: None,
        waits_behind: None,
        rejected: Vec::new(),
    };
    let Open::Known(state) = allocation.state else { return Ok(explanation) };
    let code = allocation.reason_code.as_ref().and_then(Open::known);
    if state == AllocationState::Requested {
        // A process that places nothing has an old picture of the fleet, or none.
        // The picture is the process's own and not the caller's.
        let scope = tx.scope();
        tx.enter(Scope::System).await?;
        area.placement.catch_up(tx).await?;
        tx.enter(scope).await?;
        waiting(tx, &area.placement, (allocation.id, code), &mut explanation).await?;
        return Ok(explanation);
    }
    let (rule, change) = plain(state, code, allocation.reason.as_deref());
    explanation.rule = rule;
    explanation.change = change.map(Into::into);
    if state == AllocationState::Active {
        let currency = store::currency(tx, allocation.id).await?;
        let wallet = wallets::status(tx, allocation.organization_id, currency).await?;
        (explanation.rule, explanation.change) = paid(wallet, explanation.rule, explanation.change);
        let within = settings::seconds(area.policies.number(settings::NODE_SILENT_SECONDS));
        if let Some(since) = endings::silent_since(tx, allocation.id, within).await? {
            (explanation.rule, explanation.change) = silent(since, area.policies.number(settings::NODE_LOST_MINUTES));
        }
    }
    if let Some(last_heard) = endings::last_heard(tx, allocation.id).await? {
        let refunded = ledger::refunded(tx, allocation.organization_id, allocation.id).await?;
        (explanation.rule, explanation.change) = lost(state, last_heard, refunded);
    }
    Ok(explanation)
}

/// A host is silent, and is not given up yet.
fn silent(since: Timestamp, minutes: u64) -> (String, Option<String>) {
    let given_up = since + settings::minutes(minutes);
    let rule = format!(
        "one of its hosts was last seen at {}; if the host is still offline at {}, the allocation ends as of the time it was last seen, and later charges are refunded automatically",
        moment(since),
        moment(given_up)
    );
    (rule, Some("wait, or release it and request a new allocation".into()))
}

/// A host is lost: what that means for money and limits, and who does what next.
fn lost(state: AllocationState, last_heard: Timestamp, refunded: Vec<Money>) -> (String, Option<String>) {
    let refunded: Vec<String> = refunded.iter().map(ToString::to_string).collect();
    let money = match refunded.is_empty() {
        true => "nothing was charged after that".to_owned(),
        false => format!("charges of {} after that were refunded automatically", refunded.join(" and ")),
    };
    let rule = format!(
        "one of its hosts is lost: usage ended at {}, when the host was last seen, and {money}; the allocation does not count against limits, and its slots stay quarantined",
        moment(last_heard)
    );
    let change = match state {
        AllocationState::Releasing | AllocationState::ReleaseFailed => {
            "request a new allocation; an operator ends this one with `gpuaas allocations force-release` or `gpuaas nodes retire --lost`, or its host sanitizes it when it comes back online"
        }
        AllocationState::Requested
        | AllocationState::Provisioning
        | AllocationState::Active
        | AllocationState::Stopping
        | AllocationState::Stopped
        | AllocationState::Starting
        | AllocationState::Released
        | AllocationState::Failed => "request a new allocation",
    };
    (rule, Some(change.into()))
}

fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

async fn waiting(
    tx: &mut Tx,
    placement: &Placement,
    (id, code): (AllocationId, Option<AllocationReason>),
    explanation: &mut Explanation,
) -> sqlx::Result<()> {
    if code == Some(AllocationReason::Suspended) {
        explanation.rule = format!("{}: its requests are not placed until it is resumed", Reason::Suspended);
        explanation.change =
            Some("ask the platform's operators why and how to resume it, or release the allocation".into());
        return Ok(());
    }
    let Some(request) = visits::request(tx, id).await? else { return Ok(()) };
    explanation.waits_behind = Some(request.behind);
    if request.behind > 0 {
        explanation.rule = Reason::OlderRequests { others: request.behind }.sentence();
        explanation.change = Some("release or cancel one of them, or request another region or another SKU".into());
        return Ok(());
    }
    match placement.explain(id, &request.ask) {
        // Who else waits is for the reconciler to see, which wrote this down.
        None if code == Some(AllocationReason::NotItsTurn) => explanation.rule = Reason::NotItsTurn.sentence(),
        None => explanation.rule = "capacity is available; it is about to be placed".into(),
        Some((found, kept)) => {
            let effect = effect_on_others(placement.could_run(&request.ask), kept);
            explanation.rule =
                effect.map_or_else(|| found.rule.to_string(), |effect| format!("{}; {effect}", found.rule));
            // What only staff can change names nodes, which are no business of a tenant.
            let changes = std::iter::once(&found.smallest_change).chain(&found.other_changes);
            let told = changes.into_iter().find_map(for_tenants);
            explanation.change = Some(told.unwrap_or_else(|| "ask an operator for more capacity, or wait".into()));
            let counted = found.counts.iter().rev();
            explanation.rejected =
                counted.map(|(rule, nodes)| Rejection { reason: rule.to_string(), nodes: *nodes }).collect();
        }
    }
    Ok(())
}

/// A change in words without the names of nodes; nothing where that says nothing.
fn for_tenants(change: &Change) -> Option<String> {
    match change {
        Change::Attest { nodes, .. } => Some(format!(
            "wait until an operator has sanitized {nodes} of the hosts and attested it (`gpuaas nodes attest NODE --reason TEXT`)"
        )),
        change if change.audience() == Audience::Operator => None,
        change => Some(change.to_string()),
    }
}

/// What runs is told when the money for it runs out.
fn paid(wallet: WalletStatus, rule: String, change: Option<String>) -> (String, Option<String>) {
    match wallet.state {
        WalletState::Funded | WalletState::Low | WalletState::Depleted => (rule, change),
        WalletState::Grace => {
            let until = wallet.grace_ends_at.map(|it| it.strftime(" (until %Y-%m-%d %H:%M UTC)").to_string());
            let rule = format!(
                "{rule}, but the organization's balance is used up: after a grace period{} allocations are released, newest first",
                until.unwrap_or_default()
            );
            (rule, Some("add funds before then; `ledger balance` shows your balance".into()))
        }
    }
}

fn plain(
    state: AllocationState,
    code: Option<AllocationReason>,
    reason: Option<&str>,
) -> (String, Option<&'static str>) {
    let with = |text: &str| reason.map_or_else(|| text.to_owned(), |reason| format!("{text}: {reason}"));
    match state {
        AllocationState::Requested => (with("it is waiting to be placed"), None),
        AllocationState::Provisioning => {
            (with("its hosts are preparing and verifying the GPUs"), Some("wait for their reports"))
        }
        AllocationState::Active => ("its hosts verified the GPUs; it is running".into(), None),
        AllocationState::Stopping => (with("its hosts are stopping its processes"), Some("wait for their reports")),
        AllocationState::Stopped => {
            (with("it is stopped and its GPUs stay reserved for it"), Some("start it again, or release it"))
        }
        AllocationState::Starting => (with("its hosts are starting it again"), Some("wait for their reports")),
        AllocationState::Releasing => (with("its hosts are sanitizing it"), Some("wait for their reports")),
        AllocationState::Released if code == Some(AllocationReason::OutOfFunds) => (
            with("it was released"),
            Some("add funds and request a new allocation; `ledger balance` shows your balance"),
        ),
        AllocationState::Released => (with("it was released"), Some("request a new allocation")),
        AllocationState::Failed => (with("it failed, and its slots were sanitized"), Some("request a new allocation")),
        AllocationState::ReleaseFailed => {
            (with("its hosts could not sanitize it"), Some("release it again, or ask an operator to force the release"))
        }
    }
}
