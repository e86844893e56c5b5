//! Whether certificates still work: remembered per certificate, corrected
//! within a second of a revocation anywhere, which also cuts live connections.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::Timestamp;
use kernel::{Access, Db, Tx};
use platform::forget::Forget;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use super::refusal::Refusal;
use crate::{
    FleetArea,
    ca::{CertificateSubject, Peer},
    gateways, nodes,
};

#[derive(Clone, Default)]
pub struct CertificateChecks {
    known: Arc<Mutex<HashMap<String, Entry>>>,
    look: Arc<Notify>,
}

#[derive(Default)]
struct Entry {
    is_revoked: bool,
    /// The connections that showed it.
    connections: HashMap<u64, CancellationToken>,
}

/// A connection's place; given up when dropped.
pub struct ConnectionPermit {
    checks: CertificateChecks,
    serial: String,
    connection: u64,
    /// Canceled when the certificate no longer works.
    pub cut: CancellationToken,
}

impl Forget for CertificateChecks {
    /// Looks for revocations now, because something happened to a node or gateway.
    fn forget(&self) {
        self.look.notify_one();
    }
}

impl CertificateChecks {
    /// A place for a connection whose certificate works, or why it does not.
    /// The only look at the database that a connection needs.
    pub async fn admit(&self, db: &Db, peer: &Peer, connection: u64) -> Result<ConnectionPermit, Refusal> {
        let mut tx = Tx::system(db, "node_api", Access::Read).await?;
        let is_revoked = is_peer_revoked(&mut tx, peer).await?;
        tx.commit().await?;
        if is_revoked.ok_or(Refusal::UnknownNode)? {
            return Err(Refusal::Revoked);
        }
        let cut = CancellationToken::new();
        let mut known = self.lock();
        // A revocation that was seen meanwhile stays seen: it is looked for again and again.
        let entry = known.entry(peer.serial.clone()).or_default();
        entry.connections.insert(connection, cut.clone());
        Ok(ConnectionPermit { checks: self.clone(), serial: peer.serial.clone(), connection, cut })
    }

    fn check(&self, serial: &str) -> Result<(), Refusal> {
        match self.lock().get(serial) {
            Some(Entry { is_revoked: false, .. }) => Ok(()),
            Some(Entry { is_revoked: true, .. }) => Err(Refusal::Revoked),
            // It was forgotten since the connection was made.
            None => Err(Refusal::Revoked),
        }
    }

    fn revoke(&self, serials: &[String]) {
        let mut known = self.lock();
        for serial in serials {
            if let Some(entry) = known.get_mut(serial) {
                entry.is_revoked = true;
                entry.connections.drain().for_each(|(_, cut)| cut.cancel());
            }
        }
    }

    /// Whether nobody is connected whose certificate could be revoked.
    fn is_idle(&self) -> bool {
        self.lock().is_empty()
    }

    fn serials(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Entry>> {
        self.known.lock().expect("no code panics while it holds this lock")
    }
}

impl ConnectionPermit {
    /// Whether the certificate still works.
    pub fn check(&self) -> Result<(), Refusal> {
        self.checks.check(&self.serial)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut known = self.checks.lock();
        if let Some(entry) = known.get_mut(&self.serial) {
            entry.connections.remove(&self.connection);
            // Who comes back is read again.
            if entry.connections.is_empty() {
                known.remove(&self.serial);
            }
        }
    }
}

/// Whether a certificate was revoked; nothing when it is not known as that peer's.
pub async fn is_peer_revoked(tx: &mut Tx, peer: &Peer) -> sqlx::Result<Option<bool>> {
    Ok(match peer.who {
        CertificateSubject::Node(node) => {
            nodes::certificate_status(tx, &peer.serial).await?.filter(|it| it.node == node).map(|it| it.is_revoked)
        }
        CertificateSubject::Gateway(gateway) => gateways::is_certificate_revoked(tx, gateway, &peer.serial).await?,
    })
}

// bound: the promise is that a revocation holds within a second, whether or not its event was heard
const LOOK: Duration = Duration::from_millis(900);
// bound: longer than any transaction may run before its revocation can be seen
const OVERLAP: Duration = Duration::from_secs(60);
// bound: how soon certificates stop working that housekeeping forgot
const RECHECK: Duration = Duration::from_secs(30);

/// Looks for revocations until stopped.
pub async fn run(area: Arc<FleetArea>, stop: CancellationToken) {
    let checks = &area.certificate_checks;
    let mut since = area.db.clock.estimate() - OVERLAP;
    let mut rechecked = Instant::now();
    while !stop.is_cancelled() {
        let whole = rechecked.elapsed() >= RECHECK;
        if checks.is_idle() {
            since = area.db.clock.estimate() - OVERLAP;
            wait(checks, &stop).await;
            continue;
        }
        match look(&area.db, checks, since, whole).await {
            Ok(seen) => {
                since = seen - OVERLAP;
                if whole {
                    rechecked = Instant::now();
                }
            }
            Err(error) => tracing::warn!(%error, "looking for revoked certificates failed; trying again"),
        }
        wait(checks, &stop).await;
    }
}

async fn wait(checks: &CertificateChecks, stop: &CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => (),
        () = checks.look.notified() => (),
        () = tokio::time::sleep(LOOK) => (),
    }
}

async fn look(db: &Db, checks: &CertificateChecks, since: Timestamp, whole: bool) -> sqlx::Result<Timestamp> {
    let mut tx = Tx::system(db, "node_api", Access::Read).await?;
    let now = kernel::clock::now(&mut tx).await?;
    let mut revoked = nodes::revoked_since(&mut tx, since).await?;
    revoked.extend(gateways::revoked_since(&mut tx, since).await?);
    if whole {
        let known = checks.serials();
        let mut working = nodes::working(&mut tx, &known).await?;
        working.extend(gateways::working(&mut tx, &known).await?);
        let working: std::collections::HashSet<&String> = working.iter().collect();
        revoked.extend(known.iter().filter(|it| !working.contains(it)).cloned());
    }
    tx.commit().await?;
    checks.revoke(&revoked);
    Ok(now)
}
