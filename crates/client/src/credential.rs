//! What a client shows to be let in. Never printed.

use contract::SecretText;
use http::HeaderValue;

use crate::ClientError;

/// An access token or the secret of a key, or nothing for public endpoints.
#[derive(Clone, Debug, Default)]
pub struct Credential(Option<SecretText>);

impl Credential {
    pub fn none() -> Self {
        Self(None)
    }

    pub fn bearer(secret: impl Into<String>) -> Self {
        Self(Some(SecretText::new(secret.into())))
    }

    pub(crate) fn header(&self) -> Result<Option<HeaderValue>, ClientError> {
        let Some(secret) = &self.0 else {
            return Ok(None);
        };
        let mut value = HeaderValue::from_str(&format!("Bearer {}", secret.expose())).map_err(|_| {
            ClientError::Unsendable(
                "the credential contains invalid characters; copy it again, without line breaks".into(),
            )
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}
