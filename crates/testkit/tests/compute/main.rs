//! Allocations: from the request to the slot that is free again, whoever is killed.

mod allocations;
mod capacity;
mod ending;
mod faults;
mod linux_host;
mod quotas;
mod race;
