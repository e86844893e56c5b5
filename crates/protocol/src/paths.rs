//! Where the node listener serves what.

pub const ENROLL: &str = "/node/v1/enroll";
pub const RENEW: &str = "/node/v1/renew";
pub const POLL: &str = "/node/v1/poll";
pub const AGENTS: &str = "/node/v1/agents";

/// The header with the SHA-256 of an agent binary, in hexadecimal.
pub const SHA256_HEADER: &str = "x-sha256";
/// The header with the signature of an agent binary, in base64.
pub const SIGNATURE_HEADER: &str = "x-signature";

/// Where the agent binary of a version for a target is.
pub fn agent(version: &str, target: &str) -> String {
    format!("{AGENTS}/{version}/{target}")
}
