//! Who an agent is to the control plane: its key and certificate, whom it trusts,
//! and whose tasks it acts on.

use protocol::{EnrollAnswer, RenewAnswer, TaskKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use trust::Pair;

#[derive(Clone, Serialize, Deserialize)]
pub struct Identity {
    pub node_id: String,
    pub url: String,
    #[serde(flatten)]
    pub pair: Pair,
    /// PEM bundle.
    pub roots: String,
    pub task_keys: Vec<TaskKey>,
    pub epoch: i64,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("node_id", &self.node_id).field("url", &self.url).finish_non_exhaustive()
    }
}

impl Identity {
    pub fn enrolled(url: &str, key: String, answer: EnrollAnswer) -> Self {
        let EnrollAnswer { node_id, certificate, roots, task_keys, epoch, .. } = answer;
        let pair = Pair { key, certificate };
        Self { node_id, url: url.to_owned(), pair, roots, task_keys, epoch }
    }

    pub fn renewed(&self, key: String, answer: RenewAnswer) -> Self {
        let RenewAnswer { certificate, roots, task_keys, epoch, .. } = answer;
        let (node_id, url) = (self.node_id.clone(), self.url.clone());
        let pair = Pair { key, certificate };
        Self { node_id, url, pair, roots, task_keys, epoch: epoch.max(self.epoch) }
    }
}
