//! A session is over, or has lost its reader.

use contract::{
    access_sessions::{AccessKind, AccessSessionState},
    id::{AccessSessionId, GatewayId},
};
use protocol::{
    PROTOCOL,
    gateway::{Done, LeftRequest},
};

use super::begin;
use crate::{AccessArea, access_sessions};
use fleet::node_api::Refusal;

/// What a stream says that ended because another took the session over.
const TAKEN_OVER: &str = "taken_over";

pub async fn left(area: &AccessArea, gateway: GatewayId, request: LeftRequest) -> Result<Done, Refusal> {
    let mut tx = begin(area, gateway, "left").await?;
    let session = access_sessions::lock(&mut tx, AccessSessionId::from(request.session)).await?;
    // Somebody else carries it by now, or it is over: there is nothing to say.
    let Some(session) = session.filter(|it| it.gateway == gateway && it.state != AccessSessionState::Ended) else {
        return Ok(Done { protocol: PROTOCOL });
    };
    let goes_on = request.reason == TAKEN_OVER && session.kind == AccessKind::Terminal && session.watches.is_none();
    if !goes_on {
        let reason: String = request.reason.chars().filter(|it| !it.is_control()).take(100).collect();
        access_sessions::left(&mut tx, session.id, &request).await?;
        match request.is_over {
            true => access_sessions::end(&mut tx, &session, &reason).await?,
            false => access_sessions::lose(&mut tx, &session, &reason).await?,
        }
    }
    tx.commit().await?;
    Ok(Done { protocol: PROTOCOL })
}
