//! What tests share: a PostgreSQL of their own, a running control plane, and
//! builders that say only what matters.

pub mod agent;
pub mod bucket;
pub mod bus_conformance;
pub mod cloud;
pub mod database;
pub mod dev;
pub mod door;
pub mod fleet;
pub mod gateway;
pub mod host;
pub mod issuer;
pub mod maas;
pub mod mail_server;
pub mod moves;
pub mod npm;
pub mod plant;
pub mod process;
pub mod python;
pub mod receiver;
pub mod server;
pub mod services;
pub mod shared_name;
pub mod shell;
pub mod stripe;
mod watch;
pub mod wire;
pub mod world;

pub use self::agent::Agent;
pub use bucket::Bucket;
pub use cloud::{Cloud, Tenant};
pub use database::Database;
pub use door::Door;
pub use fleet::Fleet;
pub use issuer::Issuer;
pub use maas::Maas;
pub use mail_server::MailServer;
pub use plant::{Plane, Plant};
pub use receiver::Receiver;
pub use server::Server;
pub use shared_name::SharedName;
pub use stripe::Stripe;
pub use watch::Watch;
pub use wire::Wire;
pub use world::{Member, World};

/// How often a crash, race or fuzz loop runs: in full with `GPUAAS_SOAK`, else
/// about a tenth of it. The size is printed for the table of `cargo xtask soak`.
pub fn rounds(full: usize) -> usize {
    let size = if std::env::var_os("GPUAAS_SOAK").is_some() { full } else { (full / 10).max(1) };
    println!("loop size: {size}");
    size
}

/// For tests that make users: those are ignored by name and run as a step of their
/// own, so that one which did not run never counts as passed.
pub fn needs_root() {
    assert!(nix::unistd::geteuid().is_root(), "this test makes users: run `sudo cargo xtask root-test`");
}
