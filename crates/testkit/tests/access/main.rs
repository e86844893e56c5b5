//! Ways into allocations: shells, SSH, ports, recordings, and the keys on hosts.

mod host_keys;
mod hosts;
mod sessions;
