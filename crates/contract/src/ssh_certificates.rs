//! SSH certificates: each lets the holder of a key into one allocation, for a few
//! minutes, through any gateway of its region. And the keys by which clients know
//! the gateways.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Raw, Timestamp, allocations::AllocationPath, endpoint, ssh_keys::PublicKey};

endpoint! {
    /// Get an SSH certificate for an allocation.
    ///
    /// It names the allocation and the caller. The caller's permissions are checked again when it is used.
    CreateSshCertificate = POST "/v1/projects/{project_id}/allocations/{allocation_id}/ssh-certificates" {
        path: AllocationPath,
        body: SshCertificateSpec,
        returns: 201 SshCertificate,
        auth: Project(AccessWrite),
        lane: Terminal,
        idempotency: KeyRequired,
        audit: Action("ssh_certificate.create"),
        problems: [Conflict, InvalidValue, NotFound, Suspended, Unavailable],
    }
}

endpoint! {
    /// The gateways' host keys, as lines of a `known_hosts` file.
    GetSshKnownHosts = GET "/v1/ssh-known-hosts" {
        returns: 200 Raw as "text/plain",
        auth: Public { because: "who connects compares it before anything is said" },
        lane: Login,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [Unavailable],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SshCertificateSpec {
    /// The key that is certified; its private half stays with the caller.
    pub public_key: PublicKey,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SshCertificate {
    /// In OpenSSH's form: what `CertificateFile` names a file of.
    pub certificate: String,
    pub expires_at: Timestamp,
    /// The login before the `@`.
    pub login: String,
    /// Host and port of the gateways of the allocation's region.
    pub address: String,
    /// The gateways' keys at that address, as lines of a `known_hosts` file.
    pub known_hosts: Vec<String>,
}
