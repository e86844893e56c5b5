//! SSH keys: a person's public keys, which their allocations let in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Name, Nothing, Page, Timestamp, endpoint, event, id::SshKeyId, list_query};

endpoint! {
    /// Add one of the caller's public keys.
    ///
    /// The caller proves ownership: `proof` is the output of `printf %s <id of the caller> | ssh-keygen -Y
    /// sign -n gpuaas-ssh-key -f <private key>`. A key belongs to one account.
    AddSshKey = POST "/v1/me/ssh-keys" {
        body: SshKeySpec,
        returns: 201 SshKey,
        auth: Person,
        lane: Default,
        second_factor: Recent,
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
    /// Hosts stop accepting it within seconds.
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
    /// The signature of the caller's id, by this key.
    pub proof: SshSignature,
}

/// What proofs of possession are signed for, so that no other signature is one.
pub const PROOF_NAMESPACE: &str = "gpuaas-ssh-key";

text! {
    /// A signature as `ssh-keygen -Y sign` prints it.
    SshSignature {
        schema: { "type": "string", "minLength": 100, "maxLength": 8192, "pattern": r"^-----BEGIN SSH SIGNATURE-----[A-Za-z0-9+/=\r\n ]+-----END SSH SIGNATURE-----[\r\n ]*$" },
        rule: |text| {
            let armored = text.trim_end_matches(['\r', '\n', ' ']).strip_prefix("-----BEGIN SSH SIGNATURE-----");
            let body = armored.and_then(|it| it.strip_suffix("-----END SSH SIGNATURE-----"));
            let is_body = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"+/=\r\n ".contains(&it));
            (100..=8192).contains(&text.len()) && body.is_some_and(is_body)
        },
        otherwise: "not a signature in OpenSSH's form: paste all of what `ssh-keygen -Y sign` prints",
    }
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
    SshKeyAdded = "ssh_key.added", staff: PlatformUsersRead { id: SshKeyId }
}
event! {
    /// A person removed a public key.
    SshKeyRemoved = "ssh_key.removed", staff: PlatformUsersRead { id: SshKeyId }
}
