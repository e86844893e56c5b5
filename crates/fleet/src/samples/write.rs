//! Takes what polls left in memory to the database, everything in one go.

use std::{sync::Arc, time::Duration};

use kernel::{Access, Tx};
use protocol::GpuSample;
use tokio_util::sync::CancellationToken;

use super::store;
use crate::{FleetArea, node_api::Measured};

// bound: how late a sample can be read that arrived
const EVERY: Duration = Duration::from_secs(2);

/// Writes until stopped, and what is left then.
pub async fn run(area: Arc<FleetArea>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => (),
            () = tokio::time::sleep(EVERY) => (),
        }
        if let Err(error) = flush(&area).await {
            tracing::warn!(%error, "samples could not be written; trying again");
        }
        if stop.is_cancelled() {
            return;
        }
    }
}

/// Writes what arrived since the last time; what cannot be written stays.
pub async fn flush(area: &FleetArea) -> sqlx::Result<()> {
    let taken = area.samples.take();
    if taken.is_empty() {
        return Ok(());
    }
    let batch = Batch::of(&taken);
    let outcome = async {
        let mut tx = Tx::system(&area.db, "samples", Access::Write).await?;
        store::write(&mut tx, &batch).await?;
        tx.commit().await
    };
    let outcome = outcome.await;
    if outcome.is_err() {
        area.samples.put_back(taken);
    }
    outcome
}

/// Samples as columns.
#[derive(Default)]
pub struct Batch {
    pub nodes: Vec<uuid::Uuid>,
    pub at: Vec<jiff_sqlx::Timestamp>,
    pub cpu_percent: Vec<i32>,
    pub memory: Vec<i64>,
    pub gpus: Gpus,
}

/// Those of GPUs, each with its place among the samples.
#[derive(Default)]
pub struct Gpus {
    pub sample: Vec<i32>,
    pub uuid: Vec<String>,
    pub utilization: Vec<i32>,
    pub memory: Vec<i64>,
    pub temperature: Vec<i32>,
    pub power: Vec<i32>,
}

impl Batch {
    fn of(all: &[Measured]) -> Self {
        let mut batch = Batch::default();
        for (place, it) in all.iter().enumerate() {
            batch.nodes.push(it.node.uuid());
            batch.at.push(kernel::clock::bind(it.at));
            batch.cpu_percent.push(percent(it.sample.host.cpu_percent));
            batch.memory.push(bytes(it.sample.host.memory_used_bytes));
            let place = i32::try_from(place).unwrap_or(i32::MAX);
            it.sample.gpus.iter().for_each(|gpu| batch.gpus.push(place, gpu));
        }
        batch
    }
}

impl Gpus {
    fn push(&mut self, sample: i32, gpu: &GpuSample) {
        self.sample.push(sample);
        // No text of the database holds NUL, and no GPU of ours is named so.
        self.uuid.push(gpu.uuid.replace('\0', ""));
        self.utilization.push(percent(gpu.utilization_percent));
        self.memory.push(bytes(gpu.memory_used_bytes));
        self.temperature.push(gpu.temperature_c.clamp(COLDEST, HOTTEST));
        self.power.push(i32::try_from(gpu.power_mw).unwrap_or(i32::MAX).min(MOST_POWER));
    }
}

// bound: hosts are not believed: an hour of the largest values still adds up
const MOST_BYTES: u64 = 1 << 50;
const COLDEST: i32 = -273; // bound: nothing is colder
const HOTTEST: i32 = 1_000; // bound: no GPU measures more
const MOST_POWER: i32 = 100_000_000; // bound: 100 kW, more than a rack draws

fn percent(number: u32) -> i32 {
    i32::try_from(number.min(100)).unwrap_or(100)
}

fn bytes(number: u64) -> i64 {
    i64::try_from(number.min(MOST_BYTES)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_are_cut_to_those_that_can() {
        let mut gpus = Gpus::default();
        let gpu = GpuSample {
            uuid: "GPU-\0a".into(),
            utilization_percent: u32::MAX,
            memory_used_bytes: u64::MAX,
            temperature_c: i32::MIN,
            power_mw: u32::MAX,
        };
        gpus.push(0, &gpu);
        assert_eq!((gpus.utilization[0], gpus.memory[0]), (100, 1 << 50));
        assert_eq!((gpus.temperature[0], gpus.power[0], gpus.uuid[0].as_str()), (COLDEST, MOST_POWER, "GPU-a"));
        assert!(gpus.memory[0].checked_mul(3_600).is_some(), "one a second is kept");
    }
}
