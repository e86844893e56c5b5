//! The agent on a host: it dials out to the control plane, acts on signed tasks
//! and tells what it sees. `sim` runs any number of pretended hosts in one process.

pub mod backoff;
pub mod config;
pub mod doctor;
pub mod engine;
pub mod enroll;
pub mod host;
pub mod identity;
pub mod journal;
pub mod limits;
pub mod link;
pub mod linux;
pub mod nvidia;
pub mod poll;
pub mod sim;
pub mod state;
pub mod steps;
pub mod streams;
pub mod update;
pub mod workloads;

/// The version that this agent says it is.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The platform that this agent was built for, as binaries are named by.
pub const TARGET: &str = concat!(env!("GPUAAS_ARCH"), "-unknown-linux-gnu");

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panic elsewhere does not make the data unreadable: every change is one step.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
