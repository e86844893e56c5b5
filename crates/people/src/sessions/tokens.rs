//! The token set of a session: an access token that expires soon, and a
//! refresh token that works once.

use contract::{
    Code, ShownSecret, Timestamp,
    id::{SessionId, UserId},
    sessions::TokenSet,
};
use kernel::{
    Tx, clock,
    secrets::{hash_token, random_token},
};

use super::store;
use crate::{
    PeopleArea,
    mfa::{self, Purpose},
};
use platform::{
    http::{Failure, ProblemBuilder},
    policies::settings,
};

/// Opens a session for somebody who proved who they are with one factor. An
/// account with a second one gets a challenge instead, and no session before it
/// is answered. Runs in the identity scope.
pub async fn open(area: &PeopleArea, tx: &mut Tx, user: UserId) -> Result<TokenSet, Failure> {
    if mfa::has_factor(tx, user).await? {
        let challenge = mfa::ask(area, tx, Purpose::SignIn, user, None).await?;
        let detail = "the account has a second factor: answer the challenge with it to sign in";
        return Err(Failure::Refused(ProblemBuilder::new(Code::MfaRequired, detail).asking(challenge)));
    }
    open_verified(area, tx, user).await
}

/// Opens a session for somebody of whom no more is asked. Runs in the identity scope.
pub async fn open_verified(area: &PeopleArea, tx: &mut Tx, user: UserId) -> Result<TokenSet, Failure> {
    let now = clock::now(tx).await?;
    let expires_at = now + settings::hours(area.policies.number(settings::SESSION_HOURS));
    let session = SessionId::generate();
    store::insert(tx, session, user, expires_at).await?;
    issue(area, tx, TokenSession { user, session, now, expires_at }).await
}

/// Binds a sealed successor to the token that it follows.
pub fn context(hash: &[u8]) -> String {
    hash.iter().fold(String::from("refresh_tokens/"), |text, byte| format!("{text}{byte:02x}"))
}

/// A session that tokens are issued for.
pub struct TokenSession {
    pub user: UserId,
    pub session: SessionId,
    pub now: Timestamp,
    pub expires_at: Timestamp,
}

pub async fn issue(area: &PeopleArea, tx: &mut Tx, opened: TokenSession) -> Result<TokenSet, Failure> {
    let refresh = random_token("gpr");
    let refresh = refresh.expose_text().expect("tokens are text").to_owned();
    store::insert_refresh(tx, opened.session, opened.user, &hash_token(&refresh), opened.expires_at).await?;
    shown(area, &opened, refresh)
}

/// A new access token with a refresh token that is known already.
pub fn shown(area: &PeopleArea, opened: &TokenSession, refresh: String) -> Result<TokenSet, Failure> {
    let &TokenSession { user, session, now, expires_at } = opened;
    let lifetime = settings::seconds(area.policies.number(settings::ACCESS_TOKEN_SECONDS));
    let (access, access_expires_at) =
        area.signing.issue(user, session, now, lifetime).map_err(|error| Failure::Internal(Box::new(error)))?;
    Ok(TokenSet {
        access_token: ShownSecret::new(access),
        access_expires_at,
        refresh_token: ShownSecret::new(refresh),
        refresh_expires_at: expires_at,
        session_id: session,
        user_id: user,
    })
}
