//! What the agent has to tell besides reports: inventory, health and samples, in
//! bounded queues that keep the newest through an outage.

use super::Timing;
use crate::host::{Host, Readings};
use protocol::limits::{MAX_HEALTH_PER_POLL, MAX_SAMPLES_PER_POLL};
use protocol::{HealthEvent, Inventory, PollRequest, Sample};
use std::collections::VecDeque;
use std::time::Instant;

const MOST_HEALTH: usize = 1024; // bound: a flapping GPU must not fill the memory
const MOST_GPU_SAMPLES: usize = 1024; // bound: keeps a poll's body far below its limit

#[derive(Default)]
pub(super) struct Telemetry {
    inventory: Option<(Inventory, String, Instant)>,
    /// The hash that the control plane has.
    delivered_hash: Option<String>,
    samples: VecDeque<(Instant, Readings)>,
    last_sample: Option<Instant>,
    health: VecDeque<HealthEvent>,
}

impl Telemetry {
    pub fn want_inventory(&mut self) {
        self.delivered_hash = None;
        self.inventory = None;
    }

    /// Asks the host for whatever is due.
    pub async fn refresh<H: Host>(&mut self, host: &H, timing: &Timing) {
        let is_old = |at: &Instant| at.elapsed() >= timing.inventory_every;
        let noticed = host.health().await;
        if self.inventory.as_ref().is_none_or(|(_, _, at)| is_old(at)) || !noticed.is_empty() {
            let inventory = host.inventory().await;
            let hash = inventory.hash();
            self.inventory = Some((inventory, hash, Instant::now()));
        }
        self.health.extend(noticed);
        let excess = self.health.len().saturating_sub(MOST_HEALTH);
        self.health.drain(..excess);
        if self.last_sample.is_none_or(|at| at.elapsed() >= timing.sample_every) {
            self.last_sample = Some(Instant::now());
            if let Some(readings) = host.sample().await {
                self.keep(readings);
            }
        }
    }

    fn keep(&mut self, readings: Readings) {
        let most = (MOST_GPU_SAMPLES / (readings.gpus.len() + 1)).clamp(1, MAX_SAMPLES_PER_POLL);
        self.samples.push_back((Instant::now(), readings));
        let excess = self.samples.len().saturating_sub(most);
        self.samples.drain(..excess);
    }

    pub fn fill(&self, request: &mut PollRequest) {
        if let Some((inventory, hash, _)) = &self.inventory {
            request.inventory_hash.clone_from(hash);
            if self.delivered_hash.as_ref() != Some(hash) {
                request.inventory = Some(inventory.clone());
            }
        }
        request.health = self.health.iter().take(MAX_HEALTH_PER_POLL).cloned().collect();
        let sample = |(at, readings): &(Instant, Readings)| Sample {
            at_ms_ago: at.elapsed().as_millis().try_into().unwrap_or(u32::MAX),
            host: readings.host,
            gpus: readings.gpus.clone(),
        };
        request.samples = self.samples.iter().map(sample).collect();
    }

    /// Forgets what an answered request carried.
    pub fn delivered(&mut self, request: &PollRequest) {
        self.delivered_hash = Some(request.inventory_hash.clone());
        self.health.drain(..request.health.len().min(self.health.len()));
        self.samples.drain(..request.samples.len().min(self.samples.len()));
    }
}
