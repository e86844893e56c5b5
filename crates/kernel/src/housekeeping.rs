//! Removes what is past its time, in bounded bites.

use std::time::Duration;

use crate::tx::{Access, Db, Tx};

/// Deletes expired idempotency records and events that are older than `keep`, so many
/// of each at most; returns how many rows went.
pub async fn sweep(db: &Db, keep: Duration, bite: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "housekeeping", Access::Write).await?;
    let mut gone = sqlx::query(
        "DELETE FROM idempotency WHERE ctid = ANY(ARRAY(SELECT ctid FROM idempotency WHERE expires_at <= app_now() LIMIT $1))",
    )
    .bind(bite)
    .execute(tx.conn())
    .await?
    .rows_affected();
    // A message stays until every durable reader is past it.
    gone += sqlx::query(
        "DELETE FROM outbox WHERE ctid = ANY(ARRAY(SELECT old.place_in_table FROM
           (SELECT ctid AS place_in_table, at, epoch, xid, place FROM outbox ORDER BY epoch, xid, place LIMIT $1) AS old
           WHERE old.at <= app_now() - make_interval(secs => $2)
             AND NOT EXISTS (SELECT FROM consumers WHERE (consumers.epoch, consumers.xid, consumers.place) < (old.epoch, old.xid, old.place))))",
    )
    .bind(bite)
    .bind(keep.as_secs_f64())
    .execute(tx.conn())
    .await?
    .rows_affected();
    gone += sqlx::query(
        "DELETE FROM consumed WHERE ctid = ANY(ARRAY(SELECT ctid FROM consumed
           WHERE at <= app_now() - make_interval(secs => 2 * $2) LIMIT $1))",
    )
    .bind(bite)
    .bind(keep.as_secs_f64())
    .execute(tx.conn())
    .await?
    .rows_affected();
    gone += sqlx::query(
        "DELETE FROM dead_letters WHERE ctid = ANY(ARRAY(SELECT ctid FROM dead_letters
           WHERE state IN ('delivered', 'discarded') AND state_since <= app_now() - make_interval(secs => $2) LIMIT $1))",
    )
    .bind(bite)
    .bind(keep.as_secs_f64())
    .execute(tx.conn())
    .await?
    .rows_affected();
    tx.commit().await?;
    Ok(gone)
}
