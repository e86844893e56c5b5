//! Joining: a token is spent, and a process becomes the gateway that it is for.
//! And whether a host that has connected to a gateway may.

use contract::{gateways::GatewayJoined, id::GatewayId};
use kernel::{Access, Tx, audit, secrets::hash_token};
use protocol::{
    PROTOCOL,
    gateway::{AdmitAnswer, AdmitRequest, JoinAnswer, JoinRequest},
};
use serde_json::json;

use super::count;
use crate::AccessArea;
use fleet::{
    ca::{self, Issued, Validity},
    gateways::{self, TokenRedemption},
    node_api::Refusal,
    nodes,
};
use platform::{events::emit, policies::settings};

pub async fn join(area: &AccessArea, request: JoinRequest) -> Result<JoinAnswer, Refusal> {
    // Before the token: who sends a bad request may try again with it.
    let key = ca::read_request(&request.csr, None)?;
    let mut tx = Tx::system(&area.db, "gateways", Access::Write).await?;
    let spent = gateways::spend(&mut tx, &hash_token(&request.token), &ca::key_hash(&key)).await?;
    let refused = |reason| {
        count(reason);
        Err(Refusal::JoinToken)
    };
    let (id, agent_url) = match spent {
        TokenRedemption::On { id, agent_url } => (id, agent_url),
        TokenRedemption::Unknown => return refused("unknown_join_token"),
        TokenRedemption::Before => return refused("used_join_token"),
        TokenRedemption::Removed => return refused("revoked_join_token"),
        TokenRedemption::Expired => return refused("expired_join_token"),
    };
    let issued = issue(area, &key, id, &agent_url)?;
    gateways::add_certificate(&mut tx, id, &issued).await?;
    let entry = audit::NewEntry {
        action: "gateway.join".into(),
        organization: None,
        resource: Some(id.to_string()),
        outcome: "done",
        detail: json!({ "serial": issued.serial, "version": request.version.chars().take(64).collect::<String>() }),
    };
    audit::record(&mut tx, entry);
    emit(&mut tx, None, id, &GatewayJoined { id });
    tx.commit().await?;
    Ok(JoinAnswer {
        protocol: PROTOCOL,
        gateway_id: id.to_string(),
        certificate: issued.chain,
        roots: area.fleet.ca.authority().roots_pem().to_owned(),
        now: area.db.clock.estimate(),
    })
}

/// A certificate for a gateway: towards hosts a server's, here a client's.
pub fn issue(area: &AccessArea, key: &rcgen::PublicKey, id: GatewayId, agent_url: &str) -> Result<Issued, Refusal> {
    let url = url::Url::parse(agent_url).ok();
    let host = url.as_ref().and_then(|it| it.host_str()).map(|it| it.trim_matches(['[', ']']));
    let host = host.ok_or(Refusal::Internal)?;
    let life = settings::hours(area.policies.number(settings::NODE_CERTIFICATE_HOURS));
    let validity = Validity::starting(area.fleet.ca.now(), life);
    let issued = area.fleet.ca.authority().issue_to_gateway(key, &ca::gateway_uri(id), host, validity);
    issued.map_err(|error| {
        tracing::error!(%error, "a gateway's certificate could not be issued");
        Refusal::Internal
    })
}

pub async fn admit(area: &AccessArea, request: AdmitRequest) -> Result<AdmitAnswer, Refusal> {
    let mut tx = Tx::system(&area.db, "gateways", Access::Read).await?;
    let status = nodes::certificate_status(&mut tx, &request.serial).await?;
    tx.commit().await?;
    let is_admitted = status.is_some_and(|it| !it.is_revoked && it.node.to_string() == request.node);
    if !is_admitted {
        count("host_not_admitted");
    }
    Ok(AdmitAnswer { protocol: PROTOCOL, is_admitted })
}
