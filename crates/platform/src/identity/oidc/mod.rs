//! Signing in through an external issuer: what is known of it, which of its
//! tokens are believed, and the code flow with PKCE. Who a subject is here,
//! and the session that follows, belong to `sessions`.

mod code;
mod fetch;
mod issuer;
mod keys;
mod redirect;
#[cfg(test)]
mod tests;
mod token;

use std::{
    sync::{Arc, RwLock},
    time::Duration,
};

use contract::{Email, PersonName, Timestamp};
use kernel::{clock::Clock, secrets::Secret};
use tokio::sync::{Mutex, Notify, Semaphore};

pub use code::{Redeem, Start};
pub use fetch::FetchError;
use issuer::State;
use token::{Expected, TokenRejection};

use crate::{
    config,
    policies::{Policies, settings as policy},
};

/// The external issuer as this process knows it. Nothing here waits for the
/// issuer at start: its keys are fetched in the background, and kept while it
/// cannot be reached for as long as policy trusts them.
#[derive(Clone)]
pub struct Oidc(Arc<Shared>);

struct Shared {
    config: config::Oidc,
    http: reqwest::Client,
    clock: Clock,
    policies: Policies,
    state: RwLock<State>,
    /// One fetch of the issuer's keys at a time.
    fetching: Mutex<()>,
    /// Requests that wait for such a fetch, each with a database connection.
    looking: Semaphore,
    /// Requests that wait for the token endpoint, each with a database connection.
    redeeming: Semaphore,
    wake: Notify,
}

/// Somebody as the issuer knows them.
pub struct Identity {
    pub subject: String,
    /// Until when its token is believed.
    pub believed_until: Timestamp,
    profile: Profile,
    /// Opens the issuer's own record of the person, when the code flow gave it.
    access_token: Option<Secret>,
}

/// What an issuer may say of a person, in a token or in its own record.
#[derive(Default, serde::Deserialize)]
struct Profile {
    email: Option<String>,
    #[serde(default)]
    email_verified: Flag,
    name: Option<String>,
    preferred_username: Option<String>,
}

/// Some issuers write `"true"`.
#[derive(Default, serde::Deserialize)]
#[serde(untagged)]
enum Flag {
    #[default]
    Absent,
    Plain(bool),
    Text(String),
}

/// How a person can be reached: an address that the issuer vouches for.
pub struct Contact {
    pub email: Email,
    pub name: PersonName,
}

#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    /// The token, the code or the person is not accepted; meant for the caller.
    #[error("{0}")]
    Refused(&'static str),
    #[error("the external issuer is unavailable")]
    Away(#[from] FetchError),
    #[error("too many requests wait for the external issuer")]
    Busy,
    #[error("the external issuer was never reached, or not within the time that its keys are trusted")]
    Unreached,
}

// bound: a quarter of the default pool, so that a slow issuer leaves connections for everybody else
const AT_ONCE: usize = 8;

const UNKNOWN_KEY: &str = "the identity token was signed by a key that the issuer does not publish";
const NO_ADDRESS: &str = "the issuer does not confirm an email address for you: verify it there, then sign in again";

impl Oidc {
    pub fn new(config: config::Oidc, clock: Clock, policies: Policies) -> Self {
        Self(Arc::new(Shared {
            config,
            http: fetch::client(),
            clock,
            policies,
            state: RwLock::default(),
            fetching: Mutex::default(),
            looking: Semaphore::new(AT_ONCE),
            redeeming: Semaphore::new(AT_ONCE),
            wake: Notify::new(),
        }))
    }

    pub fn issuer(&self) -> &str {
        &self.0.config.issuer
    }

    /// Whether the issuer may send people back to this address.
    pub fn may_return_to(&self, address: &str) -> bool {
        redirect::is_allowed(&self.0.config.redirect_uris, address)
    }

    /// Who an identity token stands for. Asks nobody while its key is known.
    pub async fn recognize(&self, id_token: &str) -> Result<Identity, OidcError> {
        let oldest = policy::seconds(self.0.policies.number(policy::OIDC_TOKEN_SECONDS));
        self.verify(id_token, None, Some(oldest)).await
    }

    /// An address that the issuer vouches for; from the token, or else asked for.
    pub async fn contact(&self, identity: &Identity) -> Result<Contact, OidcError> {
        if let Some(contact) = identity.profile.contact() {
            return Ok(contact);
        }
        let asked = match &identity.access_token {
            None => None,
            Some(access_token) => self.profile(&identity.subject, access_token).await?,
        };
        asked.and_then(|it| it.contact()).ok_or(OidcError::Refused(NO_ADDRESS))
    }

    async fn verify(
        &self,
        id_token: &str,
        nonce: Option<&str>,
        oldest: Option<Duration>,
    ) -> Result<Identity, OidcError> {
        let mut looked = false;
        loop {
            let expected = Expected {
                issuer: &self.0.config.issuer,
                client_id: &self.0.config.client_id,
                nonce,
                oldest,
                now: self.0.clock.estimate(),
            };
            let doubt = match self.known() {
                None => OidcError::Unreached,
                Some(known) => match token::verify(id_token, &known.keys, &expected) {
                    Ok(claims) => {
                        let believed_until = claims.believed_until();
                        let (subject, profile) = (claims.sub, claims.profile);
                        return Ok(Identity { subject, believed_until, profile, access_token: None });
                    }
                    Err(TokenRejection::Refused(why)) => return Err(OidcError::Refused(why)),
                    Err(TokenRejection::UnknownKey) => OidcError::Refused(UNKNOWN_KEY),
                },
            };
            if looked {
                return Err(doubt);
            }
            // The issuer may have new keys; once is enough to know.
            self.look_again().await?;
            looked = true;
        }
    }
}

impl Profile {
    fn contact(&self) -> Option<Contact> {
        let verified = match &self.email_verified {
            Flag::Absent => false,
            Flag::Plain(flag) => *flag,
            Flag::Text(text) => text == "true",
        };
        let email: Email = self.email.as_deref().filter(|_| verified)?.parse().ok()?;
        let local = email.as_str().split('@').next().unwrap_or_default().to_owned();
        let names = [self.name.as_deref(), self.preferred_username.as_deref(), Some(&local)];
        let name = names.into_iter().flatten().find_map(|it| it.trim().parse().ok())?;
        Some(Contact { email, name })
    }
}
