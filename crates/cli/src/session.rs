//! Keeping a stored session alive. A refresh token works once and using it
//! twice ends the session, so processes renew one at a time and share the result.

use std::time::Duration;

use client::{Client, ClientError, Credential};
use contract::{
    Code, Nothing, Timestamp,
    sessions::{RefreshSession, RefreshToken, TokenSet},
};

use crate::{
    config::{ConfigFile, StoredSession},
    failure::{Class, Failure},
};

/// A token this close to its end may not survive the way to the server.
const MARGIN: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(300);

/// Whether the access token can be used as it is.
pub fn is_fresh(session: &StoredSession, now: Timestamp) -> bool {
    now + MARGIN < session.access_expires_at
}

/// Replaces the tokens of `context` that `held` was read from.
pub async fn renew(
    file: &ConfigFile,
    context: &str,
    held: &StoredSession,
    client: &Client,
) -> Result<StoredSession, Failure> {
    let lock = file.lock().await?;
    let mut config = file.read()?;
    let stored = config.contexts.get_mut(context).and_then(|it| it.session.take()).ok_or_else(signed_out)?;
    // Another process did it while this one waited for the lock.
    if stored.access_token.expose() != held.access_token.expose() && is_fresh(&stored, Timestamp::now()) {
        return Ok(stored);
    }
    let renewed = match refresh(client, &stored).await {
        Ok(tokens) => StoredSession::from(tokens),
        Err(error) if error.is(Code::Unauthenticated) => {
            file.write(&lock, &config)?;
            return Err(signed_out());
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(entry) = config.contexts.get_mut(context) {
        entry.session = Some(renewed.clone());
    }
    file.write(&lock, &config)?;
    Ok(renewed)
}

/// A lost answer is requested again immediately: the server accepts that for a short time only.
async fn refresh(client: &Client, stored: &StoredSession) -> Result<TokenSet, ClientError> {
    let client = client.with_credential(Credential::none());
    let mut attempt = 1;
    loop {
        let body = RefreshToken { refresh_token: stored.refresh_token.clone() };
        match client.call::<RefreshSession>(Nothing {}, Nothing {}, body).await {
            Err(ClientError::Unreachable { .. }) if attempt < ATTEMPTS => tokio::time::sleep(PAUSE).await,
            other => return other,
        }
        attempt += 1;
    }
}

pub fn signed_out() -> Failure {
    Failure::new(
        Class::SignedOut,
        "not signed in, or the session has expired",
        "Run `gpuaas login`, or set GPUAAS_TOKEN to an API key.",
    )
}

#[cfg(test)]
mod tests {
    use contract::{
        SecretText,
        id::{SessionId, UserId},
    };

    use super::*;
    use crate::config::{Config, StoredContext};

    fn session(token: &str, expires_at: Timestamp) -> StoredSession {
        StoredSession {
            session_id: SessionId::generate(),
            user_id: UserId::generate(),
            access_token: SecretText::new(token.into()),
            access_expires_at: expires_at,
            refresh_token: SecretText::new("r".into()),
            refresh_expires_at: expires_at,
        }
    }

    #[test]
    fn a_token_about_to_end_is_not_fresh() {
        let now = Timestamp::now();
        let ends_in = |seconds| session("a", now + Duration::from_secs(seconds));
        assert!(is_fresh(&ends_in(60), now));
        assert!(!is_fresh(&ends_in(5), now));
    }

    #[tokio::test]
    async fn tokens_renewed_by_another_process_are_used_without_a_request() {
        let folder = tempfile::tempdir().unwrap();
        let file = ConfigFile::at(folder.path().join("config.toml"));
        let fresh = session("new", Timestamp::now() + Duration::from_secs(600));
        let write = |config: &mut Config| {
            let stored = StoredContext { session: Some(fresh.clone()), ..StoredContext::default() };
            config.contexts.insert("work".into(), stored);
            Ok(())
        };
        file.change(write).await.unwrap();
        let held = session("old", Timestamp::now());
        let nowhere = Client::new("http://127.0.0.1:1", Credential::none()).unwrap();
        let renewed = renew(&file, "work", &held, &nowhere).await.unwrap();
        assert_eq!(renewed.access_token.expose(), "new");
        let error = renew(&file, "other", &held, &nowhere).await.unwrap_err();
        assert_eq!(error.exit_code(), 3);
    }
}
