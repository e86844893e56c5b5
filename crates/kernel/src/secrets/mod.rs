//! The one place for secrets: values that do not print, envelope encryption
//! with rotating keys, and tokens. Where sealed bytes are stored, and who may
//! open them, is the caller's business.

mod envelope;
mod keyring;
mod token;

use std::{fmt, path::PathBuf};

use secrecy::zeroize::Zeroizing;

pub use envelope::Sealed;
pub use keyring::{KeyId, Keyring};
pub use token::{TokenHash, hash_token, random_token};

#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    #[error("the keyring has no key: add a line `id:base64 of 32 random bytes`")]
    EmptyKeyring,
    #[error(
        "entry {entry} of the keyring is not `id:base64 of 32 bytes`: correct it, the id has 1 to 32 of `a-z 0-9 . _ -`"
    )]
    BadEntry { entry: usize },
    #[error("the keyring contains key `{id}` twice: change the id of one of them")]
    DuplicateKey { id: KeyId },
    #[error("sealed by key `{id}`, which is not in the keyring: add that key again")]
    UnknownKey { id: KeyId },
    #[error(
        "key `{id}` cannot decrypt this: it was altered, sealed for another use, or the key with that id was replaced"
    )]
    Refused { id: KeyId },
    #[error("these bytes are not a sealed secret: restore them from a backup")]
    Malformed,
    #[error("sealed in format {version}, which this release does not support: upgrade it")]
    UnknownFormat { version: u8 },
    #[error("keyring file {path} cannot be used: check the path and its owner")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("keyring file {path} is readable by other users: run `chmod 600` on it")]
    Exposed { path: PathBuf },
}

/// Bytes that are wiped when dropped and never printed.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The secret as text, or nothing if it is not UTF-8.
    pub fn expose_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

fn random_bytes<const N: usize>() -> Zeroizing<[u8; N]> {
    let mut bytes = Zeroizing::new([0; N]);
    aws_lc_rs::rand::fill(bytes.as_mut()).expect("the system has a random source");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print() {
        let secret = Secret::from("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), "[secret]");
        assert_eq!(secret.expose_text(), Some("hunter2"));
        assert_eq!(Secret::new(vec![0xff]).expose_text(), None);
    }
}
