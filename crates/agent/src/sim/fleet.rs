//! A fleet in one process: enrolled some at a time, then one small task per node.

use super::SimConfig;
use super::node::{Node, NodeHandle};
use crate::enroll::EnrollError;
use crate::journal::JournalError;
use crate::state::StateError;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use trust::{Trust, TrustError};

#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("cannot get an enrollment token: {0}")]
    Token(String),
    #[error("{node} failed to enroll")]
    Enroll { node: String, source: Box<EnrollError> },
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the start of a node was interrupted")]
    Cut,
}

pub(super) struct Shared {
    pub config: SimConfig,
    pub trust: Trust,
    pub stop: CancellationToken,
}

/// Starts simulated nodes.
pub struct Fleet;

/// A running fleet. Dropping it stops every node.
pub struct Handle {
    shared: Arc<Shared>,
    nodes: Vec<Arc<Node>>,
}

impl Fleet {
    /// Enrolls every node and starts it. Fails with the first that cannot.
    pub async fn start(config: SimConfig) -> Result<Handle, FleetError> {
        let trust = Trust::in_roots(&config.roots)?;
        let shared = Arc::new(Shared { config, trust, stop: CancellationToken::new() });
        let mut handle = Handle { shared: Arc::clone(&shared), nodes: Vec::with_capacity(shared.config.nodes) };
        for at in 0..shared.config.nodes {
            handle.nodes.push(Arc::new(Node::new(&shared.config, at)?));
        }
        let mut enrolling = JoinSet::new();
        for (at, node) in handle.nodes.iter().enumerate() {
            while enrolling.len() >= shared.config.enrolling_at_once.max(1) {
                joined(enrolling.join_next().await)?;
            }
            let (node, shared) = (Arc::clone(node), Arc::clone(&shared));
            enrolling.spawn(async move {
                node.identify(&shared.config, &shared.trust, at).await?;
                node.start(&shared.config, &shared.trust, &shared.stop)
            });
        }
        while let Some(ended) = enrolling.join_next().await {
            joined(Some(ended))?;
        }
        Ok(handle)
    }
}

fn joined(ended: Option<Result<Result<(), FleetError>, tokio::task::JoinError>>) -> Result<(), FleetError> {
    ended.map_or(Ok(()), |result| result.unwrap_or(Err(FleetError::Cut)))
}

impl Handle {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of that number, counted from nought; panics past the last.
    pub fn node(&self, at: usize) -> NodeHandle {
        NodeHandle { node: Arc::clone(&self.nodes[at]), fleet: Arc::clone(&self.shared) }
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeHandle> + '_ {
        (0..self.nodes.len()).map(|at| self.node(at))
    }

    pub fn stop(&self) {
        self.shared.stop.cancel();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop();
    }
}
