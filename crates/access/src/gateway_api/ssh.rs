//! Somebody logs in with SSH: whose key is it, and may they come in? Whatever is
//! wrong, they hear the same; the gateway counts why, once, if none of their keys
//! gets them in.

use contract::{
    access_sessions::{AccessKind, AccessSessionCreated},
    allocations::Allocation,
    id::{AccessSessionId, AllocationId, GatewayId, NodeId},
};
use kernel::{Actor, Tx, audit, clock};
use listen::network;
use protocol::{
    PROTOCOL,
    gateway::{SessionAnswer, SshRequest},
};
use serde_json::json;
use std::time::Duration;

use super::{address, begin, count, exchange::kinds};
use crate::{
    AccessArea,
    access_sessions::{self, EntryContext, New, Session, authorize::EntryRequest},
    ssh_certificates::{self, Bearer},
};
use compute::allocations;
use fleet::node_api::Refusal;
use people::credentials::Credential;
use people::ssh_keys;
use platform::policies::RecordingMode;
use platform::{
    events::emit,
    policies::{PolicyScope, ProjectPolicies, settings},
};

/// How the kinds of certificates end.
const CERTIFICATE: &str = "-cert-v01@openssh.com";
/// Between the names of an allocation and its project.
const DOT: char = '.';
/// Between those, or an id, and a rank. No name has it, while names may have dots.
const PLUS: char = '+';
// bound: what is shown of a rank that is none
const MOST_SHOWN: usize = 20;

/// Somebody who may come in, and where.
struct Entrant {
    actor: String,
    credential: Credential,
    allocation: Allocation,
    node: NodeId,
    context: EntryContext,
}

pub async fn ssh(area: &AccessArea, gateway: GatewayId, request: SshRequest) -> Result<SessionAnswer, Refusal> {
    let whence = address(&request.address);
    let most = area.policies.number(settings::RATE_SSH);
    let counted = whence.parse().map_or_else(|_| whence.clone(), |it| network(it).to_string());
    area.limiter.admit("ssh", &counted, most).await.map_err(|wait| {
        count("ssh_too_often");
        Refusal::TooOften(wait)
    })?;
    if !request.is_proven {
        return Err(Refusal::SshKey("ssh_not_proven"));
    }
    let mut tx = begin(area, gateway, "ssh").await?;
    let entrant = find(area, &mut tx, gateway, &request).await?.map_err(Refusal::SshKey)?;
    // From here on it is the person who acts.
    if let Some((kind, id)) = entrant.actor.split_once(':') {
        tx.actor = Actor::principal(kind, id);
    }
    let session = open(&mut tx, gateway, &whence, &entrant).await?;
    tx.commit().await?;
    Ok(SessionAnswer {
        protocol: PROTOCOL,
        session: session.id.uuid(),
        node: session.node.to_string(),
        grant: None,
        kinds: allowed(entrant.context.recording),
        port: None,
        recording: None,
        until: session.until,
        title: entrant.context.title,
        seen: None,
        is_new: true,
    })
}

/// What cannot be recorded is not offered where everything must be.
fn allowed(recording: RecordingMode) -> Vec<String> {
    let mut kinds = kinds(AccessKind::Ssh);
    if recording == RecordingMode::Required {
        kinds.retain(|it| it == "terminal" || it == "exec");
    }
    kinds
}

async fn find(
    area: &AccessArea,
    tx: &mut Tx,
    gateway: GatewayId,
    request: &SshRequest,
) -> Result<Result<Entrant, &'static str>, Refusal> {
    let is_certificate = request.key.split(' ').next().is_some_and(|it| it.ends_with(CERTIFICATE));
    let (actor, principal) = match is_certificate {
        true => match certified(area, tx, request).await? {
            Some(bearer) => (bearer.actor, Some((bearer.login, bearer.credential))),
            None => return Ok(Err("ssh_bad_certificate")),
        },
        false => {
            let Ok(fingerprint) = ssh_keys::fingerprint(&request.key) else { return Ok(Err("ssh_bad_key")) };
            // A key has one holder: a name never means what somebody else calls so.
            match ssh_keys::holder(tx, &fingerprint).await? {
                Some(holder) => (Actor::principal("user", holder).as_str().to_owned(), None),
                None => return Ok(Err("ssh_unknown_key")),
            }
        }
    };
    let (login, rank) = match request.login.rsplit_once(PLUS) {
        Some((login, rank)) => (login, Some(rank)),
        None => (request.login.as_str(), None),
    };
    let Some(allocation) = allocation(tx, login, &actor).await? else { return Ok(Err("ssh_no_such_allocation")) };
    let (principal, credential) = principal.unzip();
    let credential = credential.unwrap_or_default();
    match principal {
        Some(principal) if principal != allocation.id.to_string() => return Ok(Err("ssh_other_allocation")),
        Some(_) => (),
        // That the holder of a public key is there is nothing but a gateway's word, while
        // a certificate shows that somebody asked the control plane itself, for this
        // allocation, a moment ago.
        None => {
            let place =
                PolicyScope { organization: allocation.organization_id.uuid(), project: allocation.project_id.uuid() };
            if (ProjectPolicies { tx, place }).flag(settings::ACCESS_SSH_CERTIFICATES_ONLY).await? {
                // Counted here as well: whoever broke into a gateway counts nothing there.
                count("ssh_unproven_key");
                return Ok(Err("ssh_without_certificate"));
            }
        }
    }
    let Some(first) = allocation.parts.first() else { return Ok(Err("allocation_not_active")) };
    let part = match rank {
        None => Some(first),
        Some(rank) => rank.parse().ok().and_then(|it: usize| allocation.parts.get(it)),
    };
    let node = part.unwrap_or(first).node_id;
    let wish = EntryRequest {
        organization: allocation.organization_id,
        project: allocation.project_id,
        allocation: allocation.id,
        node,
        gateway,
        kind: AccessKind::Ssh,
        actor: &actor,
        is_break_glass: false,
        credential,
    };
    match access_sessions::authorize(tx, wish, area.recordings.is_some()).await? {
        // Only who may come in learns how many hosts there are.
        Ok(_) if part.is_none() => {
            count("no_such_rank");
            Err(Refusal::NoRank(no_rank(rank.unwrap_or_default(), allocation.parts.len())))
        }
        Ok(context) => Ok(Ok(Entrant { actor, credential, allocation, node, context })),
        Err(denied) => Ok(Err(denied.reason())),
    }
}

