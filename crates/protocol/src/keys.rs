//! The Ed25519 keys under which tasks and agent binaries are signed.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A public key that a host accepts tasks from. The set rotates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskKey {
    pub id: String,
    /// The 32 bytes of the key, in base64.
    pub public_key: String,
}

impl TaskKey {
    /// Whether the key's owner signed the message.
    pub fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(key) = BASE64_STANDARD.decode(&self.public_key) else {
            return false;
        };
        UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok()
    }
}

/// The secret half; it never leaves the control plane.
pub struct SigningKey {
    id: String,
    pair: Ed25519KeyPair,
}

/// A seed that is not one.
#[derive(Debug, thiserror::Error)]
#[error("a task key's seed has 32 bytes")]
pub struct BadKey;

impl SigningKey {
    /// The key of a 32-byte secret. Its id is derived from the public half.
    pub fn from_seed(seed: &[u8]) -> Result<Self, BadKey> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| BadKey)?;
        let id = hex(&digest(&SHA256, pair.public_key().as_ref()).as_ref()[..8]);
        Ok(Self { id, pair })
    }

    /// A new random seed, to be kept secret and given to [`SigningKey::from_seed`].
    pub fn random_seed() -> [u8; 32] {
        let mut seed = [0; 32];
        aws_lc_rs::rand::fill(&mut seed).expect("the operating system gives randomness");
        seed
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// What hosts are given to check this key's signatures.
    pub fn public(&self) -> TaskKey {
        TaskKey { id: self.id.clone(), public_key: BASE64_STANDARD.encode(self.pair.public_key().as_ref()) }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> String {
        BASE64_STANDARD.encode(self.pair.sign(message).as_ref())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_key() {
        let seed = SigningKey::random_seed();
        let (a, b) = (SigningKey::from_seed(&seed).unwrap(), SigningKey::from_seed(&seed).unwrap());
        assert_eq!(a.public(), b.public());
        assert_eq!(a.id().len(), 16);
        assert!(SigningKey::from_seed(&seed[..31]).is_err());
    }

    #[test]
    fn the_secret_half_is_not_printed() {
        let key = SigningKey::from_seed(&[7; 32]).unwrap();
        assert_eq!(format!("{key:?}"), format!("SigningKey {{ id: {:?}, .. }}", key.id()));
    }
}
