//! Streams into allocations through a scripted gateway: real TLS, real shells. On
//! simulated nodes they run in sandboxes, on this host as users of their own.
#![allow(clippy::unwrap_used)]

mod burdens;
mod gateways;
mod kinds;
mod linux;
mod refusals;
mod sandboxes;
mod terminals;
mod world;
