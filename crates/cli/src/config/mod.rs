//! The configuration: contexts and the sessions signed in under them.

mod file;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use contract::{
    SecretText, Timestamp,
    id::{SessionId, UserId},
    sessions::TokenSet,
};
use serde::{Deserialize, Serialize};

pub use file::ConfigFile;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The context that commands use unless another one is named.
    pub current: Option<String>,
    #[serde(default)]
    pub contexts: BTreeMap<String, StoredContext>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredContext {
    pub url: Option<String>,
    /// By id or name, as every command takes it.
    pub organization: Option<String>,
    pub project: Option<String>,
    /// Who signed in last, offered at the next sign-in.
    pub email: Option<String>,
    pub session: Option<StoredSession>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredSession {
    pub session_id: SessionId,
    pub user_id: UserId,
    pub access_token: SecretText,
    pub access_expires_at: Timestamp,
    pub refresh_token: SecretText,
    pub refresh_expires_at: Timestamp,
}

impl From<TokenSet> for StoredSession {
    fn from(tokens: TokenSet) -> Self {
        Self {
            session_id: tokens.session_id,
            user_id: tokens.user_id,
            access_token: SecretText::new(tokens.access_token.expose().to_owned()),
            access_expires_at: tokens.access_expires_at,
            refresh_token: SecretText::new(tokens.refresh_token.expose().to_owned()),
            refresh_expires_at: tokens.refresh_expires_at,
        }
    }
}
