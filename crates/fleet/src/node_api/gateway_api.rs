//! What gateways call on the listener of the hosts. Another area answers it.

use bytes::Bytes;
use contract::id::GatewayId;
use kernel::bus::BoxFuture;

use super::{Answer, Refusal};
use crate::ca::Peer;

pub trait GatewayApi: Send + Sync {
    /// Makes a process that shows a token a gateway.
    fn join(&self, body: Bytes) -> BoxFuture<'_, Result<Answer, Refusal>>;
    /// Answers a gateway that is known by its certificate.
    fn answer<'a>(
        &'a self,
        path: &'a str,
        gateway: GatewayId,
        peer: &'a Peer,
        body: Bytes,
    ) -> BoxFuture<'a, Result<Answer, Refusal>>;
}
