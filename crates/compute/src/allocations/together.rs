//! What many allocations do at once: being placed and being proven. All of a batch share
//! each statement.

use std::time::Duration;

use contract::id::{AllocationId, NodeId};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, transition_all},
    work::{Next, ReconcileError},
};
use planner::NodeKey;
use protocol::Done;
use uuid::Uuid;

use super::{
    admission, host_keys,
    lifecycle::{AllocationLifecycle, Event},
    orders,
    reconcile::AllocationReconciler,
    visits::{self, Parent, Visit},
};
use crate::placement::{PlacementChoice, slots, starvation_guard};
use fleet::tasks::{self, Order};
use platform::policies::PolicyScope;

impl AllocationReconciler {
    /// Reserves the slots of each and moves it, together or not at all. What is not placed
    /// this time looks again at once: another replica was faster, or something is about to change.
    pub(super) async fn place(
        &self,
        tx: &mut Tx,
        visits: Vec<(Visit, Box<PlacementChoice>)>,
    ) -> Result<Vec<Next>, ReconcileError> {
        let ids: Vec<AllocationId> = visits.iter().map(|(visit, _)| visit.id).collect();
        // Before anything else is locked; whoever suspends or deletes waits until they are placed.
        let of: Vec<_> = visits.iter().map(|(visit, _)| (visit.organization, visit.project)).collect();
        let parents = admission::parents(tx, &of).await?;
        let active = visits.into_iter().zip(parents).filter(|(_, parent)| *parent == Parent::Active);
        let visits: Vec<(Visit, Box<PlacementChoice>)> = active.map(|(visit, _)| visit).collect();
        lock_kept_nodes(tx, &visits).await?;
        let mut visits = reserve(tx, visits).await?;
        visits::keep_parts(tx, &visits).await?;
        let waited = leave_queue(tx, &visits).await?;
        let rows: Vec<_> = visits.iter().map(Visit::row).collect();
        let moved = transition_all::<AllocationLifecycle>(tx, &rows, Event::Placed, "").await?;
        for (visit, moved) in visits.iter_mut().zip(moved) {
            (visit.state, visit.version) = (moved.state, moved.version);
        }
        if waited {
            super::capacity_changed(tx).await?;
        }
        let orders: Vec<(&Visit, Vec<NodeId>)> = visits.iter().map(|it| (it, it.nodes())).collect();
        let lifetime = self.order(tx, &orders).await?;
        let is_placed = |id: &AllocationId| visits.iter().any(|it| it.id == *id);
        let next = |id| if is_placed(id) { Next::Settled(Some(lifetime)) } else { Next::After(Duration::ZERO) };
        Ok(ids.iter().map(next).collect())
    }

    /// Starts their time, and what they cost.
    pub(super) async fn prove(
        &self,
        tx: &mut Tx,
        proven: Vec<(Visit, Vec<(NodeId, Done)>)>,
    ) -> Result<Vec<Next>, ReconcileError> {
        visits::note_done(tx, proven.iter().map(|(visit, done)| (visit.id, done.as_slice()))).await?;
        let ids: Vec<Uuid> = proven.iter().map(|(visit, _)| visit.id.uuid()).collect();
        let leases = visits::activate(tx, &ids).await?;
        let rows: Vec<_> = proven.iter().map(|(visit, _)| visit.row()).collect();
        transition_all::<AllocationLifecycle>(tx, &rows, Event::Proven, "").await?;
        let next = |(visit, _): &(Visit, Vec<(NodeId, Done)>)| {
            if visit.parent == Parent::Suspended {
                return Next::After(Duration::ZERO);
            }
            let warning = self.limits().warning(visit.lease.unwrap_or_default());
            Next::Settled(leases.get(&visit.id.uuid()).map(|left| left.saturating_sub(warning)))
        };
        Ok(proven.iter().map(next).collect())
    }

    /// Asks nodes for what the state of each allocation needs; for how long the orders are good.
    /// A report wakes the allocation earlier; a host that stays silent is noticed then.
    pub(super) async fn order(
        &self,
        tx: &mut Tx,
        wanted: &[(&Visit, Vec<NodeId>)],
    ) -> Result<Duration, ReconcileError> {
        let lifetime = self.limits().task;
        // Who may be inside is asked here and not when the visit began: somebody may have left since.
        let place =
            |visit: &Visit| PolicyScope { organization: visit.organization.uuid(), project: visit.project.uuid() };
        let open = wanted.iter().filter(|(visit, _)| orders::sends_keys(visit.state));
        let open: Vec<_> = open.map(|(visit, _)| (visit.id, place(visit))).collect();
        let lines = host_keys::lines(tx, &open).await?;
        let mut signed = Vec::with_capacity(wanted.len());
        for (visit, nodes) in wanted {
            let keys = lines.get(&visit.id).map_or(&[][..], Vec::as_slice);
            for node in nodes {
                let Some(verb) = orders::verb(visit, *node, keys) else { continue };
                signed.push(Order {
                    node: *node,
                    kind: AllocationLifecycle::NAME,
                    subject: visit.id.uuid(),
                    resource: visit.id.to_string(),
                    version: visit.version,
                    verb,
                    lifetime,
                });
            }
        }
        if let Some((visit, _)) = wanted.first() {
            tasks::order_all(tx, &self.signer, visit.now, signed).await.map_err(sqlx::Error::from)?;
        }
        Ok(lifetime)
    }
}

async fn lock_kept_nodes(tx: &mut Tx, visits: &[(Visit, Box<PlacementChoice>)]) -> Result<(), ReconcileError> {
    for (visit, chosen) in visits.iter().filter(|(visit, _)| visit.has_kept_nodes) {
        let kept = visit.request.iter().flat_map(|it| it.kept.iter().copied());
        let chosen = chosen.placement.parts.iter().map(|it| it.node);
        let nodes: Vec<NodeKey> = kept.chain(chosen).collect();
        starvation_guard::lock(tx, &nodes).await?;
    }
    Ok(())
}

/// Those that hold their slots now.
async fn reserve(tx: &mut Tx, visits: Vec<(Visit, Box<PlacementChoice>)>) -> Result<Vec<Visit>, ReconcileError> {
    let choices: Vec<slots::Reservation> = visits
        .iter()
        .map(|(visit, chosen)| slots::Reservation {
            organization: visit.organization,
            allocation: visit.id,
            placement: &chosen.placement,
        })
        .collect();
    let mut held = slots::reserve(tx, &choices).await?;
    let placed = visits.into_iter().filter_map(|(mut visit, _)| {
        visit.held = held.remove(&visit.id)?;
        Some(visit)
    });
    Ok(placed.collect())
}

/// Forgets what they waited for, and the nodes that were kept for them; whether one waited.
async fn leave_queue(tx: &mut Tx, visits: &[Visit]) -> Result<bool, ReconcileError> {
    for visit in visits.iter().filter(|it| it.has_kept_nodes) {
        starvation_guard::end(tx, visit.id).await?;
    }
    let waited = |it: &&Visit| it.request.as_ref().is_some_and(|it| it.is_waiting);
    let mut any = false;
    for visit in visits.iter().filter(waited) {
        visits::placed(tx, visit.id).await?;
        any = true;
    }
    Ok(any)
}
