//! Signing in with a password, refreshing, listing and signing out.

use contract::{
    Code, Nothing, Page,
    id::{SessionId, UserId},
    sessions::{
        CreateSession, GetJwks, Jwks, ListSessions, RefreshSession, RevokeSession, Session, SessionsRevoked,
        SignOutEverywhere, TokenSet,
    },
};
use kernel::{Scope, secrets::hash_token};

use super::{
    store,
    tokens::{self, Opened},
};
use crate::{
    app::App,
    events::emit,
    http::{Call, Failure, Handle, Request, Trouble},
    identity::Who,
    policies::keys,
    users,
};

impl Handle<CreateSession> for App {
    async fn handle(&self, call: &mut Call, request: Request<CreateSession>) -> Result<TokenSet, Failure> {
        let email = request.body.email.folded();
        // Counted per account too, so that many addresses cannot share the guessing.
        let account = hash_token(&email);
        let account: String = account.as_bytes().iter().take(8).map(|it| format!("{it:02x}")).collect();
        let per_minute = self.policies.number(keys::RATE_LOGIN);
        if let Err(wait) = self.limiter.admit("login_account", &account, per_minute).await {
            return Err(Trouble::new(Code::TooManyRequests, "too many attempts for this account").after(wait).into());
        }
        call.tx.enter(Scope::Identity).await?;
        let known = users::credentials(&mut call.tx, &email).await?;
        let hash = known.as_ref().and_then(|it| it.password_hash.clone());
        let fits = self.passwords.verify(request.body.password.expose(), hash).await?;
        let (Some(known), true) = (known, fits) else {
            call.note("failed", true);
            return Err(Failure::Refused(Trouble::new(Code::Unauthenticated, "email address or password is wrong")));
        };
        call.about(known.id);
        tokens::open(self, &mut call.tx, known.id).await
    }
}

impl Handle<RefreshSession> for App {
    async fn handle(&self, call: &mut Call, request: Request<RefreshSession>) -> Result<TokenSet, Failure> {
        let refused = |detail: &str| Trouble::new(Code::Unauthenticated, detail);
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
        let grace = self.policies.number(keys::REFRESH_GRACE_SECONDS) as f64;
        if presented.used_seconds_ago.is_some_and(|it| it > grace) {
            // Somebody else has the token too: nobody may go on with it.
            store::revoke(&mut call.tx, user, session).await?;
            emit(&mut call.tx, None, session, &SessionsRevoked { user_id: user, session_id: Some(session) });
            call.note("reused", true);
            return Err(Failure::Refused(refused("the refresh token was used before, so the session was ended")));
        }
        store::use_up(&mut call.tx, &hash).await?;
        let opened = Opened { user, session, now: presented.now(), expires_at: presented.expires_at() };
        tokens::issue(self, &mut call.tx, opened).await
    }
}

impl Handle<ListSessions> for App {
    async fn handle(&self, call: &mut Call, request: Request<ListSessions>) -> Result<Page<Session>, Failure> {
        let (user, current) = person(call);
        let rows = store::list(&mut call.tx, user, current, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<RevokeSession> for App {
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

impl Handle<SignOutEverywhere> for App {
    async fn handle(&self, call: &mut Call, _: Request<SignOutEverywhere>) -> Result<Nothing, Failure> {
        let (user, _) = person(call);
        store::revoke_all(&mut call.tx, user, None).await?;
        emit(&mut call.tx, None, user, &SessionsRevoked { user_id: user, session_id: None });
        call.about(user);
        Ok(Nothing {})
    }
}

impl Handle<GetJwks> for App {
    async fn handle(&self, _: &mut Call, _: Request<GetJwks>) -> Result<Jwks, Failure> {
        Ok(self.signing.jwks())
    }
}

fn person(call: &Call) -> (UserId, Option<SessionId>) {
    match call.caller.who {
        Who::Person { user, session, .. } => (user, session),
        Who::Anyone | Who::ServiceAccount { .. } => unreachable!("the gates let only people through"),
    }
}
