//! The signature under which agent binaries are served, so that a host never runs
//! one that the control plane's keys did not sign.

use crate::keys::hex;
use crate::{SigningKey, TaskKey};
use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, prelude::BASE64_STANDARD};

/// Which binary: its version, the platform it is for, and its SHA-256 in hexadecimal.
#[derive(Clone, Copy, Debug)]
pub struct AgentBinary<'a> {
    pub version: &'a str,
    pub target: &'a str,
    pub sha256: &'a str,
}

impl AgentBinary<'_> {
    /// The signature in base64.
    pub fn sign(&self, key: &SigningKey) -> String {
        key.sign(&self.message())
    }

    /// Whether one of the keys signed exactly this.
    pub fn is_signed_by(&self, keys: &[TaskKey], signature: &str) -> bool {
        let Ok(signature) = BASE64_STANDARD.decode(signature) else {
            return false;
        };
        let message = self.message();
        keys.iter().any(|key| key.signed(&message, &signature))
    }

    fn message(&self) -> Vec<u8> {
        let Self { version, target, sha256 } = self;
        format!("gpuaas-agent-v1\0{version}\0{target}\0{sha256}").into_bytes()
    }
}

/// SHA-256 in lower-case hexadecimal, as checksums and hashes are written here.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_one_binary_and_one_key() {
        let key = SigningKey::from_seed(&[1; 32]).unwrap();
        let other = SigningKey::from_seed(&[2; 32]).unwrap();
        let sha256 = sha256_hex(b"binary");
        let binary = AgentBinary { version: "0.2.0", target: "x86_64", sha256: &sha256 };
        let signature = binary.sign(&key);
        assert!(binary.is_signed_by(&[other.public(), key.public()], &signature));
        assert!(!binary.is_signed_by(&[other.public()], &signature));
        assert!(!binary.is_signed_by(&[key.public()], "not base64!"));
        let renamed = AgentBinary { version: "0.3.0", ..binary };
        assert!(!renamed.is_signed_by(&[key.public()], &signature));
    }
}
