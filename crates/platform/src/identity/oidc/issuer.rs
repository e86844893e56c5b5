//! What is known of the issuer: its addresses and its keys, fetched in the
//! background, and again when a token names a key that is not known.

use std::{sync::Arc, time::Duration};

use contract::Timestamp;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    FetchError, Oidc, OidcError, fetch,
    keys::{KeySet, Keys},
};
use crate::{config::is_safe, policies::settings as policy};

/// The issuer's discovery document, as far as it matters here.
#[derive(Debug, Clone, Deserialize)]
pub struct Document {
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub jwks_uri: String,
    pub userinfo_endpoint: Option<String>,
}

pub struct IssuerMetadata {
    pub document: Document,
    pub keys: Keys,
    fetched_at: Timestamp,
}

#[derive(Default)]
pub struct State {
    known: Option<Arc<IssuerMetadata>>,
    is_away: bool,
    /// When the last fetch began.
    tried: Option<Instant>,
    /// When the last fetch failed, if it did.
    failed: Option<Instant>,
}

// bound: junk tokens must not make this a load on the issuer
const GAP: Duration = Duration::from_secs(2);
// bound: the first pause while the issuer is away; it doubles
const FIRST_RETRY: Duration = Duration::from_secs(1);
// bound: how late it may be noticed that the issuer is back
const SLOWEST_RETRY: Duration = Duration::from_secs(5);

impl Oidc {
    /// What is known, unless it is too old to be trusted.
    pub(super) fn known(&self) -> Option<Arc<IssuerMetadata>> {
        let known = self.read(|state| state.known.clone())?;
        let trusted = policy::seconds(self.0.policies.number(policy::OIDC_STALE_SECONDS));
        (self.0.clock.estimate() < known.fetched_at + trusted).then_some(known)
    }

    /// For readiness; nothing in a process that never asks. An issuer that is
    /// away does not make this process unready: passwords, keys and running
    /// sessions work without it, and so do its own tokens while its keys are
    /// trusted.
    pub fn standing(&self) -> Option<Result<(), &'static str>> {
        let (is_away, asked) = self.read(|state| (state.is_away, state.tried.is_some()));
        match self.known() {
            Some(_) if is_away => Some(Err("does not respond; identity tokens are verified with the known keys")),
            Some(_) => Some(Ok(())),
            None => asked.then_some(Err("does not respond; signing in through it fails")),
        }
    }

    /// Keeps what is known fresh until stopped.
    pub async fn run(self, stop: CancellationToken) {
        let mut pause = FIRST_RETRY;
        loop {
            let fetched = tokio::select! {
                () = stop.cancelled() => return,
                fetched = self.fetch_in_turn() => fetched,
            };
            let usual = policy::seconds(self.0.policies.number(policy::OIDC_REFRESH_SECONDS));
            let wait = if fetched.is_ok() { usual } else { pause };
            pause = if fetched.is_ok() { FIRST_RETRY } else { (pause * 2).min(SLOWEST_RETRY) };
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.0.wake.notified() => (),
                () = tokio::time::sleep(wait) => (),
            }
        }
    }

    /// Fetches because a request needs what is not known. Requests that ask
    /// at the same time share one fetch, and fetches keep their distance.
    pub(super) async fn look_again(&self) -> Result<(), OidcError> {
        let asked = Instant::now();
        let _turn = self.0.looking.try_acquire().map_err(|_| OidcError::Busy)?;
        let _alone = self.0.fetching.lock().await;
        let (tried, failed) = self.read(|state| (state.tried, state.failed));
        if failed.is_some_and(|it| it > asked) {
            return Err(OidcError::Unreached);
        }
        if tried.is_some_and(|it| it > asked) {
            return Ok(());
        }
        if let Some(tried) = tried {
            sleep_until(tried + GAP).await;
        }
        Ok(self.fetch().await?)
    }

    /// Notes that a call failed, so that the background finds out when it works again.
    pub(super) fn missed(&self, error: &FetchError) {
        if let FetchError::Unreachable { .. } = error {
            self.settle(Err(error));
            self.0.wake.notify_one();
        }
    }

    async fn fetch_in_turn(&self) -> Result<(), FetchError> {
        let _alone = self.0.fetching.lock().await;
        self.fetch().await
    }

    async fn fetch(&self) -> Result<(), FetchError> {
        self.write(|state| state.tried = Some(Instant::now()));
        let fetched = self.fetch_now().await;
        self.write(|state| state.failed = fetched.is_err().then(Instant::now));
        self.settle(fetched.as_ref());
        fetched.map(drop)
    }

    async fn fetch_now(&self) -> Result<Arc<IssuerMetadata>, FetchError> {
        const WHAT: &str = "the issuer's discovery document";
        let wrong = |why| FetchError::Malformed { what: WHAT, why };
        let issuer = &self.0.config.issuer;
        // Taken before asking: keys are trusted from when they were surely published.
        let fetched_at = self.0.clock.estimate();
        let address = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let document: Document = fetch::json(WHAT, self.0.http.get(address)).await?;
        if document.issuer != *issuer {
            return Err(wrong("its issuer differs from `oidc.issuer`; they must be identical"));
        }
        let endpoints = [&document.authorization_endpoint, &document.token_endpoint, &document.jwks_uri];
        if !endpoints.into_iter().chain(document.userinfo_endpoint.as_ref()).all(|it| is_safe(it)) {
            return Err(wrong("its URLs must use `https`"));
        }
        let set: KeySet = fetch::json("the issuer's key set", self.0.http.get(&document.jwks_uri)).await?;
        let keys = Keys::read(set);
        if keys.is_empty() {
            let why = "it has no RS256, ES256 or EdDSA key for signatures";
            return Err(FetchError::Malformed { what: "the issuer's key set", why });
        }
        Ok(Arc::new(IssuerMetadata { document, keys, fetched_at }))
    }

    /// Keeps the outcome, and says so when it differs from the one before.
    fn settle(&self, outcome: Result<&Arc<IssuerMetadata>, &FetchError>) {
        let was_away = self.write(|state| {
            if let Ok(known) = outcome {
                state.known = Some(known.clone());
            }
            std::mem::replace(&mut state.is_away, outcome.is_err())
        });
        metrics::gauge!("gpuaas_oidc_issuer_up").set(if outcome.is_ok() { 1.0 } else { 0.0 });
        match outcome {
            Ok(_) if was_away => tracing::info!("the external issuer responds again"),
            Err(error) if !was_away => {
                let source = std::error::Error::source(error).map(tracing::field::display);
                tracing::warn!(%error, source, "the external issuer is unavailable; its cached keys and URLs are used for a while");
            }
            Ok(_) | Err(_) => (),
        }
    }

    fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.state.read().expect("no code panics while it holds this lock"))
    }

    fn write<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.state.write().expect("no code panics while it holds this lock"))
    }
}
