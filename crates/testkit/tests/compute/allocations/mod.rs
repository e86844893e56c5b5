//! Allocations on a simulated fleet, from the request to the slot that is free
//! again: what goes well, what fails at which step, who waits, who is refused.

mod failures;
mod fairness;
mod life;
mod limits;
mod refusals;
mod replicas;
mod stopping;
mod waiting;
