//! Allocations whose host is lost: they end as of the moment at which it was last
//! heard, what was charged beyond that is refunded, and their slots stay
//! quarantined until somebody looked at the host.

use std::collections::BTreeSet;

use contract::{
    Moved, Timestamp,
    allocations::{AllocationNodeLost, AllocationState},
    id::{AllocationId, NodeId},
};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, TransitionError, Versioned, transition},
    work,
};
use uuid::Uuid;

use super::store;
use crate::{
    allocations::{
        lifecycle::{AllocationLifecycle, Event},
        reason::Reason,
        store as rows,
    },
    placement::slots,
};
use fleet::nodes::{LossCause, LossError};
use money::ledger::{self, LedgerError};
use platform::events::emit;

fn not_refunded(error: LedgerError) -> LossError {
    match error {
        LedgerError::Database(error) => LossError::Database(error),
        error => LossError::Refund(Box::new(error)),
    }
}

/// Ends what was on a node that will not answer again and was last heard at that moment.
pub async fn node_lost(tx: &mut Tx, node: NodeId, last_heard: Timestamp, cause: &LossCause) -> Result<(), LossError> {
    let reason = Reason::NodeLost { cause: cause.clone() };
    let sentence = reason.sentence();
    let found = rows::on_node(tx, node).await?;
    let ended = store::ended_unheard(tx, node, last_heard).await?;
    // Refunds need the books alone; taking them later could block others who share them.
    let organizations: BTreeSet<Uuid> = found.iter().chain(&ended).filter_map(|it| it.organization).collect();
    for organization in &organizations {
        ledger::lock(tx, (*organization).into()).await?;
    }
    slots::quarantine_on_node(tx, node, &sentence).await?;
    for row in found {
        store::lost(tx, row.id, last_heard).await?;
        if AllocationLifecycle::next(row.state, Event::NodeLost).is_some() {
            rows::explain(tx, row.id, &reason, Some(&reason)).await?;
            transition::<AllocationLifecycle>(tx, row, Event::NodeLost, &sentence).await?;
            refund(tx, row, last_heard).await?;
        } else if refund(tx, row, last_heard).await? {
            notify(tx, row);
        }
    }
    // What was given up while its host was silent was charged for that time.
    for row in ended {
        if refund(tx, row, last_heard).await? {
            store::lost(tx, row.id, last_heard).await?;
            notify(tx, row);
        }
    }
    Ok(())
}

/// Whether there was something to refund.
async fn refund(tx: &mut Tx, row: Versioned<AllocationState>, last_heard: Timestamp) -> Result<bool, LossError> {
    let Some(organization) = row.organization else { return Ok(false) };
    let refunded = ledger::refund_beyond(tx, organization.into(), row.id.into(), last_heard).await;
    Ok(refunded.map_err(not_refunded)? > 0)
}

/// Reports the loss of a host of one that does not move, because somebody
/// released it while the host was silent.
fn notify(tx: &mut Tx, row: Versioned<AllocationState>) {
    let (id, state) = (AllocationId::from(row.id), AllocationLifecycle::label(row.state).to_owned());
    let moved = Moved { id: id.to_string(), from: state.clone(), to: state, version: row.version };
    emit(tx, row.organization.map(Into::into), id, &AllocationNodeLost(moved));
}

/// Looks again at what these hosts, which were silent and are heard again, have not cleaned.
pub async fn hosts_are_back(tx: &mut Tx, nodes: &[NodeId]) -> sqlx::Result<()> {
    for id in store::uncleaned(tx, nodes).await? {
        work::wake(tx, AllocationLifecycle::NAME, id);
    }
    Ok(())
}

/// Lets go of a node that is gone for good: what had nothing elsewhere is over,
/// and what had is cleaned there.
pub async fn abandon_on_node(tx: &mut Tx, node: NodeId, cause: &LossCause) -> Result<(), TransitionError> {
    let reason = Reason::NodeLost { cause: cause.clone() };
    let found = rows::on_node(tx, node).await?;
    slots::let_go_of_node(tx, node).await?;
    for row in found {
        let is_empty = slots::held(tx, row.id.into()).await?.is_empty();
        match row.state {
            AllocationState::Releasing | AllocationState::ReleaseFailed if is_empty => {
                let moved = transition::<AllocationLifecycle>(tx, row, Event::Abandoned, &reason.sentence()).await?;
                rows::ended(tx, row.id.into(), moved.state, &reason).await?;
            }
            _ => work::wake(tx, AllocationLifecycle::NAME, row.id),
        }
    }
    Ok(())
}
