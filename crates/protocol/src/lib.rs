//! What the control plane and the agent on a host say to each other: messages,
//! tasks and their signatures. No I/O, no clock; of our other crates only `shapes`.

pub mod agent_binary;
pub mod canonical;
mod catalog;
mod endorsement;
pub mod gateway;
mod inventory;
mod keys;
pub mod limits;
mod messages;
pub mod paths;
mod report;
mod signed;
pub mod stream;
mod task;
mod telemetry;
mod verb;
mod workload;

pub use catalog::catalog;
pub use endorsement::{Endorsement, TrustSet, TrustVersion};
pub use inventory::{DriverKind, Gpu, Inventory};
pub use keys::{BadKey, SigningKey, TaskKey};
pub use messages::{EnrollAnswer, EnrollRequest, PollAnswer, PollRequest, Problem, RenewAnswer, RenewRequest, codes};
pub use report::{Done, Outcome, Refusal, RefusedCounts, Report, SelfTest, Stage};
pub use shapes::Shape;
pub use signed::SignedTask;
pub use task::{GpuRef, Isolation, Limits, Login, Task, TaskId, WantedLimits};
pub use telemetry::{GpuSample, HealthEvent, HealthKind, HostSample, Sample};
pub use verb::{Field, Verb, VerbEntry};
pub use workload::{
    LoginRef, LoginSpec, Reference, Specification, WorkloadEntry, WorkloadKind, WorkloadRef, WorkloadSpec,
};

use std::ops::RangeInclusive;

/// The version that this build speaks.
pub const PROTOCOL: u16 = 1;

/// The versions that this build understands: its own and the one before.
pub const SUPPORTED: RangeInclusive<u16> = 1..=PROTOCOL;

/// Whether a message of that version can be understood.
pub fn is_supported(version: u16) -> bool {
    SUPPORTED.contains(&version)
}
