//! A new certificate before the old one ends: at two thirds of its life by the
//! control plane's clock, or when told.

use super::Agent;
use crate::host::Host;
use crate::identity::Identity;
use crate::link::{Link, LinkError};
use crate::streams::Streams;
use protocol::{PROTOCOL, RenewAnswer, RenewRequest, paths};
use std::time::Duration;
use trust::{PendingRequest, Trust};

const LIMIT: Duration = Duration::from_secs(30); // bound: signing takes milliseconds

impl<H: Host> Agent<H> {
    pub(super) async fn renew_if_due(&mut self) {
        let is_due = match (self.clock.now(), self.identity.pair.renew_at()) {
            (Some(now), Ok(at)) => now >= at,
            _ => false,
        };
        if !is_due && !self.renew_asked {
            return;
        }
        match renewed(&mut self.link, &self.identity).await {
            Ok((identity, answer_now)) => {
                self.clock.learn(answer_now);
                self.adopt(identity);
            }
            // The next turn tries again; the poll's back-off sets the pace.
            Err(error) => tracing::warn!(%error, "the certificate was not renewed; trying again"),
        }
    }

    fn adopt(&mut self, identity: Identity) {
        let tls = Trust::in_roots(&identity.roots).and_then(|trust| trust.identified(&identity.pair, &self.clock));
        match tls {
            Ok(tls) => {
                self.link.identify(tls);
                self.engine.learn_epoch(identity.epoch);
                self.status.certificate_until = identity.pair.lifetime().ok().map(|(_, until)| until);
                self.engine.sessions().learn_keys(&identity.task_keys);
                self.identity = identity;
                if self.streams.as_ref().is_some_and(Streams::is_identified) {
                    self.identify_streams();
                }
                self.renew_asked = false;
                self.save_identity();
                tracing::info!(until = ?self.status.certificate_until, "renewed the certificate");
            }
            Err(error) => tracing::error!(%error, "the new certificate cannot be used; keeping the old one"),
        }
    }
}

async fn renewed(link: &mut Link, old: &Identity) -> Result<(Identity, jiff::Timestamp), LinkError> {
    let PendingRequest { key, csr } = PendingRequest::new().map_err(|error| LinkError::Garbled(error.to_string()))?;
    let request = RenewRequest { protocol: PROTOCOL, csr };
    let answer: RenewAnswer = link.post(paths::RENEW, &request, LIMIT).await?;
    let now = answer.now;
    Ok((old.renewed(key, answer), now))
}
