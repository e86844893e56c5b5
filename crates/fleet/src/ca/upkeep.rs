//! What operators do with the CA at the machine itself: look at it, take the
//! root elsewhere, replace the intermediate or the root.

use std::time::Duration;

use contract::Timestamp;
use kernel::{
    Access, Db, Tx, audit, clock,
    secrets::{Keyring, Secret},
    vault::{self, VaultKey},
};
use serde_json::json;

use super::{Authority, CaError, INTERMEDIATE, ROOT, Turnover, Validity, authority, read, sign_intermediate, turnover};

/// The CA as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    pub root_fingerprint: String,
    pub roots_pem: String,
    pub is_root_key_here: bool,
    pub intermediate_expires_at: Timestamp,
    /// Intermediates that were replaced; what they signed works until its own end.
    pub replaced: usize,
    pub turnover: Turnover,
    /// How many nodes the next step in the replacement of the root waits for.
    pub behind: i64,
}

#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    #[error(transparent)]
    Ca(#[from] CaError),
    #[error("there is no CA yet; start `gpuaasd serve` once to create it")]
    NoCa,
    #[error("the root key is not in the database; pass the exported one with --root-key FILE")]
    NoRootKey,
    #[error("the key does not match the root certificate; use the file written by `gpuaasd ca export-root`")]
    WrongRootKey,
    #[error("{behind} nodes do not trust the new root yet; check progress with `gpuaasd ca show`")]
    TooEarly { behind: i64 },
    #[error("a root rotation is already in progress; check progress with `gpuaasd ca show`")]
    Turning,
}

impl From<vault::VaultError> for UpkeepError {
    fn from(error: vault::VaultError) -> Self {
        Self::Ca(error.into())
    }
}

impl From<sqlx::Error> for UpkeepError {
    fn from(error: sqlx::Error) -> Self {
        Self::Ca(error.into())
    }
}

pub async fn overview(db: &Db, keyring: &Keyring) -> Result<Overview, UpkeepError> {
    let mut tx = Tx::system(db, "ca", Access::Read).await?;
    let roots = turnover::trusted(&mut tx, keyring).await?;
    let intermediates = vault::all(&mut tx, keyring, INTERMEDIATE).await?;
    let (Some(root), Some(newest)) = (roots.first(), intermediates.first()) else { return Err(UpkeepError::NoCa) };
    let turnover = Turnover::of(&roots, newest)?;
    let now = clock::now(&mut tx).await?;
    let behind = turnover.behind(&mut tx, now).await?;
    tx.commit().await?;
    let authority: Authority = read(&roots, newest)?;
    Ok(Overview {
        root_fingerprint: authority.root_fingerprint().to_owned(),
        roots_pem: authority.roots_pem().to_owned(),
        is_root_key_here: !root.secret.expose().is_empty(),
        intermediate_expires_at: authority.expires_at(),
        replaced: intermediates.len() - 1,
        turnover,
        behind,
    })
}

/// The root's key and certificate in PEM. With `remove` the key is no longer in
/// the database once this returns.
pub async fn export_root(
    db: &Db,
    keyring: &Keyring,
    remove: bool,
    keep: impl FnOnce(&Secret) -> std::io::Result<()>,
) -> Result<Result<(), std::io::Error>, UpkeepError> {
    let mut tx = Tx::system(db, "ca", Access::Write).await?;
    vault::lock(&mut tx, ROOT).await?;
    let roots = turnover::trusted(&mut tx, keyring).await?;
    let root = roots.first().ok_or(UpkeepError::NoCa)?;
    let key = root.secret.expose_text().filter(|it| !it.is_empty()).ok_or(UpkeepError::NoRootKey)?;
    let both = format!("{key}{}", root.public.as_deref().unwrap_or_default());
    // Only what was kept elsewhere may be forgotten here.
    if let Err(error) = keep(&both.into()) {
        return Ok(Err(error));
    }
    if remove {
        vault::empty(&mut tx, keyring, ROOT, root.id).await?;
    }
    record(&mut tx, "ca.export_root", json!({ "removed": remove }));
    tx.commit().await?;
    Ok(Ok(()))
}

/// Makes a new intermediate. What the former one signed works until its own end.
pub async fn rotate(
    db: &Db,
    keyring: &Keyring,
    root_key: Option<Secret>,
    life: Duration,
) -> Result<Overview, UpkeepError> {
    let mut tx = Tx::system(db, "ca", Access::Write).await?;
    vault::lock(&mut tx, ROOT).await?;
    let roots = turnover::trusted(&mut tx, keyring).await?;
    let intermediates = vault::all(&mut tx, keyring, INTERMEDIATE).await?;
    let (Some(newest), Some(intermediate)) = (roots.first(), intermediates.first()) else {
        return Err(UpkeepError::NoCa);
    };
    let signs = turnover::signing(&roots, intermediate)?;
    let key = match root_key {
        Some(given) => given,
        None if signs.secret.expose().is_empty() => return Err(UpkeepError::NoRootKey),
        None => signs.secret.clone(),
    };
    let is_of = |root: &VaultKey| {
        let certificate = root.public.as_deref().ok_or(UpkeepError::NoCa)?;
        authority::belongs(&key, certificate).map_err(|_| UpkeepError::WrongRootKey)
    };
    let now = clock::now(&mut tx).await?;
    // The key says which root is meant; a new one must be known to every node.
    let root = match (is_of(signs)?, is_of(newest)?) {
        (true, _) => signs,
        (false, false) => return Err(UpkeepError::WrongRootKey),
        (false, true) => {
            let turnover = Turnover::of(&roots, intermediate)?;
            if !turnover::may_go_on(&mut tx, turnover, now).await? {
                return Err(UpkeepError::TooEarly { behind: turnover.behind(&mut tx, now).await? });
            }
            newest
        }
    };
    sign_intermediate(&mut tx, keyring, root, &key, Validity::starting(now, life)).await?;
    record(&mut tx, "ca.rotate", json!({}));
    tx.commit().await?;
    overview(db, keyring).await
}

/// Makes a new root. The servers do the rest by themselves: it is told to every
/// node, signs when all of them trust it, and at last the old one is forgotten.
pub async fn rotate_root(db: &Db, keyring: &Keyring) -> Result<Overview, UpkeepError> {
    let mut tx = Tx::system(db, "ca", Access::Write).await?;
    vault::lock(&mut tx, ROOT).await?;
    match turnover::trusted(&mut tx, keyring).await?.len() {
        0 => return Err(UpkeepError::NoCa),
        1 => (),
        _ => return Err(UpkeepError::Turning),
    }
    let now = clock::now(&mut tx).await?;
    let (key, certificate) = authority::make_root(now).map_err(UpkeepError::Ca)?;
    vault::put(&mut tx, keyring, ROOT, &key, Some(&certificate)).await?;
    record(&mut tx, "ca.rotate_root", json!({}));
    tx.commit().await?;
    overview(db, keyring).await
}

fn record(tx: &mut Tx, action: &str, detail: serde_json::Value) {
    let entry =
        audit::NewEntry { action: action.to_owned(), organization: None, resource: None, outcome: "done", detail };
    audit::record(tx, entry);
}
