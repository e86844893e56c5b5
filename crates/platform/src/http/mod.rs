//! The front of the control plane: every request passes the same gates in the
//! same order, for HTTP and WebSocket alike.

mod admit;
pub mod channel;
mod correlation;
mod failure;
mod gates;
mod json;
pub mod limiter;
mod opening;
mod ops;
mod parse;
mod refusals;
mod router;
mod second_factor;
pub mod server;
mod streaming;
mod turns;

pub use admit::{Arrival, PeerAddress};
pub use failure::{AWAY_RETRY, Failure, ProblemBuilder, render, unavailable};
pub use gates::{Call, Handle, Request};
pub use ops::{Readiness, router as ops_router, router_beside as ops_router_beside};
pub use parse::{Unread, collect};
pub use refusals::{Refusals, Refused};
pub use router::{mount, open, refuse};
pub use second_factor::is_required as is_mfa_required;
pub use streaming::streamed;
pub use turns::Turns;
