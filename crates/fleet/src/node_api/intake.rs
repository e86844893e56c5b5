//! Reports on their way into the database: what arrives while one transaction
//! commits goes into the next, all of it together. A node hears that a report
//! is safe only after the commit.

use std::collections::HashSet;

use contract::id::NodeId;
use kernel::{Access, Db, Tx};
use protocol::{Report, TaskId};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::refusal::Refusal;
use crate::tasks;

// bound: who finds it full is asked to come again
const MAX_WAITING: usize = 4096;
// bound: one statement's worth
const MAX_BATCH: usize = 512;

pub struct Intake(mpsc::Sender<Parcel>);

pub struct Parcel {
    node: NodeId,
    reports: Vec<Report>,
    done: oneshot::Sender<bool>,
}

pub fn open() -> (Intake, mpsc::Receiver<Parcel>) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    (Intake(sender), receiver)
}

impl Intake {
    /// Hands reports in and waits until they are safe. All of them may be
    /// forgotten then, also those about tasks that were not the node's.
    pub async fn hand_in(&self, node: NodeId, reports: Vec<Report>) -> Result<Vec<TaskId>, Refusal> {
        let (done, outcome) = oneshot::channel();
        let ids = reports.iter().map(|it| it.task).collect();
        self.0.try_send(Parcel { node, reports, done }).map_err(|_| Refusal::Unavailable)?;
        match outcome.await {
            Ok(true) => Ok(ids),
            Ok(false) | Err(_) => Err(Refusal::Unavailable),
        }
    }
}

/// Writes reports until stopped, and what is left then.
pub async fn run(db: Db, mut parcels: mpsc::Receiver<Parcel>, stop: CancellationToken) {
    loop {
        let first = tokio::select! {
            parcel = parcels.recv() => parcel,
            () = stop.cancelled() => parcels.try_recv().ok(),
        };
        let Some(first) = first else { return };
        let mut count = first.reports.len();
        let mut batch = vec![first];
        while count < MAX_BATCH
            && let Ok(next) = parcels.try_recv()
        {
            count += next.reports.len();
            batch.push(next);
        }
        metrics::histogram!("gpuaas_node_reports_batch").record(count as f64);
        write_all(&db, batch).await;
    }
}

async fn write_all(db: &Db, batch: Vec<Parcel>) {
    match write(db, &batch).await {
        Ok(()) => tell(batch, true),
        Err(error) if batch.len() == 1 || kernel::tx::is_unavailable(&error) => {
            tracing::warn!(%error, "reports could not be stored; hosts will resend them");
            tell(batch, false);
        }
        // One that cannot be kept must not keep others from being kept.
        Err(_) => {
            for parcel in batch {
                let outcome = write(db, std::slice::from_ref(&parcel)).await;
                if let Err(error) = &outcome {
                    tracing::error!(%error, node = %parcel.node, "a host's reports could not be stored");
                }
                let _ = parcel.done.send(outcome.is_ok());
            }
        }
    }
}

fn tell(batch: Vec<Parcel>, is_safe: bool) {
    for parcel in batch {
        // A host that broke off sends them again.
        let _ = parcel.done.send(is_safe);
    }
}

async fn write(db: &Db, batch: &[Parcel]) -> sqlx::Result<()> {
    let mut seen = HashSet::new();
    let reports: Vec<(NodeId, Report)> = batch
        .iter()
        .flat_map(|parcel| parcel.reports.iter().map(|it| (parcel.node, it.clone())))
        .filter(|(node, report)| seen.insert((*node, report.task)))
        .collect();
    let mut tx = Tx::system(db, "node_api", Access::Write).await?;
    tasks::record_reports(&mut tx, &reports).await?;
    tx.commit().await
}
