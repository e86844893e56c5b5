//! SSH keys: a person's public keys, which their allocations let in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Name, Nothing, Page, Timestamp, endpoint, event, id::SshKeyId, list_query};

endpoint! {
    /// Add one of the caller's public keys.
    AddSshKey = POST "/v1/me/ssh-keys" {
        body: SshKeySpec,
        returns: 201 SshKey,
        auth: Person,
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("ssh_key.add"),
        problems: [InvalidValue, NameTaken, LimitReached],
    }
}

endpoint! {
    /// List the caller's public keys.
    ListSshKeys = GET "/v1/me/ssh-keys" {
        query: SshKeyFilter,
        returns: 200 Page<SshKey>,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Remove one of the caller's public keys.
    ///
    /// Allocations that let it in keep doing so until their keys are set again.
    RemoveSshKey = DELETE "/v1/me/ssh-keys/{ssh_key_id}" {
        path: SshKeyPath,
        returns: 200 Nothing,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: Action("ssh_key.remove"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SshKeyPath {
    pub ssh_key_id: SshKeyId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SshKeySpec {
    pub name: Name,
    pub public_key: PublicKey,
}

text! {
    /// A public key as OpenSSH writes it: kind, base 64, and perhaps a comment.
    PublicKey {
        schema: { "type": "string", "minLength": 40, "maxLength": 4096, "pattern": r"^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com) [A-Za-z0-9+/]+={0,2}( [ -~]{0,256})?$" },
        rule: |text| {
            let mut parts = text.splitn(3, ' ');
            let kinds = ["ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "sk-ssh-ed25519@openssh.com"];
            let kind = parts.next().is_some_and(|it| kinds.contains(&it));
            let body = parts.next().is_some_and(|it| {
                let digits = it.trim_end_matches('=');
                !digits.is_empty() && it.len() - digits.len() <= 2 && digits.bytes().all(|it| it.is_ascii_alphanumeric() || b"+/".contains(&it))
            });
            let comment = parts.next().is_none_or(|it| it.len() <= 256 && it.bytes().all(|it| (b' '..=b'~').contains(&it)));
            (40..=4096).contains(&text.len()) && kind && body && comment
        },
        otherwise: "not a public key in OpenSSH's form: paste the one line of `~/.ssh/id_ed25519.pub`",
    }
}

list_query! {
    SshKeyFilter {
        /// Only the key with this name.
        name: Name,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SshKey {
    pub id: SshKeyId,
    pub name: Name,
    pub public_key: PublicKey,
    /// As `ssh-keygen -l` prints it.
    pub fingerprint: String,
    pub created_at: Timestamp,
}

event! {
    /// A person added a public key.
    SshKeyAdded = "ssh_key.added" { id: SshKeyId }
}
event! {
    /// A person removed a public key.
    SshKeyRemoved = "ssh_key.removed" { id: SshKeyId }
}
