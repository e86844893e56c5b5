//! What people are told: in the console, live, and by mail through a real
//! mail server.

mod crashes;
mod leases;
mod mailing;
mod paying;
mod proofs;
mod stand;
mod telling;
