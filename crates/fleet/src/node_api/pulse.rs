//! Heartbeats: noted in memory with every poll, written together once a
//! second. Then those are found that were not heard for too long.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::{Timestamp, id::NodeId};
use kernel::{Access, Db, Tx};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::NodeApi;
use crate::nodes::LossError;
use crate::{nodes, nodes::Heartbeat};
use platform::policies::settings;

#[derive(Default)]
pub struct Pulse(Mutex<HashMap<NodeId, Beat>>);

#[derive(Clone, Copy)]
struct Beat {
    at: Instant,
    generation: u64,
    refused: u64,
}

// bound: how old the newest heartbeat in the database may be
const WRITE: Duration = Duration::from_secs(1);
// bound: how late silence is noticed
const JUDGE: Duration = Duration::from_secs(5);

impl Pulse {
    pub fn note(&self, node: NodeId, generation: u64, refused: u64) {
        self.lock().insert(node, Beat { at: Instant::now(), generation, refused });
    }

    fn take(&self) -> HashMap<NodeId, Beat> {
        std::mem::take(&mut *self.lock())
    }

    /// Puts back what could not be written, unless something newer came.
    fn put_back(&self, beats: HashMap<NodeId, Beat>) {
        let mut lock = self.lock();
        for (node, beat) in beats {
            lock.entry(node).or_insert(beat);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<NodeId, Beat>> {
        self.0.lock().expect("no code panics while it holds this lock")
    }
}

/// Writes heartbeats until stopped, and what is left then.
pub async fn run(api: Arc<NodeApi>, stop: CancellationToken) {
    let db = &api.area.db;
    // Since when nothing kept heartbeats from being written: before that,
    // silence may be ours.
    let mut steady_since = db.clock.estimate();
    let mut judged = Instant::now();
    loop {
        tokio::select! {
            () = stop.cancelled() => (),
            () = tokio::time::sleep(WRITE) => (),
        }
        metrics::gauge!("gpuaas_node_polls_waiting").set(api.polls.waiting() as f64);
        if let Err(error) = write(db, &api.pulse).await {
            tracing::warn!(%error, "heartbeats could not be written; trying again");
            steady_since = db.clock.estimate();
        }
        if stop.is_cancelled() {
            return;
        }
        if judged.elapsed() >= JUDGE {
            judged = Instant::now();
            let patience = settings::seconds(api.area.policies.number(settings::NODE_SILENT_SECONDS));
            if let Err(error) = judge(db, steady_since, patience).await {
                tracing::warn!(%error, "looking for silent nodes failed; trying again");
            }
            let patience = settings::minutes(api.area.policies.number(settings::NODE_LOST_MINUTES));
            if let Err(error) = give_up(db, steady_since, patience).await {
                tracing::warn!(%error, "releasing lost nodes failed; trying again");
            }
        }
    }
}

async fn write(db: &Db, pulse: &Pulse) -> sqlx::Result<()> {
    let beats = pulse.take();
    if beats.is_empty() {
        return Ok(());
    }
    let rows: Vec<Heartbeat> = beats
        .iter()
        .map(|(node, beat)| Heartbeat {
            node: *node,
            ago: beat.at.elapsed(),
            generation: beat.generation,
            refused: beat.refused,
        })
        .collect();
    let outcome = async {
        let mut tx = Tx::system(db, "heartbeats", Access::Write).await?;
        nodes::heard(&mut tx, &rows).await?;
        tx.commit().await
    };
    let outcome = outcome.await;
    if outcome.is_err() {
        pulse.put_back(beats);
    }
    outcome
}

async fn judge(db: &Db, steady_since: Timestamp, patience: Duration) -> sqlx::Result<()> {
    if db.clock.estimate() < steady_since + patience {
        return Ok(());
    }
    let mut tx = Tx::system(db, "heartbeats", Access::Write).await?;
    let silent = nodes::judge_silence(&mut tx, patience).await?;
    tx.commit().await?;
    if silent > 0 {
        tracing::warn!(silent, "nodes have gone silent");
    }
    Ok(())
}

async fn give_up(db: &Db, steady_since: Timestamp, patience: Duration) -> Result<(), LossError> {
    if db.clock.estimate() < steady_since + patience {
        return Ok(());
    }
    let mut tx = Tx::system(db, "heartbeats", Access::Write).await?;
    let lost = nodes::give_up_lost(&mut tx, patience).await?;
    tx.commit().await?;
    if lost > 0 {
        tracing::error!(lost, "nodes are lost; their allocations were ended");
    }
    Ok(())
}
