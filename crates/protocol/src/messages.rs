//! The three conversations: enrolling, renewing the certificate, and the poll that
//! is heartbeat, telemetry and task delivery in one.

use crate::stream::GatewayRef;
use crate::{
    Endorsement, HealthEvent, Inventory, RefusedCounts, Report, Sample, SignedTask, TaskId, TaskKey, TrustVersion,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Serialize, Deserialize)]
pub struct EnrollRequest {
    pub protocol: u16,
    /// The one-time token; it is spent by this request.
    pub token: String,
    /// Certificate signing request in PEM. Its subject is ignored.
    pub csr: String,
    pub agent_version: String,
    pub hostname: String,
    pub inventory: Inventory,
}

impl fmt::Debug for EnrollRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnrollRequest").field("hostname", &self.hostname).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnrollAnswer {
    pub protocol: u16,
    /// Opaque to the agent.
    pub node_id: String,
    /// PEM chain: the node's certificate, then the intermediate's.
    pub certificate: String,
    /// PEM bundle of the roots that the control plane may show from now on.
    pub roots: String,
    pub task_keys: Vec<TaskKey>,
    /// Of the keys and roots above.
    pub trust_version: TrustVersion,
    pub epoch: i64,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenewRequest {
    pub protocol: u16,
    pub csr: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenewAnswer {
    pub protocol: u16,
    pub certificate: String,
    pub roots: String,
    pub task_keys: Vec<TaskKey>,
    /// Of the keys and roots above.
    pub trust_version: TrustVersion,
    /// By former keys, of all three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endorsements: Vec<Endorsement>,
    pub epoch: i64,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PollRequest {
    pub protocol: u16,
    /// Counts the agent's starts; kept across them.
    pub generation: u64,
    /// Counts the polls of this generation.
    pub sequence: u64,
    pub agent_version: String,
    pub inventory_hash: String,
    /// Sent on a generation's first poll, when it changed, or when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health: Vec<HealthEvent>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<Report>,
    #[serde(default)]
    pub refused: RefusedCounts,
    /// How long the answer may be held when there is nothing to say.
    pub wait_ms: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PollAnswer {
    pub protocol: u16,
    /// The control plane's time: expiry is judged by it alone.
    pub now: Timestamp,
    pub epoch: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<SignedTask>,
    /// Tasks whose reports are safe and need not be sent again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<TaskId>,
    #[serde(default)]
    pub want_inventory: bool,
    /// The whole new set, when it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_keys: Option<Vec<TaskKey>>,
    /// The whole new bundle, when it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
    /// Of the keys and roots above.
    #[serde(default)]
    pub trust_version: TrustVersion,
    /// Of all three, by keys that the agent may know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endorsements: Vec<Endorsement>,
    /// Whether the certificate should be renewed now.
    #[serde(default)]
    pub renew: bool,
    /// How long to wait before the next poll; nought is at once.
    #[serde(default)]
    pub retry_after_ms: u32,
    /// Every live gateway of the node's region, bounded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<GatewayRef>,
}

/// An error as the node API tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Problem {
    pub code: String,
    pub title: String,
    pub detail: String,
    pub advice: String,
}

/// The codes on which an agent does more than try again.
pub mod codes {
    pub const CERTIFICATE_REVOKED: &str = "certificate_revoked";
    pub const CERTIFICATE_EXPIRED: &str = "certificate_expired";
    pub const UNKNOWN_NODE: &str = "unknown_node";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_answer_is_enough() {
        let text = r#"{"protocol":1,"now":"2026-01-02T03:04:05Z","epoch":1,"later_field":true}"#;
        let answer: PollAnswer = serde_json::from_str(text).unwrap();
        assert!(answer.tasks.is_empty() && !answer.renew && answer.task_keys.is_none());
    }

    #[test]
    fn a_problem_is_read_whatever_it_lacks() {
        let problem: Problem = serde_json::from_str(r#"{"code":"unknown_node","status":404}"#).unwrap();
        assert_eq!(problem.code, codes::UNKNOWN_NODE);
    }
}
