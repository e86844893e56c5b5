//! Who an agent is to the control plane: its key and certificate, whom it trusts,
//! and whose tasks it acts on.

use protocol::{Endorsement, EnrollAnswer, RenewAnswer, TaskKey, TrustSet, TrustVersion};
use serde::{Deserialize, Serialize};
use std::fmt;
use trust::Pair;

/// Said where an answer tells to trust what this host does not believe.
pub const UNBELIEVED: &str =
    "received keys that no known key signed, or that are older than the known ones; continuing with the known ones";

#[derive(Clone, Serialize, Deserialize)]
pub struct Identity {
    pub node_id: String,
    pub url: String,
    #[serde(flatten)]
    pub pair: Pair,
    /// PEM bundle.
    pub roots: String,
    pub task_keys: Vec<TaskKey>,
    /// Of the keys and roots above: earlier ones are not taken over.
    pub trust_version: TrustVersion,
    pub epoch: i64,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("node_id", &self.node_id).field("url", &self.url).finish_non_exhaustive()
    }
}

impl Identity {
    pub fn enrolled(url: &str, key: String, answer: EnrollAnswer) -> Self {
        let EnrollAnswer { node_id, certificate, roots, task_keys, trust_version, epoch, .. } = answer;
        let pair = Pair { key, certificate };
        Self { node_id, url: url.to_owned(), pair, roots, task_keys, trust_version, epoch }
    }

    pub fn renewed(&self, key: String, answer: RenewAnswer) -> Self {
        let RenewAnswer { certificate, roots, task_keys, trust_version, endorsements, epoch, .. } = answer;
        let told = TrustSet { version: trust_version, task_keys: &task_keys, roots: &roots };
        let is_known = task_keys == self.task_keys && roots == self.roots;
        let (roots, task_keys, trust_version) = if !task_keys.is_empty() && self.believes(told, &endorsements) {
            (roots, task_keys, trust_version)
        } else {
            if !is_known {
                tracing::error!("{UNBELIEVED}");
            }
            (self.roots.clone(), self.task_keys.clone(), self.trust_version)
        };
        let (node_id, url) = (self.node_id.clone(), self.url.clone());
        let pair = Pair { key, certificate };
        Self { node_id, url, pair, roots, task_keys, trust_version, epoch: epoch.max(self.epoch) }
    }

    /// Who passes for the control plane once must not become it for good: what to trust
    /// from now on is signed by a key that is trusted already, the first at enrollment,
    /// and is no earlier set that somebody recorded.
    pub fn believes(&self, told: TrustSet<'_>, endorsements: &[Endorsement]) -> bool {
        told.version.may_follow(self.trust_version) && told.is_endorsed_by(&self.task_keys, endorsements)
    }
}
