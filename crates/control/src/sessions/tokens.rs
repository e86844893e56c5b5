//! The token set of a session: an access token that expires soon, and a
//! refresh token that works once.

use contract::{
    ShownSecret, Timestamp,
    id::{SessionId, UserId},
    sessions::TokenSet,
};
use kernel::{
    Tx, clock,
    secrets::{hash_token, random_token},
};

use super::store;
use crate::{app::App, http::Failure, policies::keys};

/// Opens a session for somebody who proved who they are. Runs in the identity scope.
pub async fn open(app: &App, tx: &mut Tx, user: UserId) -> Result<TokenSet, Failure> {
    let now = clock::now(tx).await?;
    let expires_at = now + keys::hours(app.policies.number(keys::SESSION_HOURS));
    let session = SessionId::generate();
    store::insert(tx, session, user, expires_at).await?;
    issue(app, tx, Opened { user, session, now, expires_at }).await
}

/// A session that tokens are issued for.
pub struct Opened {
    pub user: UserId,
    pub session: SessionId,
    pub now: Timestamp,
    pub expires_at: Timestamp,
}

pub async fn issue(app: &App, tx: &mut Tx, opened: Opened) -> Result<TokenSet, Failure> {
    let Opened { user, session, now, expires_at } = opened;
    let lifetime = keys::seconds(app.policies.number(keys::ACCESS_TOKEN_SECONDS));
    let (access, access_expires_at) =
        app.signing.issue(user, session, now, lifetime).map_err(|error| Failure::Internal(Box::new(error)))?;
    let refresh = random_token("gpr");
    let refresh = refresh.expose_text().expect("tokens are text").to_owned();
    store::insert_refresh(tx, session, user, &hash_token(&refresh), expires_at).await?;
    Ok(TokenSet {
        access_token: ShownSecret::new(access),
        access_expires_at,
        refresh_token: ShownSecret::new(refresh),
        refresh_expires_at: expires_at,
        session_id: session,
        user_id: user,
    })
}
