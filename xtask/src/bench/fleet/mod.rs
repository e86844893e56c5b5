//! The fleet under load: from a request to a proven GPU, placement in a large
//! fleet, and many agents held by one process.

pub mod agents;
pub mod allocations;
pub mod large;
pub mod planner;

pub use allocations::{Asking, burst};