/// Counted from nought, as programs that run on several hosts count them.
fn no_rank(rank: &str, hosts: usize) -> String {
    let rank: String = rank.chars().take(MOST_SHOWN).collect();
    let there_are = match hosts {
        1 => "its only rank is 0".to_owned(),
        hosts => format!("its ranks are 0 to {}", hosts.saturating_sub(1)),
    };
    format!("the allocation has no rank {rank}: {there_are}")
}

async fn certified(area: &AccessArea, tx: &mut Tx, request: &SshRequest) -> Result<Option<Bearer>, Refusal> {
    let now = clock::now(tx).await?;
    ssh_certificates::read(tx, &area.keyring, &request.key, now).await.map_err(|error| {
        tracing::error!(%error, "the key that signs SSH certificates cannot be used");
        Refusal::Internal
    })
}

/// What the login names: an id, or the names of an allocation and its project.
async fn allocation(tx: &mut Tx, login: &str, actor: &str) -> sqlx::Result<Option<Allocation>> {
    if let Ok(id) = login.parse::<AllocationId>() {
        return allocations::find(tx, id).await;
    }
    let Some((name, project)) = login.rsplit_once(DOT) else { return Ok(None) };
    match allocations::named(tx, actor, name, project).await?.as_slice() {
        [only] => allocations::find(tx, *only).await,
        _ => Ok(None),
    }
}

async fn open(tx: &mut Tx, gateway: GatewayId, whence: &str, entrant: &Entrant) -> Result<Session, Refusal> {
    let Entrant { actor, credential, allocation, node, context } = entrant;
    if access_sessions::count_live(tx, allocation.id).await? >= context.most_sessions {
        count("too_many_sessions");
        return Err(Refusal::TooManySessions(context.most_sessions));
    }
    let new = New {
        id: AccessSessionId::generate(),
        organization: allocation.organization_id,
        project: allocation.project_id,
        allocation: allocation.id,
        node: *node,
        kind: AccessKind::Ssh,
        port: None,
        actor,
        address: whence,
        gateway,
        is_shared: false,
        watches: None,
        break_glass: None,
        credential: *credential,
        cookie_hash: None,
        // Nobody comes back to what SSH has lost.
        grace: Duration::ZERO,
        until: context.limits.until,
    };
    let session = access_sessions::insert(tx, new).await?.ok_or(Refusal::Internal)?;
    let (id, project_id, allocation_id) = (session.id, session.project, session.allocation);
    let event = AccessSessionCreated { id, project_id, allocation_id, kind: AccessKind::Ssh.into() };
    emit(tx, Some(session.organization), id, &event);
    let entry = audit::NewEntry {
        action: "access_session.enter".into(),
        organization: Some(session.organization.uuid()),
        resource: Some(id.to_string()),
        outcome: "done",
        detail: json!({ "allocation": allocation.id.to_string(), "kind": "ssh" }),
    };
    audit::record(tx, entry);
    metrics::counter!("gpuaas_access_sessions_total", "kind" => "ssh").increment(1);
    Ok(session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_rank_is_answered_with_the_ranks_there_are() {
        assert_eq!(no_rank("7", 2), "the allocation has no rank 7: its ranks are 0 to 1");
        assert_eq!(no_rank("x", 1), "the allocation has no rank x: its only rank is 0");
        assert!(no_rank(&"9".repeat(500), 3).len() < 100);
    }
}
