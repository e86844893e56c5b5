//! Becoming a node: a one-time token and a request for a certificate go out, an
//! identity comes back.

use crate::VERSION;
use crate::identity::Identity;
use crate::link::{Endpoint, Link, LinkError};
use protocol::{EnrollAnswer, EnrollRequest, Inventory, PROTOCOL, is_supported, paths};
use std::time::Duration;
use trust::{ControlClock, PairError, PendingRequest, Trust, TrustError};

const LIMIT: Duration = Duration::from_secs(60); // bound: thousands may enroll at the same moment

#[derive(Debug, thiserror::Error)]
pub enum EnrollError {
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Pair(#[from] PairError),
    #[error("protocol version mismatch: control plane {0}, agent {PROTOCOL}; install a matching agent")]
    Protocol(u16),
}

/// Spends the token. The key never leaves this host. With the same token and key
/// again, an answer that got lost is given once more.
pub async fn enroll(
    url: &str,
    token: &str,
    trust: &Trust,
    inventory: Inventory,
    asked: PendingRequest,
) -> Result<Identity, EnrollError> {
    let PendingRequest { key, csr } = asked;
    let request = EnrollRequest {
        protocol: PROTOCOL,
        token: token.to_owned(),
        csr,
        agent_version: VERSION.to_owned(),
        hostname: inventory.hostname.clone(),
        inventory,
    };
    let clock = ControlClock::default();
    let mut link = Link::new(Endpoint::parse(url)?, trust.anonymous(&clock)?);
    let answer: EnrollAnswer = link.post(paths::ENROLL, &request, LIMIT).await?;
    if !is_supported(answer.protocol) {
        return Err(EnrollError::Protocol(answer.protocol));
    }
    let identity = Identity::enrolled(url, key, answer);
    // What cannot be used must not replace what was there.
    Trust::in_roots(&identity.roots)?.identified(&identity.pair, &clock)?;
    Ok(identity)
}
