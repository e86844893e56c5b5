//! Brings tasks to the polls that wait here: one look for all nodes whenever
//! the bell rings, and only what waits here is taken.

use std::{collections::HashMap, sync::Arc, time::Duration};

use contract::id::NodeId;
use kernel::{Access, Tx};
use protocol::SignedTask;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::NodeApi;
use crate::tasks;
use platform::policies::settings;

// bound: the longest time without looking when no bell rings
const POLL: Duration = Duration::from_millis(500);
// bound: between two looks under load; tasks that are ordered meanwhile are handed out together
const LOOK_PAUSE: Duration = Duration::from_millis(4);
// bound: how often overdue reports are looked for
const OVERDUE: Duration = Duration::from_secs(5);
// bound: what is left is taken in the next round, at once
const MAX_TAKEN: i64 = 1024;

/// Delivers until stopped.
pub async fn run(api: Arc<NodeApi>, stop: CancellationToken) {
    let mut ear = api.area.db.bell.ear(&[tasks::READY]).with_pause(LOOK_PAUSE);
    let mut looked = Instant::now();
    while !stop.is_cancelled() {
        match pass(&api).await {
            Ok(true) => continue,
            Ok(false) => (),
            Err(error) => tracing::warn!(%error, "delivering tasks failed; trying again"),
        }
        if looked.elapsed() >= OVERDUE {
            looked = Instant::now();
            if let Err(error) = redeliver(&api).await {
                tracing::warn!(%error, "looking for overdue reports failed; trying again");
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = ear.wait(POLL) => (),
            () = api.polls.nudged() => (),
        }
    }
}

/// Whether there may be more.
async fn pass(api: &NodeApi) -> sqlx::Result<bool> {
    if api.polls.is_empty() {
        return Ok(false);
    }
    let addressees = tasks::addressees(&api.area.db).await?;
    let here: Vec<Uuid> = api.polls.waiting_among(addressees).into_iter().map(|it| it.uuid()).collect();
    if here.is_empty() {
        return Ok(false);
    }
    let mut tx = Tx::system(&api.area.db, "dispatcher", Access::Write).await?;
    let taken = tasks::claim(&mut tx, &here, MAX_TAKEN).await?;
    tx.commit().await?;
    let more = taken.len() as i64 == MAX_TAKEN;
    metrics::counter!("gpuaas_node_tasks_delivered_total").increment(taken.len() as u64);
    let mut by_node: HashMap<NodeId, Vec<SignedTask>> = HashMap::new();
    for delivery in taken {
        by_node.entry(delivery.node).or_default().push(delivery.signed);
    }
    for (node, tasks) in by_node {
        api.polls.hand_over(node, tasks);
    }
    Ok(more)
}

async fn redeliver(api: &NodeApi) -> sqlx::Result<()> {
    let after = settings::seconds(api.area.policies.number(settings::NODE_REDELIVER_SECONDS));
    let mut tx = Tx::system(&api.area.db, "dispatcher", Access::Write).await?;
    let again = tasks::redeliver(&mut tx, after).await?;
    tx.commit().await?;
    if again > 0 {
        tracing::info!(again, "tasks without a report are delivered again");
        metrics::counter!("gpuaas_node_tasks_redelivered_total").increment(again);
    }
    Ok(())
}
