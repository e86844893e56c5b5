//! The built-in issuer's keys: kept in the vault, rotated by policy, published
//! as a key set, and used to sign and verify access tokens.

use std::{
    sync::{Arc, RwLock},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contract::{
    Timestamp,
    id::{SessionId, UserId},
    sessions::{Jwk, Jwks},
};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use kernel::{
    Access, Db, Tx,
    merkle::SealKey,
    secrets::Keyring,
    vault::{self, VaultError},
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::policies::{Policies, settings};

/// The vault's name for the keys that sign access tokens.
pub const KEY_NAME: &str = "access_token";
const AUDIENCE: &str = "gpuaas";

#[derive(Clone)]
pub struct Signing {
    db: Db,
    issuer: Arc<str>,
    keyring: Arc<Keyring>,
    ring: Arc<RwLock<Arc<Ring>>>,
    /// When the keys were last read because a token named one that was not known.
    asked: Arc<tokio::sync::Mutex<Option<tokio::time::Instant>>>,
}

#[derive(Default)]
struct Ring {
    /// Newest first; the first signs.
    keys: Vec<SigningKey>,
}

struct SigningKey {
    id: String,
    public: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

/// What an access token says.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    iss: String,
    aud: String,
    sub: UserId,
    sid: SessionId,
    iat: i64,
    exp: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claims {
    pub user: UserId,
    pub session: SessionId,
    pub expires_at: Timestamp,
}

#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    #[error("the token was not issued by this platform")]
    Foreign(#[source] jsonwebtoken::errors::Error),
    #[error("the token has expired")]
    Expired,
    #[error("the token names an unknown key")]
    UnknownKey,
    #[error("the signing keys could not be read")]
    Vault(#[source] VaultError),
    #[error("there is no signing key yet")]
    NoKey,
}

// bound: how soon another replica's new key is noticed without any token naming it
const REFRESH: Duration = Duration::from_secs(30);
// bound: how often tokens that name unknown keys may make this process look
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Enough that tokens signed by retired keys outlive their own expiry.
const KEPT: usize = 8;

impl Signing {
    pub fn new(db: Db, issuer: &str, keyring: Arc<Keyring>) -> Self {
        Self { db, issuer: issuer.into(), keyring, ring: Arc::default(), asked: Arc::default() }
    }

    /// Verifies a token; another replica may have signed it with a key that is
    /// newer than what this one knows, so an unknown key is looked up, at most
    /// once in a while.
    pub async fn verify(&self, token: &str) -> Result<Claims, SigningError> {
        match self.verify_now(token) {
            Err(SigningError::UnknownKey) => {
                let mut asked = self.asked.lock().await;
                if asked.is_none_or(|it| it.elapsed() >= ASK_AGAIN) {
                    self.read_keys().await.map_err(SigningError::Vault)?;
                    *asked = Some(tokio::time::Instant::now());
                }
                drop(asked);
                self.verify_now(token)
            }
            other => other,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.db.clock.estimate()
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    pub fn issue(
        &self,
        user: UserId,
        session: SessionId,
        now: Timestamp,
        lifetime: Duration,
    ) -> Result<(String, Timestamp), SigningError> {
        let expires_at = now + lifetime;
        let token = Token {
            iss: self.issuer.to_string(),
            aud: AUDIENCE.into(),
            sub: user,
            sid: session,
            iat: now.as_second(),
            exp: expires_at.as_second(),
        };
        let ring = self.ring();
        let key = ring.keys.first().ok_or(SigningError::NoKey)?;
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(key.id.clone());
        let text = encode(&header, &token, &key.encoding).map_err(SigningError::Foreign)?;
        Ok((text, expires_at))
    }

    fn verify_now(&self, token: &str) -> Result<Claims, SigningError> {
        let header = decode_header(token).map_err(SigningError::Foreign)?;
        let ring = self.ring();
        let key = ring.keys.iter().find(|it| Some(&it.id) == header.kid.as_ref()).ok_or(SigningError::UnknownKey)?;
        let mut rules = Validation::new(Algorithm::EdDSA);
        rules.set_issuer(&[&*self.issuer]);
        rules.set_audience(&[AUDIENCE]);
        // Expiry is judged by the one clock, below.
        rules.validate_exp = false;
        let token = decode::<Token>(token, &key.decoding, &rules).map_err(SigningError::Foreign)?.claims;
        let expires_at = Timestamp::from_second(token.exp).unwrap_or(Timestamp::MIN);
        if expires_at <= self.now() {
            return Err(SigningError::Expired);
        }
        Ok(Claims { user: token.sub, session: token.sid, expires_at })
    }

    pub fn jwks(&self) -> Jwks {
        let describe = |key: &SigningKey| Jwk {
            kty: "OKP".into(),
            crv: "Ed25519".into(),
            alg: "EdDSA".into(),
            usage: "sig".into(),
            kid: key.id.clone(),
            x: key.public.clone(),
        };
        Jwks { keys: self.ring().keys.iter().map(describe).collect() }
    }

    fn ring(&self) -> Arc<Ring> {
        self.ring.read().expect("no code panics while it holds this lock").clone()
    }

    /// Makes a key if the newest is older than `rotate_after`, and reads them all.
    pub async fn refresh(&self, rotate_after: Duration) -> Result<(), VaultError> {
        let mut tx = Tx::system(&self.db, "issuer", Access::Write).await?;
        vault::lock(&mut tx, KEY_NAME).await?;
        let held = vault::all(&mut tx, &self.keyring, KEY_NAME).await?;
        let now = kernel::clock::now(&mut tx).await?;
        if held.first().is_none_or(|it| it.created_at + rotate_after <= now) {
            let (key, secret) = SealKey::generate();
            let public = URL_SAFE_NO_PAD.encode(key.public_key());
            let id = vault::put(&mut tx, &self.keyring, KEY_NAME, &secret, Some(&public)).await?;
            vault::retire_others(&mut tx, KEY_NAME, id).await?;
        }
        tx.commit().await?;
        self.read_keys().await
    }

    async fn read_keys(&self) -> Result<(), VaultError> {
        let mut tx = Tx::system(&self.db, "issuer", Access::Read).await?;
        let held = vault::all(&mut tx, &self.keyring, KEY_NAME).await?;
        tx.commit().await?;
        let keys = held.into_iter().take(KEPT).filter_map(|it| {
            let public = it.public?;
            Some(SigningKey {
                id: it.id.simple().to_string(),
                encoding: EncodingKey::from_ed_der(it.secret.expose()),
                decoding: DecodingKey::from_ed_components(&public).ok()?,
                public,
            })
        });
        let ring = Ring { keys: keys.collect() };
        *self.ring.write().expect("no code panics while it holds this lock") = Arc::new(ring);
        Ok(())
    }

    /// Keeps the keys fresh until stopped.
    pub async fn run(self, policies: Policies, stop: CancellationToken) {
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(REFRESH) => (),
            }
            let rotate_after = settings::days(policies.number(settings::SIGNING_KEY_DAYS));
            if let Err(error) = self.refresh(rotate_after).await {
                tracing::warn!(%error, "reading the signing keys failed; the last known ones are still used");
            }
            if let Err(error) = self.db.learn_time().await {
                tracing::warn!(%error, "reading the database's time failed");
            }
        }
    }
}
