//! A task: one thing that must be so on one host, until when it may be acted on,
//! and the token by which later tasks fence off earlier ones.

use crate::{PROTOCOL, Verb};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub type TaskId = Uuid;

/// What the control plane wants of a host. Only its signed form travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub protocol: u16,
    pub id: TaskId,
    /// The only node that may act on it.
    pub node: String,
    pub epoch: i64,
    /// What it is about; tasks of one resource are done in order.
    pub resource: String,
    pub version: i64,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    pub verb: Verb,
}

impl Task {
    /// The fencing token: within a resource a smaller one is refused.
    pub fn token(&self) -> (i64, i64) {
        (self.epoch, self.version)
    }

    /// A task of the version that this build speaks.
    pub fn new(node: &str, resource: &str, token: (i64, i64), life: (Timestamp, Timestamp), verb: Verb) -> Self {
        Self {
            protocol: PROTOCOL,
            id: Uuid::now_v7(),
            node: node.to_owned(),
            epoch: token.0,
            resource: resource.to_owned(),
            version: token.1,
            issued_at: life.0,
            expires_at: life.1,
            verb,
        }
    }
}

/// How a host is cleaned when an allocation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    UserRevoke,
    FullReimage,
}

/// A GPU that a task is about, named twice so that a moved card is noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuRef {
    pub uuid: String,
    pub pci: String,
}

/// Who may log in, and with which public keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    pub user: String,
    pub keys: Vec<String>,
}

/// How much of a host a login may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Thousandths of a CPU that it gets when everybody wants some; idle ones are anybody's.
    pub cpu_millis: u32,
    pub memory_bytes: u64,
    /// Processes and threads together.
    pub tasks: u32,
    /// The most that one process can raise its limit of open files to.
    pub open_files: u32,
}

/// What a task says of the limits of a login. The agent takes the login's part of
/// the host's GPUs for what it leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u32>,
}

impl WantedLimits {
    /// With what is left out from the login's share.
    pub fn or(self, share: Limits) -> Limits {
        Limits {
            cpu_millis: self.cpu_millis.unwrap_or(share.cpu_millis),
            memory_bytes: self.memory_bytes.unwrap_or(share.memory_bytes),
            tasks: self.tasks.unwrap_or(share.tasks),
            open_files: self.open_files.unwrap_or(share.open_files),
        }
    }
}
