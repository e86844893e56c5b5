//! Envelope encryption: each secret has a data key of its own, and a key of
//! the keyring wraps that data key, so rotation rewrites some eighty bytes and
//! leaves the ciphertext alone. The context (what the secret is for, such as
//! `webhooks/<id>`) is authenticated in both layers: bytes that were moved to
//! another row do not open there.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, MAX_TAG_LEN, NONCE_LEN, Nonce, RandomizedNonceKey};
use secrecy::zeroize::Zeroizing;

use super::{KeyId, Keyring, Secret, SecretsError, keyring::KEY_BYTES, random_bytes};

const FORMAT: u8 = 1;
const WRAPPED_BYTES: usize = KEY_BYTES + MAX_TAG_LEN;

/// What is stored instead of a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    key_id: KeyId,
    wrapped: Vec<u8>,
    ciphertext: Vec<u8>,
}

impl Keyring {
    pub fn seal(&self, context: &str, plaintext: &[u8]) -> Sealed {
        let data_key = random_bytes::<KEY_BYTES>();
        let ciphertext = encrypt(&cipher(&*data_key), &data_aad(context), plaintext);
        Sealed { key_id: self.active().clone(), wrapped: self.wrap(context, &*data_key), ciphertext }
    }

    pub fn open(&self, context: &str, sealed: &Sealed) -> Result<Secret, SecretsError> {
        let data_key = self.unwrap_data_key(context, sealed)?;
        decrypt(&cipher(&data_key), &data_aad(context), &sealed.ciphertext).map(Secret).ok_or_else(|| sealed.refused())
    }

    /// Moves a secret under the active key without reading it. One that is
    /// there already comes back as it is.
    pub fn rewrap(&self, context: &str, sealed: &Sealed) -> Result<Sealed, SecretsError> {
        if sealed.key_id == *self.active() {
            return Ok(sealed.clone());
        }
        let data_key = self.unwrap_data_key(context, sealed)?;
        Ok(Sealed {
            key_id: self.active().clone(),
            wrapped: self.wrap(context, &data_key),
            ciphertext: sealed.ciphertext.clone(),
        })
    }

    fn wrap(&self, context: &str, data_key: &[u8]) -> Vec<u8> {
        let key = self.key(self.active()).expect("the active key is in the keyring");
        encrypt(key, &wrap_aad(self.active(), context), data_key)
    }

    fn unwrap_data_key(&self, context: &str, sealed: &Sealed) -> Result<Zeroizing<Vec<u8>>, SecretsError> {
        let aad = wrap_aad(&sealed.key_id, context);
        decrypt(self.key(&sealed.key_id)?, &aad, &sealed.wrapped).ok_or_else(|| sealed.refused())
    }
}

impl Sealed {
    /// The key that wraps it now, to find what rotation has still to move.
    pub fn key_id(&self) -> &KeyId {
        &self.key_id
    }

