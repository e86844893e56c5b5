//! Signing in through the external issuer: who its subjects are here, and the
//! session that follows. Whether a token is believed is `identity`'s business.

use contract::{
    Code, ShownSecret,
    id::UserId,
    sessions::{ExchangeOidcToken, FinishOidc, OidcStarted, StartOidc, TokenSet},
};
use kernel::{
    Scope, clock,
    secrets::{Sealed, SecretsError, TokenHash, hash_token},
};

use super::{
    store::{self, OidcStart},
    tokens,
};
use crate::{
    PeopleArea, accounts, invitations,
    users::{self, Subject},
};
use platform::{
    http::{Call, Failure, Handle, ProblemBuilder, Request, unavailable},
    identity::{
        Oidc,
        oidc::{Identity, OidcError, Redeem},
    },
    policies::settings as policy,
};

impl Handle<StartOidc> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<StartOidc>) -> Result<OidcStarted, Failure> {
        let oidc = configured(self)?;
        let redirect_uri = request.body.redirect_uri;
        if !oidc.may_return_to(&redirect_uri) {
            let detail = "this redirect URI is not allowed; use one from `oidc.redirect_uris`";
            return Err(ProblemBuilder::new(Code::InvalidValue, detail).at("redirect_uri").into());
        }
        let start = oidc.start(&redirect_uri).await.map_err(failed)?;
        let state = start.state.expose_text().expect("tokens are text").to_owned();
        let hash = hash_token(&state);
        let verifier = self.keyring.seal(&context(&hash), start.verifier.expose()).to_bytes();
        call.tx.enter(Scope::Identity).await?;
        let lifetime = policy::seconds(self.policies.number(policy::OIDC_START_SECONDS));
        let expires_at = clock::now(&mut call.tx).await? + lifetime;
        let row = OidcStart { verifier, nonce: start.nonce, redirect_uri };
        store::insert_start(&mut call.tx, &hash, row, expires_at).await?;
        Ok(OidcStarted { authorization_url: start.authorization_url, state: ShownSecret::new(state) })
    }
}

impl Handle<FinishOidc> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<FinishOidc>) -> Result<TokenSet, Failure> {
        let oidc = configured(self)?;
        call.tx.enter(Scope::Identity).await?;
        let hash = hash_token(request.body.state.expose());
        let Some(start) = store::take_start(&mut call.tx, &hash).await? else {
            return Err(refused("the sign-in is unknown, already finished, or expired: start again"));
        };
        let verifier = Sealed::from_bytes(&start.verifier).and_then(|it| self.keyring.open(&context(&hash), &it));
        let verifier = verifier.map_err(|error: SecretsError| Failure::Internal(Box::new(error)))?;
        let redeem = Redeem {
            code: request.body.code.expose(),
            verifier: verifier.expose_text().expect("tokens are text"),
            nonce: &start.nonce,
            redirect_uri: &start.redirect_uri,
        };
        let identity = oidc.redeem(redeem).await.map_err(failed)?;
        sign_in(self, call, oidc, &identity).await
    }
}

impl Handle<ExchangeOidcToken> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ExchangeOidcToken>) -> Result<TokenSet, Failure> {
        let oidc = configured(self)?;
        let identity = oidc.recognize(request.body.id_token.expose()).await.map_err(failed)?;
        call.tx.enter(Scope::Identity).await?;
        // Without the signature, of which one token may have several.
        let said = request.body.id_token.expose().rsplit_once('.').map_or("", |it| it.0);
        if !store::use_id_token(&mut call.tx, &hash_token(said), identity.believed_until).await? {
            return Err(refused("the identity token was already used: get a new one from the issuer"));
        }
        sign_in(self, call, oidc, &identity).await
    }
}

async fn sign_in(area: &PeopleArea, call: &mut Call, oidc: &Oidc, identity: &Identity) -> Result<TokenSet, Failure> {
    let who = Subject { issuer: oidc.issuer(), subject: &identity.subject };
    let user = match users::linked(&mut call.tx, who).await? {
        Some(user) => user,
        None => {
            let user = account_at_first_sight(area, call, oidc, identity).await?;
            users::link(&mut call.tx, user, who).await?;
            call.note("linked", true);
            user
        }
    };
    call.about(user);
    // The issuer asks for more than a password itself, unless policy says otherwise.
    match area.policies.flag(policy::MFA_WITH_OIDC) {
        true => tokens::open(area, &mut call.tx, user).await,
        false => tokens::open_verified(area, &mut call.tx, user).await,
    }
}

/// The account that a subject not seen before gets: the one with the address
/// that the issuer vouches for, or a new one where people may help themselves.
async fn account_at_first_sight(
    area: &PeopleArea,
    call: &mut Call,
    oidc: &Oidc,
    identity: &Identity,
) -> Result<UserId, Failure> {
    let who = Subject { issuer: oidc.issuer(), subject: &identity.subject };
    let contact = oidc.contact(identity).await.map_err(failed)?;
    let email = contact.email.folded();
    let self_service = area.policies.flag(policy::SELF_SERVICE);
    if let Some(known) = users::credentials(&mut call.tx, &email).await? {
        // An address may be given to somebody else; an account may not.
        if users::is_of_another(&mut call.tx, known.id, who).await? {
            return Err(refused(
                "the account with your email address belongs to a different identity at the issuer: ask an operator",
            ));
        }
        // Anybody could have made the account; the owner of its address is here now.
        if !known.is_proven {
            accounts::evict(&mut call.tx, known.id).await?;
            call.note("earlier_credentials_ended", true);
        }
        return Ok(known.id);
    }
    if !self_service && !invitations::is_awaited(&mut call.tx, &email).await? {
        let detail = "accounts on this platform require an invitation";
        return Err(Failure::Refused(ProblemBuilder::new(Code::SelfServiceOff, detail)));
    }
    if let Some(new) = users::insert(&mut call.tx, &contact.email, &contact.name, None).await? {
        return Ok(new);
    }
    // The same person came twice at once, and the other request was first.
    let known = users::credentials(&mut call.tx, &email).await?;
    known.map(|it| it.id).ok_or_else(|| Failure::Internal("an account is neither there nor can be made".into()))
}

fn configured(area: &PeopleArea) -> Result<&Oidc, Failure> {
    area.oidc.as_ref().ok_or_else(|| Failure::not_found("way to sign in: no external issuer is configured"))
}

/// Binds a sealed verifier to its own sign-in.
fn context(state: &TokenHash) -> String {
    state.as_bytes().iter().fold(String::from("oidc_starts/"), |text, byte| format!("{text}{byte:02x}"))
}

/// A refusal is kept and audited, and uses the sign-in up; while the issuer is
/// away nothing is, so that the same request may be repeated.
fn failed(error: OidcError) -> Failure {
    match error {
        OidcError::Refused(why) => refused(why),
        OidcError::Away(_) | OidcError::Unreached | OidcError::Busy => {
            let source = std::error::Error::source(&error).map(tracing::field::display);
            tracing::warn!(%error, source, "signing in through the external issuer failed");
            unavailable("the external issuer does not respond").into()
        }
    }
}

fn refused(why: &str) -> Failure {
    Failure::Refused(ProblemBuilder::new(Code::Unauthenticated, why))
}
