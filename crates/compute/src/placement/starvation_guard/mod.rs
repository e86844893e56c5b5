//! The starvation guard: nodes that are kept free for a request that waited too
//! long. Only it is placed there; a choice of another request is refused where its
//! slots are held.

mod store;

pub use store::{end, keep, kept, leases, lock};

use std::collections::HashMap;

use planner::AllocationKey;

/// When the leases of those that hold something end, in seconds.
pub type Leases = HashMap<AllocationKey, i64>;
