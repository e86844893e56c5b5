//! Signing in with a password, refreshing, listing and signing out.

use contract::{
    Code, Nothing, Page,
    id::{SessionId, UserId},
    sessions::{
        CreateSession, GetJwks, Jwks, ListSessions, RefreshSession, RevokeSession, Session, SessionsRevoked,
        SignOutEverywhere, TokenSet,
    },
};
use kernel::{
    Scope,
    secrets::{Sealed, SecretsError, hash_token},
};

use super::{
    places::Attempt,
    store,
    tokens::{self, TokenSession},
};
use crate::{PeopleArea, users};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
    identity::Principal,
    policies::settings,
};

impl Handle<CreateSession> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateSession>) -> Result<TokenSet, Failure> {
        let email = request.body.email.folded();
        // Failures are counted per account too, so that many addresses cannot share the guessing.
        let attempt = Attempt::new(&email, call.address);
        call.tx.enter(Scope::Identity).await?;
        let known = users::credentials(&mut call.tx, &email).await?;
        attempt.check(self, &mut call.tx, known.as_ref().map(|it| it.id)).await?;
        let hash = known.as_ref().and_then(|it| it.password_hash.clone());
        let fits = self.passwords.verify(request.body.password.expose(), hash).await?;
        let (Some(known), true) = (known, fits) else {
            attempt.failed(self).await;
            call.note("failed", true);
            return Err(Failure::Refused(ProblemBuilder::new(
                Code::Unauthenticated,
                "email address or password is wrong",
            )));
        };
        // Checking takes a while: a password that was replaced meanwhile opens nothing.
        users::lock(&mut call.tx, known.id).await?;
        let now = users::credentials(&mut call.tx, &email).await?;
        if now.is_none_or(|it| (it.id, it.password_hash) != (known.id, known.password_hash)) {
            return Err(Failure::Refused(ProblemBuilder::new(
                Code::Unauthenticated,
                "the password was changed concurrently",
            )));
        }
        attempt.succeeded(&mut call.tx, known.id).await?;
        call.about(known.id);
        tokens::open(self, &mut call.tx, known.id).await
    }
}

impl Handle<RefreshSession> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RefreshSession>) -> Result<TokenSet, Failure> {
        let refused = |detail: &str| ProblemBuilder::new(Code::Unauthenticated, detail);
        call.tx.enter(Scope::Identity).await?;
        let hash = hash_token(request.body.refresh_token.expose());
        let Some(presented) = store::present(&mut call.tx, &hash).await? else {
            return Err(Failure::Refused(refused("the refresh token is unknown")));
        };
        let (user, session) = (UserId::from(presented.user_id), SessionId::from(presented.session_id));
        call.about(session);
        if !presented.is_live {
            return Err(Failure::Refused(refused("the session has ended")));
        }
        let grace = self.policies.number(settings::REFRESH_GRACE_SECONDS) as f64;
        let is_reused = presented.used_seconds_ago.is_some_and(|it| it > grace || presented.is_overtaken);
        if is_reused {
            // Somebody else has the token too: nobody may go on with it.
            store::revoke(&mut call.tx, user, session).await?;
            emit(&mut call.tx, None, session, &SessionsRevoked { user_id: user, session_id: Some(session) });
            call.note("reused", true);
            return Err(Failure::Refused(refused("the refresh token was already used, so the session was ended")));
        }
        let opened = TokenSession { user, session, now: presented.now(), expires_at: presented.expires_at() };
        let context = tokens::context(&hash.as_bytes()[..]);
        if let Some(sealed) = presented.successor.as_deref() {
            // The answer was lost, or two tabs were as fast: both get the one successor.
            let refresh = Sealed::from_bytes(sealed).and_then(|it| self.keyring.open(&context, &it));
            let refresh = refresh.map_err(|error: SecretsError| Failure::Internal(Box::new(error)))?;
            return tokens::shown(self, &opened, refresh.expose_text().expect("tokens are text").to_owned());
        }
        let issued = tokens::issue(self, &mut call.tx, opened).await?;
        let successor = self.keyring.seal(&context, issued.refresh_token.expose().as_bytes()).to_bytes();
        store::use_up(&mut call.tx, &hash, &successor).await?;
        Ok(issued)
    }
}

impl Handle<ListSessions> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ListSessions>) -> Result<Page<Session>, Failure> {
        let (user, current) = person(call);
        let rows = store::list(&mut call.tx, user, current, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<RevokeSession> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RevokeSession>) -> Result<Nothing, Failure> {
        let (user, _) = person(call);
        let session = request.path.session_id;
        if store::revoke(&mut call.tx, user, session).await? {
            emit(&mut call.tx, None, session, &SessionsRevoked { user_id: user, session_id: Some(session) });
        } else if !store::exists(&mut call.tx, user, session).await? {
            return Err(Failure::not_found("session"));
        }
        Ok(Nothing {})
    }
}

impl Handle<SignOutEverywhere> for PeopleArea {
    async fn handle(&self, call: &mut Call, _: Request<SignOutEverywhere>) -> Result<Nothing, Failure> {
        let (user, _) = person(call);
        store::revoke_all(&mut call.tx, user, None).await?;
        emit(&mut call.tx, None, user, &SessionsRevoked { user_id: user, session_id: None });
        call.about(user);
        Ok(Nothing {})
    }
}

impl Handle<GetJwks> for PeopleArea {
    async fn handle(&self, _: &mut Call, _: Request<GetJwks>) -> Result<Jwks, Failure> {
        Ok(self.signing.jwks())
    }
}

fn person(call: &Call) -> (UserId, Option<SessionId>) {
    match call.caller.who {
        Principal::Person { user, session, .. } => (user, session),
        Principal::Anyone | Principal::ServiceAccount { .. } => unreachable!("the gates let only people through"),
    }
}
