//! The front of the control plane: every request passes the same gates in the
//! same order, for HTTP and WebSocket alike.

mod admit;
pub mod channel;
mod correlation;
mod failure;
mod gates;
pub mod limiter;
mod ops;
mod parse;
mod router;
pub mod server;
mod turns;

pub use admit::{Arrival, PeerAddress};
pub use correlation::TraceParent;
pub use failure::{Failure, Trouble, render, unavailable};
pub use gates::{Call, Handle, Request};
pub use ops::router as ops_router;
pub use router::router;
pub use turns::Turns;
