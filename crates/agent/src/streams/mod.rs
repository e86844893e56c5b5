//! Streams into allocations. This side dials every gateway of its region, checks
//! the grant of each stream, and owns the shells: they outlive connections and
//! gateways, not the agent.

mod admit;
mod clock;
mod dial;
mod exec;
pub mod listeners;
pub mod processes;
mod pty;
mod raw;
mod refusal;
mod registry;
mod serve;
pub mod shell;
mod terminal;
mod wire;

pub use admit::{Judge, Trusted};
pub use refusal::{Counts, Refused};
pub use registry::{ClosedGuard, Sessions};

use crate::backoff::Backoff;
use crate::identity::Identity;
use crate::workloads::Workloads;
use dial::DialTarget;
use protocol::stream::{ALPN, Closing, GatewayRef};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use trust::{ControlClock, Trust, TrustError};

/// The connections of one agent. Dropping it leaves them to their token.
pub struct Streams {
    wanted: watch::Sender<DialTarget>,
}

impl Streams {
    pub fn new() -> Self {
        Self { wanted: watch::Sender::new(DialTarget::default()) }
    }

    /// Dials what is wanted until `stop` is canceled; every stream ends with it,
    /// and then what is returned.
    pub fn start(
        &self,
        workloads: Workloads,
        sessions: Sessions,
        backoff: Backoff,
        stop: CancellationToken,
    ) -> JoinHandle<()> {
        let wanted = self.wanted.subscribe();
        tokio::spawn(async move {
            let all = sessions.clone();
            // Lines go only after their streams were told why they end.
            let lines = CancellationToken::new();
            let keeping = tokio::spawn(dial::keep(workloads, sessions, wanted, backoff, lines.clone()));
            stop.cancelled().await;
            all.end_all(Closing::GoingAway).await;
            lines.cancel();
            let _ = keeping.await;
        })
    }

    /// The list of the last poll.
    pub fn want(&self, gateways: &[GatewayRef]) {
        self.wanted.send_if_modified(|wanted| {
            let is_new = wanted.gateways != gateways;
            if is_new {
                wanted.gateways = gateways.to_vec();
            }
            is_new
        });
    }

    /// Connects anew with another certificate or other roots.
    pub fn identify(&self, identity: &Identity, clock: &ControlClock) -> Result<(), TrustError> {
        let tls = Trust::in_gateways(&identity.roots)?.identified(&identity.pair, clock)?;
        let mut tls = Arc::unwrap_or_clone(tls);
        tls.alpn_protocols = vec![ALPN.to_vec()];
        self.wanted.send_modify(|wanted| {
            wanted.generation += 1;
            wanted.tls = Some(Arc::new(tls));
        });
        Ok(())
    }

    pub fn is_identified(&self) -> bool {
        self.wanted.borrow().tls.is_some()
    }
}

impl Default for Streams {
    fn default() -> Self {
        Self::new()
    }
}
