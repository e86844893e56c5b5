//! What lets a host believe in new task keys and roots: a signature of a key that it
//! believes already. The connection alone is not enough, or whoever passed for the
//! control plane once could make a host its own for good.

use crate::agent_binary::sha256_hex;
use crate::{SigningKey, TaskKey};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// One key's word for what an answer tells to trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endorsement {
    pub key_id: String,
    /// In base64.
    pub signature: String,
}

/// Which of all sets it is. Both counts only rise within an epoch; a database that was
/// restored begins another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustVersion {
    pub epoch: i64,
    /// How often the task keys changed.
    pub keys: u64,
    /// How often the roots changed.
    pub roots: u64,
}

impl TrustVersion {
    /// Whether it may replace a set that is known. Whoever recorded an earlier one,
    /// with a key that was revoked since, must not bring it back.
    pub fn may_follow(self, known: Self) -> bool {
        self.epoch > known.epoch || self.epoch == known.epoch && self.keys >= known.keys && self.roots >= known.roots
    }
}

/// What an answer tells to trust; what it leaves out is empty.
#[derive(Clone, Copy, Debug)]
pub struct TrustSet<'a> {
    pub version: TrustVersion,
    pub task_keys: &'a [TaskKey],
    /// PEM bundle.
    pub roots: &'a str,
}

impl TrustSet<'_> {
    pub fn endorse(&self, key: &SigningKey) -> Endorsement {
        Endorsement { key_id: key.id().to_owned(), signature: key.sign(&self.message()) }
    }

    /// Whether one of these keys endorsed exactly this.
    pub fn is_endorsed_by(&self, keys: &[TaskKey], endorsements: &[Endorsement]) -> bool {
        let message = self.message();
        endorsements.iter().any(|it| {
            let Ok(signature) = BASE64_STANDARD.decode(&it.signature) else { return false };
            keys.iter().any(|key| key.id == it.key_id && key.signed(&message, &signature))
        })
    }

    fn message(&self) -> Vec<u8> {
        let mut text = String::from("gpuaas-trust-v1\n");
        let TrustVersion { epoch, keys, roots } = self.version;
        let _ = writeln!(text, "version {epoch} {keys} {roots}");
        for TaskKey { id, public_key } in self.task_keys {
            // Lengths keep one list from reading like another.
            let _ = writeln!(text, "key {} {id} {} {public_key}", id.len(), public_key.len());
        }
        let _ = writeln!(text, "roots {}", sha256_hex(self.roots.as_bytes()));
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_seed(&[byte; 32]).unwrap()
    }

    #[test]
    fn endorsement_holds_for_one_set_and_by_known_keys() {
        let (old, new, thief) = (key(1), key(2), key(3));
        let keys = [new.public(), old.public()];
        let version = TrustVersion { epoch: 1, keys: 2, roots: 1 };
        let set = TrustSet { version, task_keys: &keys, roots: "pem" };
        let endorsed = [set.endorse(&old)];
        assert!(set.is_endorsed_by(&[old.public()], &endorsed));
        assert!(!set.is_endorsed_by(&[new.public()], &endorsed), "by none that is known");
        assert!(!set.is_endorsed_by(&[old.public()], &[set.endorse(&thief)]));
        let mut posing = set.endorse(&thief);
        posing.key_id = old.id().to_owned();
        assert!(!set.is_endorsed_by(&[old.public()], &[posing]));
        assert!(!set.is_endorsed_by(&[old.public()], &[]));
        let stolen = [thief.public()];
        assert!(!TrustSet { task_keys: &stolen, ..set }.is_endorsed_by(&[old.public()], &endorsed));
        assert!(!TrustSet { roots: "other", ..set }.is_endorsed_by(&[old.public()], &endorsed));
        let later = TrustVersion { keys: 3, ..version };
        assert!(!TrustSet { version: later, ..set }.is_endorsed_by(&[old.public()], &endorsed));
    }

    #[test]
    fn earlier_set_does_not_follow_a_later_one() {
        let version = |epoch, keys, roots| TrustVersion { epoch, keys, roots };
        let known = version(2, 5, 3);
        for (it, follows) in [
            (version(2, 5, 3), true),
            (version(2, 6, 3), true),
            (version(2, 5, 4), true),
            (version(2, 4, 9), false),
            (version(2, 9, 2), false),
            (version(1, 9, 9), false),
            (version(3, 1, 1), true),
        ] {
            assert_eq!(it.may_follow(known), follows, "{it:?}");
        }
    }
}