    /// Format, length of the key id, key id, wrapped data key, ciphertext;
    /// both encrypted parts open with their nonce and close with their tag.
    pub fn to_bytes(&self) -> Vec<u8> {
        let id = self.key_id.as_str().as_bytes();
        let id_length = u8::try_from(id.len()).expect("a key id has at most 32 bytes");
        [&[FORMAT, id_length], id, &self.wrapped, &self.ciphertext].concat()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SecretsError> {
        let (version, rest) = bytes.split_first().ok_or(SecretsError::Malformed)?;
        if *version != FORMAT {
            return Err(SecretsError::UnknownFormat { version: *version });
        }
        let parts = || {
            let (id_length, rest) = rest.split_first()?;
            let (id, rest) = rest.split_at_checked(usize::from(*id_length))?;
            let (wrapped, ciphertext) = rest.split_at_checked(NONCE_LEN + WRAPPED_BYTES)?;
            let whole = ciphertext.len() >= NONCE_LEN + MAX_TAG_LEN;
            whole.then_some((std::str::from_utf8(id).ok()?, wrapped, ciphertext))
        };
        let (id, wrapped, ciphertext) = parts().ok_or(SecretsError::Malformed)?;
        Ok(Self { key_id: id.parse()?, wrapped: wrapped.to_vec(), ciphertext: ciphertext.to_vec() })
    }

    fn refused(&self) -> SecretsError {
        SecretsError::Refused { id: self.key_id.clone() }
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// The key id is bound to the wrapping only, so that rewrapping needs no
/// change of the ciphertext.
fn wrap_aad(key_id: &KeyId, context: &str) -> Vec<u8> {
    [b"gpuaas secret key v1\0", key_id.as_str().as_bytes(), b"\0", context.as_bytes()].concat()
}

fn data_aad(context: &str) -> Vec<u8> {
    [b"gpuaas secret data v1\0", context.as_bytes()].concat()
}

fn cipher(key: &[u8]) -> RandomizedNonceKey {
    RandomizedNonceKey::new(&AES_256_GCM, key).expect("a data key has the cipher's length")
}

fn encrypt(key: &RandomizedNonceKey, aad: &[u8], plaintext: &[u8]) -> Vec<u8> {
    // Room for the tag up front: a vector that grows leaves plaintext behind.
    let mut body = Vec::with_capacity(plaintext.len() + MAX_TAG_LEN);
    body.extend_from_slice(plaintext);
    let nonce = key
        .seal_in_place_append_tag(Aad::from(aad), &mut body)
        .expect("a secret is far below the cipher's limit of 64 GiB");
    [nonce.as_ref().as_slice(), &body].concat()
}

fn decrypt(key: &RandomizedNonceKey, aad: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (nonce, body) = sealed.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut body = Zeroizing::new(body.to_vec());
    let length = key.open_in_place(nonce, Aad::from(aad), &mut body).ok()?.len();
    body.truncate(length);
    Some(body)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONTEXT: &str = "webhooks/1";

    fn entry() -> String {
        Keyring::generate_entry().expose_text().unwrap().to_owned()
    }

    fn keyring(entries: &[&str]) -> Keyring {
        Keyring::parse(&entries.join("\n")).unwrap()
    }

    #[test]
    fn another_context_does_not_open_it() {
        let keys = keyring(&[&entry()]);
        let sealed = keys.seal(CONTEXT, b"secret");
        assert_eq!(keys.open(CONTEXT, &sealed).unwrap().expose(), b"secret");
        let error = keys.open("webhooks/2", &sealed).unwrap_err();
        assert!(matches!(error, SecretsError::Refused { .. }), "{error}");
    }

    #[test]
    fn a_different_key_under_the_same_id_does_not_open_it() {
        let (first, second) = (entry(), entry());
        let id = first.split(':').next().unwrap();
        let replaced = format!("{id}:{}", second.split(':').next_back().unwrap());
        let sealed = keyring(&[&first]).seal(CONTEXT, b"secret");
        let error = keyring(&[&replaced]).open(CONTEXT, &sealed).unwrap_err();
        assert!(matches!(error, SecretsError::Refused { .. }), "{error}");
    }

    #[test]
    fn an_unknown_key_is_named() {
        let sealed = keyring(&[&entry()]).seal(CONTEXT, b"secret");
        let error = keyring(&[&entry()]).open(CONTEXT, &sealed).unwrap_err();
        assert!(matches!(error, SecretsError::UnknownKey { .. }));
        assert!(error.to_string().contains(sealed.key_id().as_str()));
    }

    #[test]
    fn rotation_moves_the_key_and_leaves_the_ciphertext() {
        let (old, new) = (entry(), entry());
        let sealed = keyring(&[&old]).seal(CONTEXT, b"secret");
        let both = keyring(&[&new, &old]);
        let moved = both.rewrap(CONTEXT, &sealed).unwrap();
        assert_eq!(moved.key_id(), both.active());
        assert_eq!(moved.ciphertext, sealed.ciphertext);
        assert_eq!(both.rewrap(CONTEXT, &moved).unwrap(), moved);
        assert!(both.rewrap("webhooks/2", &sealed).is_err());

        let only_new = keyring(&[&new]);
        assert_eq!(only_new.open(CONTEXT, &moved).unwrap().expose(), b"secret");
        assert!(only_new.open(CONTEXT, &sealed).is_err());
    }

    #[test]
    fn a_flipped_bit_anywhere_is_noticed() {
        let keys = keyring(&[&entry()]);
        let bytes = keys.seal(CONTEXT, b"secret").to_bytes();
        for place in 0..bytes.len() * 8 {
            let mut bent = bytes.clone();
            bent[place / 8] ^= 1 << (place % 8);
            let opened = Sealed::from_bytes(&bent).and_then(|it| keys.open(CONTEXT, &it));
            assert!(opened.is_err(), "bit {place}");
        }
        for length in 0..bytes.len() {
            let opened = Sealed::from_bytes(&bytes[..length]).and_then(|it| keys.open(CONTEXT, &it));
            assert!(opened.is_err(), "cut to {length}");
        }
    }

    #[test]
    fn equal_secrets_do_not_look_equal() {
        let keys = keyring(&[&entry()]);
        let (a, b) = (keys.seal(CONTEXT, b"secret"), keys.seal(CONTEXT, b"secret"));
        assert_ne!(a.ciphertext, b.ciphertext);
        assert_ne!(a.wrapped, b.wrapped);
    }

    proptest! {
        #[test]
        fn sealed_secret_opens_again(context: String, plaintext: Vec<u8>) {
            let keys = keyring(&[&entry()]);
            let sealed = keys.seal(&context, &plaintext);
            let read = Sealed::from_bytes(&sealed.to_bytes()).unwrap();
            prop_assert_eq!(&read, &sealed);
            let opened = keys.open(&context, &read).unwrap();
            prop_assert_eq!(opened.expose(), plaintext);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let keys = keyring(&[&entry()]);
            for bytes in [bytes.clone(), [&[FORMAT, 2], bytes.as_slice()].concat()] {
                let opened = Sealed::from_bytes(&bytes).and_then(|it| keys.open("", &it));
                prop_assert!(opened.is_err());
            }
        }
    }
}
