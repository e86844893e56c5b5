//! Sessions: how people sign in, with a password or through an external
//! issuer, stay signed in, and sign out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Email, Nothing, Page, SecretText, ShownSecret, Timestamp, endpoint, event,
    id::{SessionId, UserId},
    list_query,
};

endpoint! {
    /// Sign in with email address and password.
    CreateSession = POST "/v1/sessions" {
        body: Credentials,
        returns: 201 TokenSet,
        auth: Public { because: "signing in is how credentials are obtained" },
        lane: Login,
        idempotency: Exempt { because: "a repetition makes another session, which expires or is signed out" },
        audit: Action("session.create"),
        problems: [Unauthenticated, MfaRequired, TooManyRequests],
    }
}

endpoint! {
    /// Exchange a refresh token for new tokens.
    ///
    /// Each refresh token works once; using one again ends the session.
    RefreshSession = POST "/v1/sessions/refresh" {
        body: RefreshToken,
        returns: 200 TokenSet,
        auth: Public { because: "the refresh token in the body is the credential" },
        lane: Default,
        idempotency: Exempt { because: "the token itself works once; a lost answer may be asked for again within a short grace" },
        audit: Action("session.refresh"),
        problems: [Unauthenticated, TooManyRequests],
    }
}

endpoint! {
    /// Start signing in through the external issuer.
    ///
    /// Send the person to `authorization_url`, and pass the result to `FinishOidc`.
    StartOidc = POST "/v1/sessions/oidc/start" {
        body: OidcStart,
        returns: 200 OidcStarted,
        auth: Public { because: "signing in is how credentials are obtained" },
        lane: Login,
        idempotency: Exempt { because: "an unused start expires" },
        audit: Action("session.oidc.start"),
        problems: [NotFound, InvalidValue, Unavailable],
    }
}

endpoint! {
    /// Finish signing in through the external issuer.
    FinishOidc = POST "/v1/sessions/oidc/finish" {
        body: OidcFinish,
        returns: 201 TokenSet,
        auth: Public { because: "signing in is how credentials are obtained" },
        lane: Login,
        idempotency: Exempt { because: "the code and the state work once" },
        audit: Action("session.oidc.finish"),
        problems: [NotFound, Unauthenticated, MfaRequired, SelfServiceOff, Unavailable],
    }
}

endpoint! {
    /// Exchange an identity token of the external issuer for a session.
    ///
    /// Works while the issuer is unavailable, as long as its keys are cached.
    ExchangeOidcToken = POST "/v1/sessions/oidc/exchange" {
        body: OidcToken,
        returns: 201 TokenSet,
        auth: Public { because: "the identity token in the body is the credential" },
        lane: Login,
        idempotency: Exempt { because: "a repetition makes another session, which expires or is signed out" },
        audit: Action("session.oidc.exchange"),
        problems: [NotFound, Unauthenticated, MfaRequired, SelfServiceOff, Unavailable],
    }
}

endpoint! {
    /// List the caller's sessions.
    ListSessions = GET "/v1/sessions" {
        query: SessionFilter,
        returns: 200 Page<Session>,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// End one of the caller's sessions; its tokens stop working within a second.
    RevokeSession = DELETE "/v1/sessions/{session_id}" {
        path: SessionPath,
        returns: 200 Nothing,
        auth: Person,
        lane: Default,
        second_factor: Exempt,
        idempotency: Natural,
        audit: Action("session.revoke"),
        problems: [NotFound],
    }
}

endpoint! {
    /// End all of the caller's sessions, including this one.
    SignOutEverywhere = DELETE "/v1/sessions" {
        returns: 200 Nothing,
        auth: Person,
        lane: Default,
        second_factor: Exempt,
        idempotency: Natural,
        audit: Action("session.revoke_all"),
        problems: [],
    }
}

endpoint! {
    /// The keys that verify access tokens of the built-in issuer.
    GetJwks = GET "/.well-known/jwks.json" {
        returns: 200 Jwks,
        auth: Public { because: "public keys are public" },
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SessionPath {
    pub session_id: SessionId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    pub email: Email,
    pub password: SecretText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshToken {
    pub refresh_token: SecretText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcStart {
    /// The redirect URI; must be allowed by the configuration.
    #[schemars(length(max = 2048), regex(pattern = r"^[^\x00]*$"))]
    pub redirect_uri: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OidcStarted {
    pub authorization_url: String,
    pub state: ShownSecret,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcFinish {
    pub code: SecretText,
    pub state: SecretText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcToken {
    pub id_token: SecretText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TokenSet {
    pub access_token: ShownSecret,
    pub access_expires_at: Timestamp,
    pub refresh_token: ShownSecret,
    pub refresh_expires_at: Timestamp,
    pub session_id: SessionId,
    pub user_id: UserId,
}

list_query! { SessionFilter {} }

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    pub id: SessionId,
    /// Whether it is the caller's current session.
    pub current: bool,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Jwks {
    pub keys: Vec<Jwk>,
}

/// A public key as in RFC 8037.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Jwk {
    pub kty: String,
    pub crv: String,
    pub alg: String,
    #[serde(rename = "use")]
    pub usage: String,
    pub kid: String,
    pub x: String,
}

event! {
    /// Some or all sessions of a person were revoked.
    SessionsRevoked = "session.revoked", staff: PlatformUsersRead { user_id: UserId, session_id: Option<SessionId> }
}
