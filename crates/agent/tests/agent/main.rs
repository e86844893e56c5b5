//! The agent: its program, its workloads, its streams, and what tenants leave behind.

#[path = "../gateway/mod.rs"]
mod gateway;
#[path = "../host/mod.rs"]
mod host;
#[path = "../node/mod.rs"]
mod node;
#[path = "../plane/mod.rs"]
mod plane;

mod isolation;
mod leftovers;
mod linux;
mod program;
mod sim;
mod streams;
mod workloads;
