//! Making seals, and letting sealed entries expire.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{entries, header, newest};
use crate::{
    clock,
    merkle::{self, SealKey},
    secrets::Keyring,
    tx::{Access, Db, Tx},
    vault::{self, VaultError},
};

/// The vault's name for the keys that sign seals.
pub const KEY_NAME: &str = "audit_seal";

#[derive(Debug, Clone, Copy)]
pub struct SealSettings {
    pub every: Duration,
    /// The most entries in one seal.
    pub batch: i64,
}

pub struct Sealer {
    pub db: Db,
    pub keyring: Arc<Keyring>,
}

impl Sealer {
    /// Seals until stopped. Any number of replicas may run it; one at a time works.
    /// The settings are asked for each round.
    pub async fn run(self, settings: impl Fn() -> SealSettings + Send, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let settings = settings();
            match seal_once(&self.db, &self.keyring, settings.batch).await {
                Ok(true) => continue,
                Ok(false) => (),
                Err(error) => tracing::error!(%error, "sealing the audit log failed; trying again"),
            }
            tokio::select! {
                () = stop.cancelled() => (),
                () = tokio::time::sleep(settings.every) => (),
            }
        }
    }
}

/// Seals one batch; says whether there may be more.
pub async fn seal_once(db: &Db, keyring: &Keyring, batch: i64) -> Result<bool, VaultError> {
    let mut tx = Tx::system(db, "sealer", Access::Write).await?;
    let mine: bool = sqlx::query_scalar("SELECT pg_try_advisory_xact_lock(hashtextextended('seals', 0))")
        .fetch_one(tx.conn())
        .await?;
    if !mine {
        tx.rollback().await?;
        return Ok(false);
    }
    let last = newest(&mut tx).await?;
    let after = last.as_ref().map_or((0, 0), |it| (it.last_epoch, it.last_xid));
    let Some((up_to, more)) = watermark(&mut tx, after, batch).await? else {
        tx.rollback().await?;
        return Ok(false);
    };
    let rows = entries(&mut tx, after, up_to).await?;
    let key = signing_key(&mut tx, keyring).await?;

    let leaves: Vec<merkle::Hash> = rows.iter().map(super::Entry::leaf).collect();
    let kept: Vec<u8> =
        rows.iter().zip(&leaves).flat_map(|(row, leaf)| row.id.as_bytes().iter().chain(leaf).copied()).collect();
    let number = last.as_ref().map_or(1, |it| it.number + 1);
    let previous: merkle::Hash = last.and_then(|it| it.root.try_into().ok()).unwrap_or_default();
    let entries_root = merkle::root(&leaves);
    let count = rows.len() as i64;
    let sealed_at = clock::now(&mut tx).await?;
    let root = merkle::chain(&previous, &entries_root, &header(number, up_to.0, up_to.1, count, sealed_at));
    sqlx::query(
        "INSERT INTO seals (number, last_epoch, last_xid, entries, entries_root, root, key_id, signature, leaves, sealed_at)
         VALUES ($1, $2, $3::text::xid8, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(number)
    .bind(up_to.0)
    .bind(up_to.1.to_string())
    .bind(count)
    .bind(&entries_root[..])
    .bind(&root[..])
    .bind(key.key_id())
    .bind(&key.sign(&root)[..])
    .bind(kept)
    .bind(clock::bind(sealed_at))
    .execute(tx.conn())
    .await?;
    tx.commit().await?;
    metrics::counter!("gpuaas_audit_sealed_entries_total").increment(count as u64);
    Ok(more)
}

/// The place up to which entries are final, at most about `batch` of them on,
/// and whether more are final. `None` when there is nothing to seal.
async fn watermark(tx: &mut Tx, after: (i32, i64), batch: i64) -> sqlx::Result<Option<((i32, i64), bool)>> {
    let epoch = tx.epoch();
    let found: (i64, Option<i32>, Option<i64>, i64) = sqlx::query_as(
        "WITH final AS (
           SELECT epoch, xid FROM audit
           WHERE (epoch, xid) > ($1, $2::text::xid8) AND (epoch < $3 OR xid < pg_snapshot_xmin(pg_current_snapshot()))
           ORDER BY epoch, xid LIMIT $4),
         last AS (SELECT epoch, xid FROM final ORDER BY epoch DESC, xid DESC LIMIT 1)
         SELECT (SELECT count(*) FROM final), (SELECT epoch FROM last), (SELECT xid::text::bigint FROM last),
                pg_snapshot_xmin(pg_current_snapshot())::text::bigint",
    )
    .bind(after.0)
    .bind(after.1.to_string())
    .bind(epoch)
    .bind(batch)
    .fetch_one(tx.conn())
    .await?;
    let (count, last_epoch, last_xid, oldest_running) = found;
    let (Some(last_epoch), Some(last_xid)) = (last_epoch, last_xid) else {
        return Ok(None);
    };
    if count == batch || last_epoch < epoch {
        return Ok(Some(((last_epoch, last_xid), true)));
    }
    // Nothing can appear below the oldest running transaction any more, so the
    // seal covers the gap too: an entry put there later is found as inserted.
    Ok(Some(((epoch, oldest_running - 1), false)))
}

async fn signing_key(tx: &mut Tx, keyring: &Keyring) -> Result<SealKey, VaultError> {
    let held = vault::all(tx, keyring, KEY_NAME).await?;
    if let Some(key) = held.into_iter().find(|it| it.retired_at.is_none()) {
        return SealKey::from_pkcs8(key.secret.expose())
            .map_err(|error| VaultError::Database(sqlx::Error::Decode(Box::new(error))));
    }
    vault::lock(tx, KEY_NAME).await?;
    let (key, secret) = SealKey::generate();
    let public = public_text(&key.public_key());
    vault::put(tx, keyring, KEY_NAME, &secret, Some(&public)).await?;
    Ok(key)
}

pub(super) fn public_text(public: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(public)
}

/// Deletes the entries of seals older than `keep`; their roots remain. Returns
/// how many seals expired, at most `limit`.
pub async fn expire(db: &Db, keep: Duration, limit: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "sealer", Access::Write).await?;
    sqlx::raw_sql("SET LOCAL app.expiring = 'audit'").execute(tx.conn()).await?;
    let old: Vec<(i64, i32, i64)> = sqlx::query_as(
        "SELECT number, last_epoch, last_xid::text::bigint FROM seals
         WHERE expired_at IS NULL AND sealed_at <= app_now() - make_interval(secs => $1) ORDER BY number LIMIT $2 FOR UPDATE",
    )
    .bind(keep.as_secs_f64())
    .bind(limit)
    .fetch_all(tx.conn())
    .await?;
    let Some((last, epoch, xid)) = old.last().copied() else {
        tx.rollback().await?;
        return Ok(0);
    };
    sqlx::query("DELETE FROM audit WHERE (epoch, xid) <= ($1, $2::text::xid8)")
        .bind(epoch)
        .bind(xid.to_string())
        .execute(tx.conn())
        .await?;
    sqlx::query("UPDATE seals SET leaves = NULL, expired_at = app_now() WHERE number <= $1 AND expired_at IS NULL")
        .bind(last)
        .execute(tx.conn())
        .await?;
    tx.commit().await?;
    Ok(old.len() as u64)
}
