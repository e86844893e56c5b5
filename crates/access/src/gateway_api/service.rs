//! Which address of the gateways' leads where, on the listener of the hosts.

use std::sync::Arc;

use bytes::Bytes;
use contract::id::GatewayId;
use fleet::{
    ca::Peer,
    node_api::{Answer, GatewayApi, Refusal, json, parse},
};
use kernel::bus::BoxFuture;
use protocol::gateway::paths;

use super::{beat, chunk, exchange, join, left, ssh, streams};
use crate::AccessArea;

pub struct GatewayService(pub Arc<AccessArea>);

impl GatewayApi for GatewayService {
    fn join(&self, body: Bytes) -> BoxFuture<'_, Result<Answer, Refusal>> {
        Box::pin(async move { json(&join::join(&self.0, parse(&body)?).await?) })
    }

    fn answer<'a>(
        &'a self,
        path: &'a str,
        gateway: GatewayId,
        peer: &'a Peer,
        body: Bytes,
    ) -> BoxFuture<'a, Result<Answer, Refusal>> {
        let area = &self.0;
        Box::pin(async move {
            match path {
                paths::BEAT => json(&beat::beat(area, gateway, peer, parse(&body)?).await?),
                paths::ADMIT => json(&join::admit(area, parse(&body)?).await?),
                paths::EXCHANGE => json(&exchange::exchange(area, gateway, parse(&body)?).await?),
                paths::WEB_VISIT => json(&streams::web_visit(area, gateway, parse(&body)?).await?),
                paths::SSH => json(&ssh::ssh(area, gateway, parse(&body)?).await?),
                paths::GRANT => json(&streams::grant(area, gateway, parse(&body)?).await?),
                paths::LEFT => json(&left::left(area, gateway, parse(&body)?).await?),
                paths::CHUNK => json(&chunk::chunk(area, gateway, parse(&body)?).await?),
                _ => Err(Refusal::NotFound),
            }
        })
    }
}
