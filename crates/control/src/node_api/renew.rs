//! Renewal: a node that shows a certificate of its own gets a new one.

use kernel::{Access, Actor, Scope, Tx};
use protocol::{PROTOCOL, RenewAnswer, RenewRequest};

use super::{NodeApi, enrol, refusal::Refusal};
use crate::{
    ca::{self, Peer},
    nodes,
};

pub async fn renew(api: &NodeApi, peer: &Peer, request: RenewRequest) -> Result<RenewAnswer, Refusal> {
    let app = &api.app;
    let key = ca::read_request(&request.csr, Some(&ca::node_uri(peer.node)))?;
    let issued = enrol::issue(api, &key, peer.node)?;
    let actor = Actor::principal("node", peer.node);
    let cause = format!("renew:{}", uuid::Uuid::now_v7());
    let mut tx = Tx::begin(&app.db, Scope::System, Access::Write, actor, cause.into()).await?;
    // What was remembered may be a moment old; what is issued lasts a day.
    let standing = nodes::standing(&mut tx, &peer.serial).await?;
    if standing.is_none_or(|it| it.is_revoked) {
        return Err(Refusal::Revoked);
    }
    nodes::renew_certificate(&mut tx, peer.node, &issued).await?;
    tx.commit().await?;
    metrics::counter!("gpuaas_node_certificates_renewed_total").increment(1);
    let authority = app.ca.authority();
    Ok(RenewAnswer {
        protocol: PROTOCOL,
        certificate: issued.chain,
        roots: authority.roots_pem().to_owned(),
        task_keys: app.signer.keys(),
        epoch: i64::from(app.db.epoch()),
        now: app.db.clock.estimate(),
    })
}
