//! The built-in CA: a root that may be kept elsewhere, an intermediate that
//! signs the certificates of nodes, gateways and the node listener, both in the vault
//! and shared by all replicas. Which certificates are revoked is told by `nodes`
//! and `gateways`.

mod authority;
mod identity;
mod request;
mod turnover;
mod upkeep;

pub use authority::{Authority, CaError, Issued, Validity};
pub use identity::{CertificateSubject, Peer, gateway_uri, node_uri};
pub use request::{CsrError, key_hash, read_request};
pub use turnover::Turnover;
pub use upkeep::{Overview, UpkeepError, export_root, overview, rotate, rotate_root};

use std::{
    fmt,
    sync::{
        Arc, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use contract::Timestamp;
use kernel::{
    Access, Db, Tx,
    secrets::{Keyring, Secret},
    vault::{self, VaultError, VaultKey},
};
use tokio_util::sync::CancellationToken;

use platform::policies::{Policies, settings};

use crate::FleetArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<FleetArea>) {}

/// The vault's names for both halves of the CA.
pub const ROOT: &str = "ca_root";
pub const INTERMEDIATE: &str = "ca_intermediate";

// bound: how soon another replica's new certificate is noticed
const REFRESH: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Ca {
    db: Db,
    keyring: Arc<Keyring>,
    held: Arc<RwLock<Arc<Authority>>>,
    /// Counts the changes of what is held.
    version: Arc<AtomicU64>,
}

impl Ca {
    /// Reads the CA; the first replica to start makes it.
    pub async fn load(db: Db, keyring: Arc<Keyring>, intermediate_for: Duration) -> Result<Ca, CaError> {
        let authority = ensure(&db, &keyring, intermediate_for).await?;
        Ok(Ca { db, keyring, held: Arc::new(RwLock::new(Arc::new(authority))), version: Arc::default() })
    }

    /// What signs now.
    pub fn authority(&self) -> Arc<Authority> {
        self.held.read().expect("no code panics while it holds this lock").clone()
    }

    /// Changes whenever what signs or what is trusted does.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    pub fn now(&self) -> Timestamp {
        self.db.clock.estimate()
    }

    /// Reads the CA again, and replaces the intermediate when it is two thirds old.
    pub async fn refresh(&self, intermediate_for: Duration) -> Result<(), CaError> {
        let fresh = ensure(&self.db, &self.keyring, intermediate_for).await?;
        let now = self.now();
        metrics::gauge!("gpuaas_ca_intermediate_seconds_left")
            .set(fresh.expires_at().duration_since(now).as_secs_f64());
        if fresh.is_aging(now) {
            tracing::error!(
                "the CA's intermediate certificate expires at {} and the root key is not in the database: run `gpuaasd ca rotate --root-key FILE`",
                fresh.expires_at()
            );
        }
        if *fresh.fingerprints() != *self.authority().fingerprints() {
            *self.held.write().expect("no code panics while it holds this lock") = Arc::new(fresh);
            self.version.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Keeps the CA fresh until stopped.
    pub async fn run(self, policies: Policies, stop: CancellationToken) {
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(REFRESH) => (),
            }
            if let Err(error) = self.refresh(settings::days(policies.number(settings::NODE_INTERMEDIATE_DAYS))).await {
                tracing::warn!(%error, "reading the CA failed; the last known one is still used");
            }
        }
    }
}

impl fmt::Debug for Ca {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ca")
    }
}

/// Makes a CA where there is none that is trusted.
pub async fn make(db: &Db, keyring: &Keyring, intermediate_for: Duration) -> Result<(), CaError> {
    ensure(db, keyring, intermediate_for).await.map(drop)
}

/// Reads the CA, makes what is missing and replaces what is two thirds old.
async fn ensure(db: &Db, keyring: &Keyring, intermediate_for: Duration) -> Result<Authority, CaError> {
    let mut tx = Tx::system(db, "ca", Access::Write).await?;
    vault::lock(&mut tx, ROOT).await?;
    let now = kernel::clock::now(&mut tx).await?;
    let mut roots = turnover::trusted(&mut tx, keyring).await?;
    if roots.is_empty() {
        let (key, certificate) = authority::make_root(now)?;
        vault::put(&mut tx, keyring, ROOT, &key, Some(&certificate)).await?;
        roots = turnover::trusted(&mut tx, keyring).await?;
        tracing::info!("created the CA; export its root key to a safe place with `gpuaasd ca export-root`");
    }
    let intermediates = vault::all(&mut tx, keyring, INTERMEDIATE).await?;
    let mut intermediate = intermediates.into_iter().next();
    let mut signs = roots.first();
    let mut wanted = true;
    let mut is_over = false;
    if let Some(newest) = &intermediate {
        let turnover = Turnover::of(&roots, newest)?;
        let goes_on = turnover::may_go_on(&mut tx, turnover, now).await?;
        let takes_over = goes_on && matches!(turnover, Turnover::Telling { .. });
        is_over = goes_on && matches!(turnover, Turnover::Signing { .. });
        if !takes_over {
            signs = Some(turnover::signing(&roots, newest)?);
        }
        wanted = takes_over || read(&roots, newest)?.is_aging(now);
    }
    if wanted && let Some(root) = signs.filter(|it| !it.secret.expose().is_empty()) {
        let life = Validity::starting(now, intermediate_for);
        intermediate = Some(sign_intermediate(&mut tx, keyring, root, &root.secret, life).await?);
    } else if is_over {
        turnover::retire_old(&mut tx, keyring, &mut roots).await?;
    }
    let authority = intermediate.map(|it| read(&roots, &it)).transpose()?;
    let changes = vault::changes(&mut tx, ROOT).await?;
    tx.commit().await?;
    let mut authority = authority.ok_or(CaError::NoIntermediate)?;
    authority.changes = changes;
    Ok(authority)
}

fn read(roots: &[VaultKey], intermediate: &VaultKey) -> Result<Authority, CaError> {
    let renew_before = Turnover::of(roots, intermediate)?.since();
    let roots = roots.iter().filter_map(|it| it.public.clone()).collect();
    let certificate = intermediate.public.as_deref().ok_or(CaError::NoIntermediate)?;
    Authority::new(roots, &intermediate.secret, certificate, renew_before)
}

async fn sign_intermediate(
    tx: &mut Tx,
    keyring: &Keyring,
    root: &VaultKey,
    root_key: &Secret,
    validity: Validity,
) -> Result<VaultKey, CaError> {
    let certificate = root.public.as_deref().ok_or(CaError::NoIntermediate)?;
    let (key, certificate) = authority::make_intermediate(root_key, certificate, validity)?;
    let id = vault::put(tx, keyring, INTERMEDIATE, &key, Some(&certificate)).await?;
    vault::retire_others(tx, INTERMEDIATE, id).await?;
    let mut held = vault::all(tx, keyring, INTERMEDIATE).await?;
    let place = held.iter().position(|it| it.id == id).ok_or(VaultError::Database(sqlx::Error::RowNotFound))?;
    Ok(held.swap_remove(place))
}
