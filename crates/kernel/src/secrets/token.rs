//! Tokens that we hand out: 256 random bits behind a prefix that says what
//! they are for. Only their hash is kept; they need no slow hash, because
//! nobody can guess 256 bits.

use std::fmt;

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    digest::{SHA256, digest},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use secrecy::zeroize::Zeroizing;

use super::{Secret, SecretsError, random_bytes};

const TOKEN_BYTES: usize = 32;

/// `prefix_` and 43 URL-safe characters.
pub fn random_token(prefix: &str) -> Secret {
    let random = Zeroizing::new(URL_SAFE_NO_PAD.encode(random_bytes::<TOKEN_BYTES>()));
    format!("{prefix}_{}", *random).into()
}

/// What is stored of a token. Equality takes the same time wherever the first
/// difference is.
#[derive(Clone, Copy, Eq)]
pub struct TokenHash([u8; 32]);

pub fn hash_token(token: &str) -> TokenHash {
    let hash = digest(&SHA256, token.as_bytes());
    TokenHash(hash.as_ref().try_into().expect("SHA-256 has 32 bytes"))
}

impl TokenHash {
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn matches(&self, token: &str) -> bool {
        *self == hash_token(token)
    }
}

impl PartialEq for TokenHash {
    fn eq(&self, other: &Self) -> bool {
        verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl TryFrom<&[u8]> for TokenHash {
    type Error = SecretsError;

    fn try_from(bytes: &[u8]) -> Result<Self, SecretsError> {
        let hash = bytes.try_into().map_err(|_| SecretsError::Malformed)?;
        Ok(Self(hash))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[token hash]")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn tokens_are_url_safe_and_differ() {
        let tokens: HashSet<String> =
            (0..1000).map(|_| random_token("key").expose_text().unwrap().to_owned()).collect();
        assert_eq!(tokens.len(), 1000);
        for token in tokens {
            let random = token.strip_prefix("key_").unwrap();
            assert_eq!(random.len(), 43);
            assert!(random.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it)));
        }
    }

    #[test]
    fn a_hash_matches_its_token_only() {
        let hash = hash_token("key_a");
        assert!(hash.matches("key_a") && !hash.matches("key_b"));
        let stored = TokenHash::try_from(hash.as_bytes().as_slice()).unwrap();
        assert_eq!(stored, hash);
        assert!(TokenHash::try_from([0; 31].as_slice()).is_err());
    }
}
