//! What agents and gateways have in common towards the control plane: whom they
//! believe to be it, what they show it, and whose time they go by.

mod clock;
mod pair;
mod roots;

pub use clock::ControlClock;
pub use pair::{Pair, PairError, PendingRequest};
pub use roots::{Trust, TrustError, roots};
