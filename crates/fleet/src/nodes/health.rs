//! What is observed of nodes, kept apart from their state: what hosts report
//! of themselves, whether it can be true, and who has gone silent.

use std::time::Duration;

use contract::{
    id::NodeId,
    nodes::{NodeHealth, NodeHealthChanged},
};
use kernel::{
    Tx, clock,
    lifecycle::{Lifecycle, TransitionError, transition},
};
use protocol::{HealthEvent, HealthKind, Inventory, limits::bounded_text};

use super::occupants::{self, LossError, Occupants};
use super::{
    changes,
    inventory::{self, Implausibility},
    lifecycle::{Event, NodeLifecycle},
    loss::LossCause,
    store::{
        self, Degradation, NodeFacts,
        heartbeats::{self, Heartbeat},
        slots,
    },
};
use platform::events::emit;

/// What came of a reported inventory.
#[derive(Debug, PartialEq, Eq)]
pub enum InventoryVerdict {
    Believed,
    /// Nothing of it was taken over; the node is marked until a person acts.
    Lying(Implausibility),
    NoSuchNode,
}

/// Takes over what a host says it is made of, if that can be true.
pub async fn report_inventory(
    tx: &mut Tx,
    node: NodeId,
    reported: &Inventory,
) -> Result<InventoryVerdict, TransitionError> {
    let Some(known) = store::lock(tx, node).await? else { return Ok(InventoryVerdict::NoSuchNode) };
    let before = slots::known(tx, node).await?;
    let mut lie = inventory::judge(&before, known.state, reported).err();
    if lie.is_none() {
        lie = slots::elsewhere(tx, Some(node), reported).await?.map(|uuid| Implausibility::Elsewhere { uuid });
    }
    if let Some(lie) = lie {
        mark(tx, node, NodeHealth::Lying, Some(&lie.to_string())).await?;
        return Ok(InventoryVerdict::Lying(lie));
    }
    changes::write_inventory(tx, node, reported).await?;
    // Whoever lied stays marked until a person took the node out of service.
    let is_sticky = known.health == NodeHealth::Lying && !inventory::may_change(known.state);
    if !is_sticky {
        let (health, reason) = health_of(known.degraded.as_ref());
        mark(tx, node, health, reason).await?;
    }
    if known.health == NodeHealth::Silent {
        changes::wipe_if_abandoned(tx, node).await?;
    }
    changes::first_word(tx, &known).await?;
    Ok(InventoryVerdict::Believed)
}

/// Takes over what a host noticed about itself. What is fatal takes the GPU
/// off offer and marks the node until the host says that it recovered.
pub async fn report_health(tx: &mut Tx, node: NodeId, events: &[HealthEvent]) -> sqlx::Result<()> {
    let Some(known) = store::lock(tx, node).await? else { return Ok(()) };
    let mut degraded = known.degraded.clone();
    for event in events {
        metrics::counter!("gpuaas_node_health_events_total", "kind" => kind(event.kind), "fatal" => if event.fatal { "true" } else { "false" })
            .increment(1);
        if event.kind == HealthKind::Recovered {
            // A host that recovered as a whole names no GPU.
            degraded = degraded.filter(|it| event.gpu.is_some() && it.gpu != event.gpu);
        } else if event.fatal {
            let text = describe(event);
            if let Some(gpu) = &event.gpu {
                let changed = slots::quarantine(tx, node, gpu, &text).await?;
                changes::tell(tx, node, changed);
            }
            degraded = Some(Degradation { reason: text, gpu: event.gpu.clone() });
        }
    }
    if degraded == known.degraded {
        return Ok(());
    }
    store::set_degraded(tx, node, degraded.as_ref()).await?;
    match known.health {
        NodeHealth::Lying => Ok(()),
        NodeHealth::Unknown | NodeHealth::Ok | NodeHealth::Degraded | NodeHealth::Silent => {
            let (health, reason) = health_of(degraded.as_ref());
            mark(tx, node, health, reason).await?;
            if known.health == NodeHealth::Silent {
                changes::wipe_if_abandoned(tx, node).await.map_err(not_moved)?;
            }
            Ok(())
        }
    }
}

/// Marks a node that claimed what cannot be true: nothing is placed there until a person acts.
pub async fn caught_lying(tx: &mut Tx, node: NodeId, lie: &str) -> sqlx::Result<()> {
    if store::lock(tx, node).await?.is_some() {
        tracing::warn!(%node, lie, "a host sent an implausible report");
        mark(tx, node, NodeHealth::Lying, Some(lie)).await?;
    }
    Ok(())
}

/// Marks a node that can no longer be heard: its certificates were revoked.
/// Nothing is placed there before what is on the host now has spoken.
pub async fn shut_out(tx: &mut Tx, node: NodeId) -> sqlx::Result<()> {
    match store::lock(tx, node).await? {
        Some(known) if known.health != NodeHealth::Lying => {
            let reason = "its certificates were revoked; reinstall it, enroll it, and attest that it was sanitized";
            mark(tx, node, NodeHealth::Unknown, Some(reason)).await
        }
        _ => Ok(()),
    }
}

