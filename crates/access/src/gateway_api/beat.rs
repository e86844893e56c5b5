//! The beat of a gateway: what it carries is noted, and it is told what must end,
//! whom to cut off, and who it is from now on.

use std::time::Duration;

use contract::{access_sessions::AccessSessionState, allocations::AllocationState, id::GatewayId};
use kernel::{Tx, clock};
use protocol::{
    PROTOCOL,
    gateway::{BeatAnswer, BeatRequest, EndOrder, limits::SESSIONS_PER_BEAT},
    stream::Closing,
};
use ssh_key::{Algorithm, PublicKey};

use super::{begin, join};
use crate::{
    AccessArea,
    access_sessions::{self, CarriedSession},
    ssh_certificates,
};
use fleet::{
    ca::{self, Peer},
    gateways,
    node_api::Refusal,
    nodes,
};
use platform::policies::settings;

// bound: how late a gateway hears that a session must end
const NEXT_MS: u32 = 2_000;
// bound: longer than any beat that still works may be late
const CUT_SINCE: Duration = Duration::from_secs(120);

pub async fn beat(
    area: &AccessArea,
    gateway: GatewayId,
    peer: &Peer,
    request: BeatRequest,
) -> Result<BeatAnswer, Refusal> {
    if request.sessions.len() > SESSIONS_PER_BEAT {
        return Err(Refusal::Malformed("too many sessions in one beat".into()));
    }
    let mut tx = begin(area, gateway, "beat").await?;
    let beaten = gateways::beaten(&mut tx, gateway, &request).await?.ok_or(Refusal::Revoked)?;
    let generation = i64::try_from(request.generation).unwrap_or(i64::MAX);
    if beaten.is_new_start {
        access_sessions::lose_earlier(&mut tx, gateway, generation).await?;
    }
    let heard = access_sessions::hear(&mut tx, gateway, &request.sessions).await?;
    let mut end = Vec::new();
    for beat in &request.sessions {
        let known = heard.iter().find(|it| it.session.id.uuid() == beat.session);
        match closing_of(known, gateway) {
            Some(closing) => end.push(EndOrder { session: beat.session, closing }),
            None => {
                if let Some(known) = known {
                    access_sessions::carried(&mut tx, &known.session).await?;
                }
            }
        }
    }
    let issued = match &request.csr {
        None => None,
        Some(csr) => {
            // What was remembered may be a moment old; what is issued lasts a day.
            if gateways::is_certificate_revoked(&mut tx, gateway, &peer.serial).await?.unwrap_or(true) {
                return Err(Refusal::Revoked);
            }
            let key = ca::read_request(csr, Some(&ca::gateway_uri(gateway)))?;
            let issued = join::issue(area, &key, gateway, &beaten.agent_url)?;
            gateways::add_certificate(&mut tx, gateway, &issued).await?;
            Some(issued)
        }
    };
    let ssh_host_certificate = match &request.ssh_host_key {
        None => None,
        Some(line) => Some(certify(area, &mut tx, gateway, line, beaten.ssh_address.as_deref()).await?),
    };
    let since = area.db.clock.estimate() - CUT_SINCE;
    let cut = nodes::cut_off_since(&mut tx, since).await?;
    tx.commit().await?;
    Ok(BeatAnswer {
        protocol: PROTOCOL,
        now: area.db.clock.estimate(),
        roots: issued.is_some().then(|| area.fleet.ca.authority().roots_pem().to_owned()),
        certificate: issued.map(|it| it.chain),
        ssh_host_certificate,
        end,
        cut: cut.into_iter().map(|it| it.to_string()).collect(),
        next_ms: NEXT_MS,
    })
}

/// The one name under which `gpuaas ssh` knows every gateway.
const ALIAS: &str = "gpuaas";

/// That this key is the one of this gateway, under the name that people reach it by.
async fn certify(
    area: &AccessArea,
    tx: &mut Tx,
    gateway: GatewayId,
    line: &str,
    address: Option<&str>,
) -> Result<String, Refusal> {
    let key = PublicKey::from_openssh(line).ok().filter(|it| it.algorithm() == Algorithm::Ed25519);
    let key = key.ok_or_else(|| Refusal::Malformed("the SSH host key is not an Ed25519 key".into()))?;
    let host = address.and_then(|it| it.rsplit_once(':')).map(|(host, _)| host.trim_matches(['[', ']']).to_owned());
    let names: Vec<String> = host.into_iter().chain([ALIAS.to_owned()]).collect();
    let now = clock::now(tx).await?;
    let until = now + settings::hours(area.policies.number(settings::NODE_CERTIFICATE_HOURS));
    let holder = (&*gateway.to_string(), &names[..]);
    ssh_certificates::issue_to_host(tx, &area.keyring, &key, holder, (now, until)).await.map_err(|error| {
        tracing::error!(%error, "a gateway's SSH host key could not be certified");
        Refusal::Internal
    })
}

/// Why a session that a gateway carries must end, if it must.
fn closing_of(known: Option<&CarriedSession>, gateway: GatewayId) -> Option<Closing> {
    let Some(known) = known else { return Some(Closing::Ended) };
    if known.session.state == AccessSessionState::Ended {
        return Some(match known.reason.as_deref() {
            Some("allocation_ended") => Closing::AllocationEnded,
            Some("time_limit") => Closing::TimeLimit,
            _ => Closing::Ended,
        });
    }
    if known.session.gateway != gateway && known.session.watches.is_none() && known.session.port.is_none() {
        return Some(Closing::TakenOver);
    }
    if known.allocation != AllocationState::Active {
        return Some(Closing::AllocationEnded);
    }
    if known.is_late {
        return Some(Closing::TimeLimit);
    }
    (!known.is_permitted).then_some(Closing::Ended)
}
