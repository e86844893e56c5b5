//! The mechanisms that every resource shares and that know no GPU:
//! transactions that know who acts, lifecycles, the work queue, the outbox
//! and its consumers, the sealed audit log, secrets, money and the one clock.

pub mod audit;
pub mod bell;
pub mod bus;
pub mod clock;
pub mod dead_letters;
pub mod gauges;
pub mod hooks;
pub mod housekeeping;
pub mod idempotency;
pub mod installation;
pub mod lifecycle;
pub mod merkle;
pub mod money;
pub mod outbox;
mod pending;
mod pool;
pub mod sealed;
pub mod seals;
pub mod secrets;
pub mod tx;
pub mod vault;
pub mod work;

pub use pool::one_connection;
pub use tx::{Access, Actor, Db, Scope, Tx};
