//! Access sessions: who is inside an allocation, how and since when. A gateway
//! carries each; the shell itself belongs to the host's agent. Whether somebody
//! may come in is authorized here, again at every step.

pub mod authorize;
mod hooks;
pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use authorize::{Denied, EntryContext, authorize, stands};
pub use hooks::SessionHooks;
pub use reconcile::AccessSessionReconciler;
pub use store::{
    Attach, CarriedSession, Guest, New, Session, attach, by_cookie, count_live, find, forget_addresses, get, hear,
    insert, left, lock, versioned,
};

use std::time::Duration;

use contract::{
    access_sessions::{AccessKind, AccessSessionState},
    id::{GatewayId, UserId},
};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, TransitionError, transition},
    work,
};

use crate::recordings;
use lifecycle::{AccessSessionLifecycle, Event};

use crate::AccessArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<AccessArea>) {
    registry.lifecycle::<lifecycle::AccessSessionLifecycle>();
    registry.reconciler(|_| AccessSessionReconciler);
    registry.retention(&["access_sessions"], Retention::Forever("the record of who was connected"));
}

/// Moves a session to its end, with why; what was recorded of it is sealed.
pub async fn end(tx: &mut Tx, session: &Session, reason: &str) -> Result<(), TransitionError> {
    store::ended(tx, session.id, reason).await?;
    transition::<AccessSessionLifecycle>(tx, versioned(session), Event::Ended, reason).await?;
    for recording in recordings::of_session(tx, session.id).await? {
        work::wake(tx, recordings::lifecycle::RecordingLifecycle::NAME, recording);
    }
    metrics::counter!("gpuaas_access_sessions_ended_total", "reason" => word(reason)).increment(1);
    Ok(())
}

/// Ends every session that a person opened or took over, whatever they showed.
pub async fn end_all_of(tx: &mut Tx, user: UserId, reason: &str) -> Result<(), TransitionError> {
    for session in store::live_of(tx, user).await? {
        end(tx, &session, reason).await?;
    }
    Ok(())
}

/// A session whose gateway no longer carries it: a shell waits for its person,
/// a web service's cookie works at other gateways, and what else there is is over.
pub async fn lose(tx: &mut Tx, session: &Session, reason: &str) -> Result<(), TransitionError> {
    match session.kind {
        AccessKind::Terminal if session.watches.is_none() => (),
        AccessKind::Http => return Ok(()),
        AccessKind::Terminal | AccessKind::Tcp | AccessKind::Ssh => return end(tx, session, reason).await,
    }
    if session.state != AccessSessionState::Detached {
        store::explained(tx, session.id, reason).await?;
        transition::<AccessSessionLifecycle>(tx, versioned(session), Event::Detached, reason).await?;
    }
    Ok(())
}

/// Sessions of earlier starts of a gateway have lost it.
pub async fn lose_earlier(tx: &mut Tx, gateway: GatewayId, generation: i64) -> Result<(), TransitionError> {
    for session in store::of_earlier_starts(tx, gateway, generation).await? {
        lose(tx, &session, "gateway_restarted").await?;
    }
    Ok(())
}

/// Sessions that no gateway spoke of for so long have lost theirs, and web services that
/// nobody may enter any more are over; how many.
pub async fn lose_unheard(tx: &mut Tx, silent: Duration) -> Result<usize, TransitionError> {
    // bound: the others are found in the next rounds
    const AT_ONCE: i64 = 500;
    let lost = store::unheard(tx, silent, AT_ONCE).await?;
    for session in &lost {
        match session.kind {
            AccessKind::Http => end(tx, session, "time_limit").await?,
            AccessKind::Terminal | AccessKind::Tcp | AccessKind::Ssh => lose(tx, session, "gateway_lost").await?,
        }
    }
    Ok(lost.len())
}

/// A gateway carries it: it is open, whatever it was.
pub async fn carried(tx: &mut Tx, session: &Session) -> Result<(), TransitionError> {
    let event = match session.state {
        AccessSessionState::Opening => Event::Opened,
        AccessSessionState::Detached => Event::Resumed,
        AccessSessionState::Open | AccessSessionState::Ended => return Ok(()),
    };
    store::forget_reason(tx, session.id).await?;
    transition::<AccessSessionLifecycle>(tx, versioned(session), event, "").await?;
    Ok(())
}

/// Reasons that are counted under their own name.
fn word(reason: &str) -> &'static str {
    const KNOWN: &[&str] = &[
        "exit",
        "client_left",
        "taken_over",
        "time_limit",
        "idle",
        "allocation_ended",
        "ended",
        "bad_frame",
        "going_away",
        "host_gone",
        "unrecorded",
        "gateway_restarted",
        "gateway_lost",
        "grace_over",
        "credentials_ended",
    ];
    KNOWN.iter().copied().find(|it| *it == reason).unwrap_or("other")
}
