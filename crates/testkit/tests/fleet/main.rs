//! Hosts: enrollment, inventory, tasks, health, updates, and the CA that they trust.

mod agent_updates;
mod attacks;
mod ca_root;
mod inventory;
mod key_drill;
mod maas;
mod maintenance_windows;
mod node_api;
mod node_upkeep;
mod samples;