/// Writes that nodes were heard; who was silent no longer is. What they had not
/// cleaned is asked for again, and what was given up on them is wiped.
pub async fn heard(tx: &mut Tx, beats: &[Heartbeat]) -> sqlx::Result<()> {
    // bound: a pause in which an order may have gone unanswered; asking once too often does no harm
    const PAUSE: Duration = Duration::from_secs(60);
    // One that lies is never marked as silent, and one that reported something no longer is.
    let mut back = heartbeats::quiet(tx, beats, PAUSE).await?;
    heartbeats::write(tx, beats).await?;
    let revived = heartbeats::revive(tx, beats).await?;
    for (id, ..) in &revived {
        changes::wipe_if_abandoned(tx, (*id).into()).await.map_err(not_moved)?;
        back.push((*id).into());
    }
    if !back.is_empty() {
        tx.hook::<dyn Occupants>().hosts_are_back(tx, &back).await?;
    }
    if !revived.is_empty() {
        occupants::capacity_changed(tx).await?;
    }
    tell(tx, revived)
}

/// Nobody else moves a node that is locked.
fn not_moved(error: TransitionError) -> sqlx::Error {
    match error {
        TransitionError::Database(error) => error,
        error => sqlx::Error::Protocol(error.to_string()),
    }
}

/// Marks the nodes that were not heard for too long; how many.
pub async fn judge_silence(tx: &mut Tx, after: Duration) -> sqlx::Result<usize> {
    let silent = heartbeats::silence(tx, after).await?;
    let count = silent.len();
    tell(tx, silent)?;
    Ok(count)
}

/// Gives up the nodes that were not heard for too long, and what is on them; how many.
pub async fn give_up_lost(tx: &mut Tx, after: Duration) -> Result<usize, LossError> {
    // bound: the rest is found at the next look
    const AT_ONCE: i64 = 16;
    let lost = heartbeats::lost(tx, after, AT_ONCE).await?;
    for node in &lost {
        let Some(known) = store::lock(tx, *node).await? else { continue };
        give_up(tx, &known, &LossCause::Silent).await?;
    }
    Ok(lost.len())
}

/// Gives up one node: it has failed, and what is on it ended when it was last heard.
/// The only way to `failed`.
pub async fn give_up(tx: &mut Tx, known: &NodeFacts, cause: &LossCause) -> Result<(), LossError> {
    if NodeLifecycle::next(known.state, Event::Failed).is_some() {
        transition::<NodeLifecycle>(tx, known.versioned(), Event::Failed, &cause.to_string()).await?;
    }
    // One that was never heard proved nothing; then the moment of its loss has to do.
    let last_heard = match heartbeats::last(tx, known.id).await? {
        Some(at) => at,
        None => clock::now(tx).await?,
    };
    tx.hook::<dyn Occupants>().node_lost(tx, known.id, last_heard, cause).await
}

fn tell(tx: &mut Tx, changed: Vec<heartbeats::Changed>) -> sqlx::Result<()> {
    for (id, health, reason) in changed {
        let id = NodeId::from(id);
        emit(tx, None, id, &NodeHealthChanged { id, health: platform::rows::word(&health)?, reason });
    }
    Ok(())
}

async fn mark(tx: &mut Tx, node: NodeId, health: NodeHealth, reason: Option<&str>) -> sqlx::Result<()> {
    if store::set_health(tx, node, health, reason).await? {
        let reason = reason.map(str::to_owned);
        emit(tx, None, node, &NodeHealthChanged { id: node, health: health.into(), reason });
        if health == NodeHealth::Ok {
            occupants::capacity_changed(tx).await?;
        }
    }
    Ok(())
}

fn health_of(degraded: Option<&Degradation>) -> (NodeHealth, Option<&str>) {
    match degraded {
        Some(it) => (NodeHealth::Degraded, Some(&it.reason)),
        None => (NodeHealth::Ok, None),
    }
}

fn describe(event: &HealthEvent) -> String {
    let place = event.gpu.as_deref().map(|gpu| format!("GPU {gpu}: ")).unwrap_or_default();
    let code = event.code.map(|it| format!(" {it}")).unwrap_or_default();
    bounded_text(format!("{place}{}{code}: {}", kind(event.kind), event.detail))
}

fn kind(kind: HealthKind) -> &'static str {
    match kind {
        HealthKind::Xid => "xid",
        HealthKind::Ecc => "ecc",
        HealthKind::GpuLost => "gpu_lost",
        HealthKind::Driver => "driver",
        HealthKind::Disk => "disk",
        HealthKind::Recovered => "recovered",
    }
}
