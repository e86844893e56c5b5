//! Enrollment: a token is spent, a host becomes a node and gets its first
//! certificate, all in one transaction or not at all.

use std::net::IpAddr;

use contract::id::NodeId;
use kernel::{Access, Actor, Scope, Tx, audit, lifecycle::Lifecycle, secrets::hash_token, work};
use listen::network;
use protocol::{EnrollAnswer, EnrollRequest, PROTOCOL};
use serde_json::json;

use super::{NodeApi, refusal::Refusal};
use crate::{
    ca::{self, CsrError, Issued, Validity},
    enrollment_tokens::{self, TokenRedemption},
    machines,
    nodes::{self, EnrollError},
    pools,
};
use platform::{http::Refused, policies::settings};

pub async fn enroll(api: &NodeApi, from: IpAddr, request: EnrollRequest) -> Result<EnrollAnswer, Refusal> {
    match try_enroll(api, &request).await {
        Ok(answer) => Ok(answer),
        Err(refusal) => {
            note_refusal(api, from, &refusal).await;
            Err(refusal)
        }
    }
}

async fn try_enroll(api: &NodeApi, request: &EnrollRequest) -> Result<EnrollAnswer, Refusal> {
    let area = &api.area;
    // Before the token: a host whose request is refused may try again with it.
    let key = ca::read_request(&request.csr, None)?;
    let name = request.hostname.to_ascii_lowercase().parse();
    let name = name.map_err(|_| Refusal::Malformed("the host's name is not a valid host name".into()))?;
    let cause = format!("enroll:{}", uuid::Uuid::now_v7());
    let mut tx = Tx::begin(&area.db, Scope::System, Access::Write, Actor::system("enrollment"), cause.into()).await?;
    let (token, pool, made) =
        match enrollment_tokens::spend(&mut tx, &hash_token(&request.token), &ca::key_hash(&key)).await? {
            TokenRedemption::On { id, pool, made } => (id, pool, made),
            TokenRedemption::Unknown => return Err(Refusal::WrongToken),
            TokenRedemption::Before => return Err(Refusal::ReplayedToken),
            TokenRedemption::Revoked => return Err(Refusal::RevokedToken),
            TokenRedemption::Expired => return Err(Refusal::ExpiredToken),
        };
    let pool = pools::get(&mut tx, pool).await?.ok_or(Refusal::WrongToken)?;
    let enrolled = nodes::enroll(&mut tx, &pool, &name, &request.inventory).await?;
    // A token makes one node, whatever else its host says to be.
    if made.is_some_and(|it| it != enrolled.node) {
        return Err(Refusal::ReplayedToken);
    }
    enrollment_tokens::spent_on(&mut tx, token, enrolled.node).await?;
    if let Some(machine) = machines::enrolled_with(&mut tx, token).await? {
        work::wake(&mut tx, machines::lifecycle::MachineLifecycle::NAME, machine);
    }
    let issued = issue(api, &key, enrolled.node)?;
    nodes::renew_certificate(&mut tx, enrolled.node, &issued).await?;
    let entry = audit::NewEntry {
        action: "node.enroll".into(),
        organization: None,
        resource: Some(enrolled.node.to_string()),
        outcome: "done",
        detail: json!({ "token": token.to_string(), "serial": issued.serial, "is_back": enrolled.is_back }),
    };
    audit::record(&mut tx, entry);
    tx.commit().await?;
    let told = area.signer.told(&area.ca.authority());
    Ok(EnrollAnswer {
        protocol: PROTOCOL,
        node_id: enrolled.node.to_string(),
        certificate: issued.chain,
        roots: told.roots,
        task_keys: told.task_keys,
        trust_version: told.version,
        epoch: i64::from(area.db.epoch()),
        now: area.db.clock.estimate(),
    })
}

/// A certificate for a node, by policy.
pub fn issue(api: &NodeApi, key: &rcgen::PublicKey, node: NodeId) -> Result<Issued, Refusal> {
    let life = settings::hours(api.area.policies.number(settings::NODE_CERTIFICATE_HOURS));
    let ca = &api.area.ca;
    let issued = ca.authority().issue_to_node(key, &ca::node_uri(node), Validity::starting(ca.now(), life));
    issued.map_err(|error| {
        tracing::error!(%error, "a certificate could not be issued");
        Refusal::Internal
    })
}

/// Refused attempts are kept in the audit log, in a transaction of their own,
/// unless there were many.
async fn note_refusal(api: &NodeApi, from: IpAddr, refusal: &Refusal) {
    let (area, who) = (&api.area, Refused::Network(Some(network(from))));
    if !area.refusals.is_recorded(&area.policies, area.db.clock.estimate(), who) {
        return;
    }
    let noted = async {
        let mut tx = Tx::system(&api.area.db, "enrollment", Access::Write).await?;
        let entry = audit::NewEntry {
            action: "node.enroll".into(),
            organization: None,
            resource: None,
            outcome: "refused",
            detail: json!({ "code": refusal.code() }),
        };
        audit::record(&mut tx, entry);
        tx.commit().await
    };
    if let Err(error) = noted.await {
        tracing::warn!(%error, code = refusal.code(), "a refused enrollment could not be put into the audit log");
    }
}

impl From<CsrError> for Refusal {
    fn from(error: CsrError) -> Self {
        match error {
            CsrError::ForeignName => Refusal::ForeignName,
            CsrError::Unreadable | CsrError::Key => Refusal::BadCsr(error.to_string()),
        }
    }
}

impl From<EnrollError> for Refusal {
    fn from(error: EnrollError) -> Self {
        match error {
            EnrollError::NameTaken { name } => Refusal::NameTaken(name.to_string()),
            EnrollError::WrongDriver { .. } => Refusal::WrongPool(error.to_string()),
            EnrollError::Lie(lie) => Refusal::Lying(lie),
            EnrollError::Database(error) => error.into(),
        }
    }
}
