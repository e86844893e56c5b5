//! What the control plane needs of the outside world, as traits; `adapters`
//! has what really does it.

pub mod limits;
pub mod metal;
pub mod payments;
pub mod post;
pub mod recording_store;
