//! Renewal: a node that shows a certificate of its own gets a new one.

use contract::id::NodeId;
use kernel::{Access, Actor, Scope, Tx};
use protocol::{PROTOCOL, RenewAnswer, RenewRequest};

use super::{NodeApi, certificate_checks::is_peer_revoked, enroll, refusal::Refusal};
use crate::{
    ca::{self, Peer},
    nodes,
};

pub async fn renew(api: &NodeApi, node: NodeId, peer: &Peer, request: RenewRequest) -> Result<RenewAnswer, Refusal> {
    let area = &api.area;
    let key = ca::read_request(&request.csr, Some(&ca::node_uri(node)))?;
    let issued = enroll::issue(api, &key, node)?;
    let actor = Actor::principal("node", node);
    let cause = format!("renew:{}", uuid::Uuid::now_v7());
    let mut tx = Tx::begin(&area.db, Scope::System, Access::Write, actor, cause.into()).await?;
    // What was remembered may be a moment old; what is issued lasts a day.
    if is_peer_revoked(&mut tx, peer).await?.unwrap_or(true) {
        return Err(Refusal::Revoked);
    }
    nodes::renew_certificate(&mut tx, node, &issued).await?;
    tx.commit().await?;
    metrics::counter!("gpuaas_node_certificates_renewed_total").increment(1);
    let told = area.signer.told(&area.ca.authority());
    Ok(RenewAnswer {
        protocol: PROTOCOL,
        certificate: issued.chain,
        roots: told.roots,
        task_keys: told.task_keys,
        trust_version: told.version,
        endorsements: told.endorsements,
        epoch: i64::from(area.db.epoch()),
        now: area.db.clock.estimate(),
    })
}
