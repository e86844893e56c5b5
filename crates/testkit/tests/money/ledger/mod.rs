//! Usage and the ledger: what is marked, what is charged, and what the
//! database refuses whoever asks.

mod append_only;
mod budgets;
mod corrections;
mod cost;
mod funds;
mod histories;
mod killed;
mod marks;
mod metered;
pub mod meters;
mod posting;
mod proof;
mod revenue;
pub mod stand;
