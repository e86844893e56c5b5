//! Durable readers of the outbox: where each stands, and who may move it on.

use std::time::Duration;

use crate::{
    outbox::{self, Message, Position},
    tx::{Access, Db, Tx},
};

/// Where a durable reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    pub position: Position,
    /// Failed tries of the message that it stands before.
    pub attempts: i32,
    /// How long it rests before it tries again.
    pub rest: Duration,
}

/// Where the reader stands and what comes next; nothing while it rests.
/// A reader that is new starts with everything that is retained.
pub async fn batch(db: &Db, name: &str, limit: i64) -> sqlx::Result<(Reader, Vec<(Position, Message)>)> {
    let mut tx = Tx::system(db, name, Access::Read).await?;
    let reader = match find(&mut tx, name).await? {
        Some(reader) => reader,
        None => {
            tx.commit().await?;
            register(db, name).await?;
            tx = Tx::system(db, name, Access::Read).await?;
            find(&mut tx, name).await?.ok_or(sqlx::Error::RowNotFound)?
        }
    };
    let messages =
        if reader.rest.is_zero() { outbox::read(&mut tx, reader.position, limit).await? } else { Vec::new() };
    tx.commit().await?;
    Ok((reader, messages))
}

async fn find(tx: &mut Tx, name: &str) -> sqlx::Result<Option<Reader>> {
    let row: Option<(i32, i64, i64, i32, f64)> = sqlx::query_as(
        "SELECT epoch, xid::text::bigint, place, attempts,
                greatest(0, extract(epoch FROM retry_at - app_now()))::float8 FROM consumers WHERE name = $1",
    )
    .bind(name)
    .fetch_optional(tx.conn())
    .await?;
    Ok(row.map(|(epoch, xid, place, attempts, rest)| Reader {
        position: Position { epoch, xid, place },
        attempts,
        rest: Duration::from_secs_f64(rest),
    }))
}

async fn register(db: &Db, name: &str) -> sqlx::Result<()> {
    let mut tx = Tx::system(db, name, Access::Write).await?;
    sqlx::query("INSERT INTO consumers (name) VALUES ($1) ON CONFLICT DO NOTHING")
        .bind(name)
        .execute(tx.conn())
        .await?;
    tx.commit().await
}

/// Moves a reader on, or back, unless another replica moved it first.
pub async fn advance(tx: &mut Tx, name: &str, from: Position, to: Position) -> sqlx::Result<bool> {
    let moved = sqlx::query(
        "UPDATE consumers SET epoch = $5, xid = $6::text::xid8, place = $7, attempts = 0, retry_at = app_now()
         WHERE name = $1 AND epoch = $2 AND xid = $3::text::xid8 AND place = $4",
    )
    .bind(name)
    .bind(from.epoch)
    .bind(from.xid.to_string())
    .bind(from.place)
    .bind(to.epoch)
    .bind(to.xid.to_string())
    .bind(to.place)
    .execute(tx.conn())
    .await?;
    Ok(moved.rows_affected() == 1)
}

/// Counts a failed try and lets the reader rest. Two replicas that fail on one
/// message together count once.
pub(super) async fn postpone(db: &Db, name: &str, failed: &Reader, after: Duration) -> sqlx::Result<()> {
    let mut tx = Tx::system(db, name, Access::Write).await?;
    sqlx::query(
        "UPDATE consumers SET attempts = attempts + 1, retry_at = app_now() + make_interval(secs => $6)
         WHERE name = $1 AND epoch = $2 AND xid = $3::text::xid8 AND place = $4 AND attempts = $5",
    )
    .bind(name)
    .bind(failed.position.epoch)
    .bind(failed.position.xid.to_string())
    .bind(failed.position.place)
    .bind(failed.attempts)
    .bind(after.as_secs_f64())
    .execute(tx.conn())
    .await?;
    tx.commit().await
}

/// Drops readers that another bus replaced, so that they do not keep events
/// from expiring. Should they come back they start with what is retained, and
/// the notes of what was consumed keep effects from doubling.
pub async fn forget(db: &Db, names: &[&str]) -> sqlx::Result<u64> {
    let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
    let mut tx = Tx::system(db, "bus", Access::Write).await?;
    let gone = sqlx::query("DELETE FROM consumers WHERE name = ANY($1)").bind(&names).execute(tx.conn()).await?;
    tx.commit().await?;
    Ok(gone.rows_affected())
}
