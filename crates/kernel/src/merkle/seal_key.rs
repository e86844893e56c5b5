//! The Ed25519 key that signs roots, so that whoever can write the database
//! still cannot forge a sealed batch. Its private half lives in
//! `kernel::secrets`; its public half may be given to anybody.

use aws_lc_rs::{
    digest::{SHA256, digest},
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};

use crate::secrets::Secret;

pub const PUBLIC_KEY_BYTES: usize = 32;
pub const SIGNATURE_BYTES: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("not an Ed25519 private key in PKCS#8: restore the key or generate a new one")]
    BadKey(#[source] aws_lc_rs::error::KeyRejected),
    #[error("the signature is not by key `{key_id}` over these bytes: one of the three was altered")]
    BadSignature { key_id: String },
}

pub struct SealKey(Ed25519KeyPair);

impl SealKey {
    /// A new key and its PKCS#8 form, to be sealed and stored.
    pub fn generate() -> (Self, Secret) {
        let pair = Ed25519KeyPair::generate().expect("the system has a random source");
        let pkcs8 = pair.to_pkcs8().expect("a generated key has a PKCS#8 form");
        let secret = Secret::new(pkcs8.as_ref().to_vec());
        (Self(pair), secret)
    }

    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, SealError> {
        Ed25519KeyPair::from_pkcs8(bytes).map(Self).map_err(SealError::BadKey)
    }

    pub fn public_key(&self) -> [u8; PUBLIC_KEY_BYTES] {
        self.0.public_key().as_ref().try_into().expect("an Ed25519 public key has 32 bytes")
    }

    pub fn key_id(&self) -> String {
        seal_key_id(&self.public_key())
    }

    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.0.sign(message).as_ref().try_into().expect("an Ed25519 signature has 64 bytes")
    }
}

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealKey({})", self.key_id())
    }
}

/// The first 16 hex digits of the public key's SHA-256.
pub fn seal_key_id(public_key: &[u8]) -> String {
    digest(&SHA256, public_key).as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn verify(public_key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), SealError> {
    UnparsedPublicKey::new(&ED25519, public_key)
        .verify(message, signature)
        .map_err(|_| SealError::BadSignature { key_id: seal_key_id(public_key) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stored_key_signs_like_the_generated_one() {
        let (key, pkcs8) = SealKey::generate();
        let stored = SealKey::from_pkcs8(pkcs8.expose()).unwrap();
        assert_eq!(stored.public_key(), key.public_key());
        assert_eq!(stored.sign(b"root"), key.sign(b"root"));
        assert_eq!(stored.key_id().len(), 16);
        assert!(SealKey::from_pkcs8(b"nonsense").is_err());
    }

    #[test]
    fn another_key_is_refused_and_named() {
        let (key, other) = (SealKey::generate().0, SealKey::generate().0);
        let error = verify(&other.public_key(), b"root", &key.sign(b"root")).unwrap_err();
        assert!(error.to_string().contains(&other.key_id()), "{error}");
        assert!(verify(b"short", b"root", &key.sign(b"root")).is_err());
    }

    proptest! {
        #[test]
        fn a_signature_holds_for_its_message_only(message: Vec<u8>, other: Vec<u8>, place in 0..SIGNATURE_BYTES) {
            let (key, _) = SealKey::generate();
            let mut signature = key.sign(&message);
            prop_assert!(verify(&key.public_key(), &message, &signature).is_ok());
            prop_assert_eq!(verify(&key.public_key(), &other, &signature).is_ok(), other == message);
            signature[place] ^= 1;
            prop_assert!(verify(&key.public_key(), &message, &signature).is_err());
        }
    }
}
