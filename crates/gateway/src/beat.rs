//! The beat: every few seconds the control plane hears that this gateway lives and
//! what goes through it, and answers who must end and who is cut off.

use crate::identity::Identity;
use crate::{Gateway, GatewayError};
use protocol::PROTOCOL;
use protocol::gateway::{BeatAnswer, BeatRequest, SessionBeat, limits::SESSIONS_PER_BEAT};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use trust::{Pair, PendingRequest};

const SOONEST: Duration = Duration::from_millis(200); // bound: whatever the control plane asks for
const LATEST: Duration = Duration::from_secs(30); // bound: whatever the control plane asks for
const FIRST_PAUSE: Duration = Duration::from_millis(500); // bound: after the first failure
const LONGEST_PAUSE: Duration = Duration::from_secs(5); // bound: orders to end must not wait long

/// Beats until the last session has ended.
pub async fn run(gateway: Arc<Gateway>) {
    let up = metrics::gauge!("gpuaas_gateway_control_up");
    let mut pause = FIRST_PAUSE;
    let mut rest: Vec<SessionBeat> = Vec::new();
    while !gateway.finished.is_cancelled() {
        gateway.visits.sweep();
        if rest.is_empty() {
            rest = gateway.sessions.beats();
        }
        let later = rest.split_off(rest.len().min(SESSIONS_PER_BEAT));
        let wait = match beat(&gateway, std::mem::replace(&mut rest, later)).await {
            Ok(answer) => {
                up.set(1.0);
                gateway.is_heard.store(true, Relaxed);
                pause = FIRST_PAUSE;
                let next = Duration::from_millis(answer.next_ms.into()).clamp(SOONEST, LATEST);
                if rest.is_empty() { next } else { Duration::ZERO }
            }
            Err(error) => {
                up.set(0.0);
                gateway.is_heard.store(false, Relaxed);
                tracing::warn!(%error, "the heartbeat to the control plane failed; sessions continue");
                rest.clear();
                pause = (pause * 2).min(LONGEST_PAUSE);
                pause
            }
        };
        tokio::select! {
            () = gateway.finished.cancelled() => (),
            () = tokio::time::sleep(wait) => (),
        }
    }
}

async fn beat(gateway: &Gateway, sessions: Vec<SessionBeat>) -> Result<BeatAnswer, GatewayError> {
    let wanted = if is_aging(gateway)? { Some(PendingRequest::new()?) } else { None };
    let request = BeatRequest {
        protocol: PROTOCOL,
        version: gateway.settings.version.clone(),
        generation: gateway.generation,
        csr: wanted.as_ref().map(|it| it.csr.clone()),
        ssh_host_key: gateway.ssh_host_key.wanted(),
        nodes: gateway.hub.count().try_into().unwrap_or(u32::MAX),
        sessions,
    };
    let answer = gateway.control.beat(&request).await?;
    gateway.clock.learn(answer.now);
    for order in &answer.end {
        tracing::info!(session = %order.session, closing = ?order.closing, "a session must end");
        gateway.sessions.end(order.session, order.closing);
    }
    for node in &answer.cut {
        gateway.hub.cut(node);
    }
    if let Some(renewed) = renewed(gateway.identity(), &answer, wanted.map(|it| it.key)) {
        match gateway.become_renewed(renewed) {
            Ok(()) => tracing::info!("the certificate or the root certificates were renewed"),
            Err(error) => {
                tracing::error!(%error, "the certificate from the control plane cannot be used; the old one stays in use")
            }
        }
    }
    if let Some(certificate) = &answer.ssh_host_certificate
        && let Err(error) = gateway.ssh_host_key.certified(&gateway.folder, certificate)
    {
        tracing::error!(%error, "the certificate of the SSH host key cannot be used; the old one stays in use");
    }
    Ok(answer)
}

/// Whether two thirds of the certificate's life are over.
fn is_aging(gateway: &Gateway) -> Result<bool, GatewayError> {
    let renew_at = gateway.identity().pair.renew_at()?;
    Ok(gateway.clock.now().is_some_and(|now| now >= renew_at))
}

/// The identity after this answer, if it changed.
fn renewed(identity: Identity, answer: &BeatAnswer, key: Option<String>) -> Option<Identity> {
    let mut next = identity.clone();
    if let (Some(certificate), Some(key)) = (&answer.certificate, key) {
        next.pair = Pair { key, certificate: certificate.clone() };
    }
    if let Some(roots) = &answer.roots {
        next.roots = roots.clone();
    }
    (next.pair.certificate != identity.pair.certificate || next.roots != identity.roots).then_some(next)
}
