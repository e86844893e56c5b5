//! Ways into allocations, from end to end: a control plane, a gateway that joined,
//! simulated hosts with real shells, and people who come in or are kept out.

mod bad_input;
mod bucket;
mod credentials;
mod exchange;
mod recorded;
mod refused;
mod shared;
mod ssh;
mod stand;
mod terminals;
