//! What an answer changes: time, epoch, keys, roots, and the tasks it delivered.

use super::{Agent, BRIEF, FIRST_EAGER, LAST_EAGER, Next};
use crate::host::Host;
use crate::identity::UNBELIEVED;
use crate::locked;
use crate::streams::Streams;
use protocol::stream::GatewayRef;
use protocol::{PollAnswer, Report, TrustSet};
use std::time::{Duration, Instant};
use trust::Trust;

const EMPTY_PAUSE: Duration = Duration::from_millis(500); // bound: a server that holds nothing is not asked in a loop
const LONGEST_WISH: Duration = Duration::from_secs(300); // bound: the control plane may slow us, not silence us

impl<H: Host> Agent<H> {
    pub(super) async fn absorb(&mut self, sent: &[Report], answer: PollAnswer, asked: Instant, wait: Duration) -> Next {
        self.clock.learn(answer.now);
        self.failures = 0;
        self.engine.settle(sent, &answer.accepted);
        self.learn(&answer);
        self.confirm_update();
        self.want_gateways(&answer.gateways);
        self.renew_asked |= answer.renew;
        if answer.want_inventory {
            self.telemetry.want_inventory();
        }
        let said_something = !answer.tasks.is_empty() || !answer.accepted.is_empty() || answer.want_inventory;
        self.engine.admit(&answer.tasks, &self.identity.task_keys);
        self.status.last_contact = Some(answer.now);
        self.tell_status("connected", String::new());
        self.wait_briefly(!answer.tasks.is_empty()).await;
        let wish = Duration::from_millis(answer.retry_after_ms.into()).min(LONGEST_WISH);
        if !wish.is_zero() {
            return Next::After(wish);
        }
        let too_soon = !said_something && sent.is_empty() && asked.elapsed() < wait / 4;
        if too_soon { Next::After(EMPTY_PAUSE.min(self.timing.heartbeat)) } else { Next::Now }
    }

    /// Tasks that end at once are reported with the next poll; for others the polls
    /// are held shorter, and the longer they run the less so.
    async fn wait_briefly(&mut self, began: bool) {
        if began {
            self.eager = FIRST_EAGER;
            let deadline = tokio::time::Instant::now() + BRIEF;
            while self.engine.is_busy() {
                if tokio::time::timeout_at(deadline, self.engine.task_ended()).await.is_err() {
                    break;
                }
            }
        } else if self.engine.is_busy() {
            self.eager = (self.eager * 2).min(LAST_EAGER);
        }
    }

    /// Takes over a new epoch, new task keys and new roots, and keeps them.
    fn learn(&mut self, answer: &PollAnswer) {
        let mut changed = false;
        if answer.epoch > self.identity.epoch {
            self.identity.epoch = answer.epoch;
            self.engine.learn_epoch(answer.epoch);
            changed = true;
        }
        let keys = answer.task_keys.as_deref().filter(|it| !it.is_empty() && **it != *self.identity.task_keys);
        let roots = answer.roots.as_deref().filter(|it| *it != self.identity.roots);
        if (keys.is_some() || roots.is_some()) && self.believes(answer) {
            self.identity.trust_version = answer.trust_version;
            changed = true;
            if let Some(keys) = keys {
                self.identity.task_keys = keys.to_vec();
                self.engine.sessions().learn_keys(keys);
            }
            if let Some(roots) = roots {
                self.trust_roots(roots);
            }
        }
        if changed {
            self.save_identity();
        }
    }

    fn believes(&self, answer: &PollAnswer) -> bool {
        let told = TrustSet {
            version: answer.trust_version,
            task_keys: answer.task_keys.as_deref().unwrap_or_default(),
            roots: answer.roots.as_deref().unwrap_or_default(),
        };
        let is_believed = self.identity.believes(told, &answer.endorsements);
        if !is_believed {
            tracing::error!("{UNBELIEVED}");
        }
        is_believed
    }

    fn want_gateways(&mut self, gateways: &[GatewayRef]) {
        let Some(streams) = &self.streams else { return };
        // Most nodes of a fleet never see a gateway: nothing is made before there is one.
        let is_first = !gateways.is_empty() && !streams.is_identified();
        streams.want(gateways);
        if is_first {
            self.identify_streams();
        }
    }

    /// Connections to gateways are made anew with the identity of now.
    pub(super) fn identify_streams(&self) {
        if let Some(streams) = &self.streams
            && let Err(error) = streams.identify(&self.identity, &self.clock)
        {
            tracing::error!(%error, "cannot connect to gateways");
        }
    }

    fn trust_roots(&mut self, roots: &str) {
        let mut identity = self.identity.clone();
        roots.clone_into(&mut identity.roots);
        let tls = Trust::in_roots(roots).and_then(|trust| trust.identified(&identity.pair, &self.clock));
        match tls {
            Ok(tls) => {
                self.link.identify(tls);
                self.identity = identity;
                if self.streams.as_ref().is_some_and(Streams::is_identified) {
                    self.identify_streams();
                }
            }
            Err(error) => {
                tracing::error!(%error, "the control plane sent invalid root certificates; continuing with the old ones");
            }
        }
    }

    pub(super) fn save_identity(&self) {
        if let Some(shared) = &self.keep.identity {
            *locked(shared) = Some(self.identity.clone());
        }
        if let Some(folder) = &self.keep.folder
            && let Err(error) = folder.save_identity(&self.identity)
        {
            tracing::error!(%error, "the identity could not be stored; free space on the disk");
        }
    }

    /// The control plane was reached: an update has proved itself.
    fn confirm_update(&mut self) {
        if let Some(guard) = self.guard.take() {
            let (task, outcome) = guard.confirm();
            self.engine.report_for_predecessor(&task, outcome);
        }
    }
}
