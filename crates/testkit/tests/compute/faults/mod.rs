//! `kill -9` of the control plane and of the agent at every step of provision
//! and release: everything ends where it should, and no GPU has two masters.
//!
//! The control plane is killed in the middle of the transaction of a step: a
//! trigger of the test's own holds the step up until the process is dead. A
//! step's end is the beginning of the next one, so that both sides of every
//! commit are met. The agent ends itself at a named point, as if killed.

mod agents;
mod gate;
mod load;
mod planes;
mod stand;
mod storm;
