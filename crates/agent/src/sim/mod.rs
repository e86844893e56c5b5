//! Pretended hosts that speak the real protocol: any number in one process, each
//! with its own key, certificate, generation and engine, and a script of faults.

mod fleet;
mod host;
mod node;
mod sandbox;
mod script;
mod workloads;

pub use fleet::{Fleet, FleetError, Handle};
pub use host::{SimHardware, SimHost, SimLogin};
pub use node::NodeHandle;
pub use script::{Failing, FalseReport, Script};
pub use workloads::of_sim;

use crate::poll::Timing;
use crate::steps::{Points, no_points};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

type TokenFuture = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// Where the nodes' one-time tokens come from.
#[derive(Clone)]
pub enum Tokens {
    /// One for each node, in order.
    List(Vec<String>),
    /// Asked for when a node is about to enroll.
    Each(Arc<dyn Fn(usize) -> TokenFuture + Send + Sync>),
}

impl Tokens {
    /// Tokens from an async function of the node's number.
    pub fn each<F, Fut>(make: F) -> Self
    where
        F: Fn(usize) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self::Each(Arc::new(move |at| Box::pin(make(at))))
    }
}

/// What a fleet is made of.
#[derive(Clone)]
pub struct SimConfig {
    /// Of the node listener, `https://…`.
    pub url: String,
    /// PEM of the roots that vouch for it.
    pub roots: String,
    pub tokens: Tokens,
    pub nodes: usize,
    pub gpus_per_node: u32,
    pub model: String,
    pub gpu_memory_bytes: u64,
    /// Names are `<prefix>-0001` and so on; also the seed of machine ids and UUIDs.
    pub name: String,
    pub timing: Timing,
    /// Where identities and journals outlive the process; in memory without.
    pub data_dir: Option<PathBuf>,
    /// How many enroll at the same moment.
    pub enrolling_at_once: usize,
    pub points: Points,
    /// Whether the nodes connect to gateways; by default when there are few of them.
    pub streams: Option<bool>,
}

const FEW: usize = 64; // bound: each node keeps a connection to each gateway

impl SimConfig {
    pub fn new(url: impl Into<String>, roots: impl Into<String>, tokens: Tokens) -> Self {
        Self {
            url: url.into(),
            roots: roots.into(),
            tokens,
            nodes: 4,
            gpus_per_node: 8,
            model: "NVIDIA H200".into(),
            gpu_memory_bytes: 141 * 1024 * 1024 * 1024,
            name: "sim".into(),
            timing: Timing::default(),
            data_dir: None,
            enrolling_at_once: 32,
            points: no_points(),
            streams: None,
        }
    }

    pub fn serves_streams(&self) -> bool {
        self.streams.unwrap_or(self.nodes <= FEW)
    }

    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.timing.heartbeat = every;
        self.timing.sample_every = every;
        self
    }
}
