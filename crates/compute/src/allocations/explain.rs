//! Why an allocation is in its state, in words that a person can act on.

use contract::allocations::{Allocation, AllocationState, Explanation, Rejection};
use contract::{Open, Timestamp, id::AllocationId, wallets::WalletState};
use kernel::{Scope, Tx, money::Money};
use planner::{Audience, Change};

use super::{decide::SUSPENDED, endings, store, visits};
use crate::{ComputeArea, placement::Placement};
use money::{
    ledger,
    wallets::{self, OUT_OF_FUNDS, Standing},
};
use platform::policies::keys;

pub const NOT_ITS_TURN: &str = "organizations that hold less come first";

/// What a request that found no room does to others.
pub fn standing(could_run: bool, kept: usize) -> Option<String> {
    match (could_run, kept) {
        (false, _) => {
            Some("the nodes in service could not hold it even if they were empty, so nobody waits behind it".into())
        }
        (true, 0) => None,
        (true, 1) => Some("it waited longest, so 1 node takes nothing else until it fits".into()),
        (true, nodes) => Some(format!("it waited longest, so {nodes} nodes take nothing else until it fits")),
    }
}

pub async fn explain(tx: &mut Tx, app: &ComputeArea, allocation: Allocation) -> sqlx::Result<Explanation> {
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
        // A process that places nothing has an old picture of the fleet, or none.
        // The picture is the process's own and not the caller's.
        let scope = tx.scope();
        tx.enter(Scope::System).await?;
        app.placement.catch_up(tx).await?;
        tx.enter(scope).await?;
        waiting(tx, &app.placement, (allocation.id, &reason), &mut explanation).await?;
        return Ok(explanation);
    }
    let (rule, change) = plain(state, &reason);
    explanation.rule = rule;
    explanation.change = change.map(Into::into);
    if state == AllocationState::Active {
        let currency = store::currency(tx, allocation.id).await?;
        let standing = wallets::standing(tx, allocation.organization_id, currency).await?;
        (explanation.rule, explanation.change) = paid(standing, explanation.rule, explanation.change);
        let within = keys::seconds(app.policies.number(keys::NODE_SILENT_SECONDS));
        if let Some(since) = endings::silent_since(tx, allocation.id, within).await? {
            (explanation.rule, explanation.change) = silent(since, app.policies.number(keys::NODE_LOST_MINUTES));
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
    let given_up = since + keys::minutes(minutes);
    let rule = format!(
        "a host of it has not been heard since {}; if that lasts until {}, the allocation ends as of the former \
         and what was charged after it is refunded",
        moment(since),
        moment(given_up)
    );
    (rule, Some("wait, or release it and ask for a new one".into()))
}

/// A host is lost: what that means for money and limits, and who does what next.
fn lost(state: AllocationState, last_heard: Timestamp, refunded: Vec<Money>) -> (String, Option<String>) {
    let refunded: Vec<String> = refunded.iter().map(ToString::to_string).collect();
    let money = match refunded.is_empty() {
        true => "nothing was charged beyond that".to_owned(),
        false => format!("{} charged beyond that were refunded", refunded.join(" and ")),
    };
    let rule = format!(
        "a host of it is lost: usage ended at {}, when it was last heard, and {money}; it does not count against \
         limits, and its slots stay quarantined",
        moment(last_heard)
    );
    let change = match state {
        AllocationState::Releasing | AllocationState::ReleaseFailed => {
            "ask for a new one; an operator ends this one with `gpuaas allocations force-release`, or with \
             `gpuaas nodes retire --lost`, or its host cleans it when it comes back"
        }
        AllocationState::Requested
        | AllocationState::Provisioning
        | AllocationState::Active
        | AllocationState::Stopping
        | AllocationState::Stopped
        | AllocationState::Starting
        | AllocationState::Released
        | AllocationState::Failed => "ask for a new one",
    };
    (rule, Some(change.into()))
}

fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

async fn waiting(
    tx: &mut Tx,
    placement: &Placement,
    (id, reason): (AllocationId, &str),
    explanation: &mut Explanation,
) -> sqlx::Result<()> {
    if reason == SUSPENDED {
        explanation.rule = format!("{SUSPENDED}: nothing is placed for it until it is resumed");
        explanation.change = Some("ask the platform's operators why and what would lift it, or release it".into());
        return Ok(());
    }
    let Some(request) = visits::request(tx, id).await? else { return Ok(()) };
    explanation.waits_behind = Some(request.behind);
    if request.behind > 0 {
        explanation.rule = format!("{} older requests of the organization wait for the same", request.behind);
        explanation.change = Some("release or cancel one of them, or ask in another region or for another SKU".into());
        return Ok(());
    }
    match placement.explain(id, &request.ask) {
        // Who else waits is for the reconciler to see, which wrote this down.
        None if reason == NOT_ITS_TURN => explanation.rule = NOT_ITS_TURN.into(),
        None => explanation.rule = "there is room; it is about to be placed".into(),
        Some((found, kept)) => {
            let standing = standing(placement.could_run(&request.ask), kept);
            explanation.rule =
                standing.map_or_else(|| found.rule.to_string(), |standing| format!("{}; {standing}", found.rule));
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
            "wait until an operator wiped {nodes} of the hosts and attested it (`gpuaas nodes attest NODE --reason TEXT`)"
        )),
        change if change.audience() == Audience::Operator => None,
        change => Some(change.to_string()),
    }
}

/// What runs is told when the money for it runs out.
fn paid(standing: Standing, rule: String, change: Option<String>) -> (String, Option<String>) {
    match standing.state {
        WalletState::Funded | WalletState::Low | WalletState::Depleted => (rule, change),
        WalletState::Grace => {
            let until = standing.grace_ends_at.map(|it| it.strftime(" until %Y-%m-%d %H:%M UTC").to_string());
            let rule = format!(
                "{rule}, but the organization's money is used up: after a grace{} allocations end, the newest first",
                until.unwrap_or_default()
            );
            (rule, Some("add funds before that; `ledger balance` shows where you stand".into()))
        }
    }
}

fn plain(state: AllocationState, reason: &str) -> (String, Option<&'static str>) {
    let with = |text: &str| if reason.is_empty() { text.to_owned() } else { format!("{text}: {reason}") };
    match state {
        AllocationState::Requested => (with("it waits to be placed"), None),
        AllocationState::Provisioning => (with("its hosts prepare and prove the GPUs"), Some("wait for their reports")),
        AllocationState::Active => ("its hosts proved the GPUs; it runs".into(), None),
        AllocationState::Stopping => (with("its hosts stop what runs"), Some("wait for their reports")),
        AllocationState::Stopped => {
            (with("it is stopped and its GPUs stay held for it"), Some("start it again, or release it"))
        }
        AllocationState::Starting => (with("its hosts start it again"), Some("wait for their reports")),
        AllocationState::Releasing => (with("its hosts clean it"), Some("wait for their evidence")),
        AllocationState::Released if reason == OUT_OF_FUNDS => {
            (with("it is over"), Some("add funds and ask for a new one; `ledger balance` shows where you stand"))
        }
        AllocationState::Released => (with("it is over"), Some("ask for a new one")),
        AllocationState::Failed => {
            (with("it failed, and what was prepared is cleaned away"), Some("ask for a new one"))
        }
        AllocationState::ReleaseFailed => {
            (with("its hosts could not clean it"), Some("release it once more, or ask an operator to force it"))
        }
    }
}
