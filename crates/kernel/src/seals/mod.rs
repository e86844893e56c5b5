//! Seals over the audit log. A background job hashes finished batches of
//! entries into a Merkle root, chains the roots and signs them, so that an
//! entry that is removed, edited or inserted later is found and named. Never
//! inline: a chain inside the business transaction would serialize commits.

mod sealing;
mod verify;

pub use sealing::{KEY_NAME, SealSettings, Sealer, expire, seal_once};
pub use verify::{Finding, Report, verify};

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    merkle::{self, Canonical, Hash, canonical_json},
    tx::Tx,
};

/// One sealed batch as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Seal {
    pub number: i64,
    pub last_epoch: i32,
    pub last_xid: i64,
    pub entries: i64,
    pub entries_root: Vec<u8>,
    pub root: Vec<u8>,
    pub key_id: String,
    pub signature: Vec<u8>,
    pub sealed_at: Timestamp,
    pub leaves: Option<Vec<u8>>,
    pub expired_at: Option<Timestamp>,
}

#[derive(sqlx::FromRow)]
struct SealRow {
    number: i64,
    last_epoch: i32,
    last_xid: i64,
    entries: i64,
    entries_root: Vec<u8>,
    root: Vec<u8>,
    key_id: String,
    signature: Vec<u8>,
    sealed_at: jiff_sqlx::Timestamp,
    leaves: Option<Vec<u8>>,
    expired_at: Option<jiff_sqlx::Timestamp>,
}

/// An entry as it is hashed.
#[derive(sqlx::FromRow)]
struct Entry {
    epoch: i32,
    xid: i64,
    id: Uuid,
    organization_id: Option<Uuid>,
    at_us: i64,
    actor: String,
    action: String,
    resource: Option<String>,
    outcome: String,
    correlation_id: String,
    detail: Value,
}

impl Entry {
    fn leaf(&self) -> Hash {
        let bytes = Canonical::new()
            .i64(self.epoch.into())
            .i64(self.xid)
            .uuid(self.id)
            .opt(self.organization_id, Canonical::uuid)
            .i64(self.at_us)
            .text(&self.actor)
            .text(&self.action)
            .opt(self.resource.as_deref(), Canonical::text)
            .text(&self.outcome)
            .text(&self.correlation_id)
            .text(&canonical_json(&self.detail))
            .finish();
        merkle::leaf(&bytes)
    }
}

/// What the signature and the chain cover besides the entries' root.
fn header(number: i64, last_epoch: i32, last_xid: i64, entries: i64, sealed_at: Timestamp) -> Vec<u8> {
    let at = sealed_at.as_microsecond();
    Canonical::new().i64(number).i64(last_epoch.into()).i64(last_xid).i64(entries).i64(at).finish()
}

/// Seals after number `after`, oldest first.
pub async fn list(tx: &mut Tx, after: i64, limit: i64) -> sqlx::Result<Vec<Seal>> {
    let rows: Vec<SealRow> = sqlx::query_as(
        "SELECT number, last_epoch, last_xid::text::bigint AS last_xid, entries, entries_root, root, key_id, signature,
                sealed_at, leaves, expired_at
         FROM seals WHERE number > $1 ORDER BY number LIMIT $2",
    )
    .bind(after)
    .bind(limit)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(Seal::from).collect())
}

pub async fn newest(tx: &mut Tx) -> sqlx::Result<Option<Seal>> {
    let number: Option<i64> = sqlx::query_scalar("SELECT max(number) FROM seals").fetch_one(tx.conn()).await?;
    match number {
        None => Ok(None),
        Some(number) => Ok(list(tx, number - 1, 1).await?.pop()),
    }
}

/// Entries after the place of one seal, up to that of another, in hashing order.
async fn entries(tx: &mut Tx, after: (i32, i64), up_to: (i32, i64)) -> sqlx::Result<Vec<Entry>> {
    sqlx::query_as(
        "SELECT epoch, xid::text::bigint AS xid, id, organization_id, (extract(epoch FROM at) * 1000000)::bigint AS at_us,
                actor, action, resource, outcome, correlation_id, detail
         FROM audit WHERE (epoch, xid) > ($1, $2::text::xid8) AND (epoch, xid) <= ($3, $4::text::xid8)
         ORDER BY epoch, xid, id",
    )
    .bind(after.0)
    .bind(after.1.to_string())
    .bind(up_to.0)
    .bind(up_to.1.to_string())
    .fetch_all(tx.conn())
    .await
}

impl From<SealRow> for Seal {
    fn from(row: SealRow) -> Self {
        Self {
            number: row.number,
            last_epoch: row.last_epoch,
            last_xid: row.last_xid,
            entries: row.entries,
            entries_root: row.entries_root,
            root: row.root,
            key_id: row.key_id,
            signature: row.signature,
            sealed_at: row.sealed_at.to_jiff(),
            leaves: row.leaves,
            expired_at: row.expired_at.map(|it| it.to_jiff()),
        }
    }
}
