//! The rows of the queue: claim, finish, fail, hand back.

use std::time::Duration;

use uuid::Uuid;

use super::Next;
use crate::tx::{Access, Db, Tx};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub kind: String,
    pub id: Uuid,
    pub lease: Uuid,
    pub wakes: i64,
    pub attempts: i32,
}

#[derive(Debug, thiserror::Error)]
pub enum FinishError {
    #[error("another worker took over {kind} {id}")]
    LeaseLost { kind: String, id: Uuid },
    #[error("finishing a visit failed")]
    Database(#[from] sqlx::Error),
}

/// Claims up to `limit` rows that are due, oldest first.
pub async fn claim(db: &Db, kinds: &[&str], lease_for: Duration, limit: i64) -> sqlx::Result<Vec<Claim>> {
    let mut tx = Tx::system(db, "work", Access::Write).await?;
    let kinds: Vec<String> = kinds.iter().map(|it| (*it).to_owned()).collect();
    let rows: Vec<(String, Uuid, Uuid, i64, i32)> = sqlx::query_as(
        "WITH due AS (
           SELECT kind, id FROM work
           WHERE kind = ANY($1) AND due_at <= app_now() AND (lease_until IS NULL OR lease_until < app_now())
           ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         UPDATE work SET lease = gen_random_uuid(), lease_until = app_now() + make_interval(secs => $3), attempts = attempts + 1,
           claimed_wakes = wakes
         FROM due WHERE work.kind = due.kind AND work.id = due.id
         RETURNING work.kind, work.id, work.lease, work.wakes, work.attempts",
    )
    .bind(&kinds)
    .bind(limit)
    .bind(lease_for.as_secs_f64())
    .fetch_all(tx.conn())
    .await?;
    tx.commit().await?;
    Ok(rows.into_iter().map(|(kind, id, lease, wakes, attempts)| Claim { kind, id, lease, wakes, attempts }).collect())
}

/// Waits for those who woke this together and have not committed. A reconciler
/// whose row is woken by the database's `wake_together` calls it when it loads,
/// before it reads anything: who added no wake of their own, because one was
/// there that nobody had claimed, is seen by the visit that claims it.
pub async fn wait_for_wakers(tx: &mut Tx, kind: &str, id: Uuid) -> sqlx::Result<()> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1 || ':' || $2, 0))")
        .bind(kind)
        .bind(id.to_string())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Ends a claim inside the caller's transaction, so that results and release
/// commit together or not at all.
pub async fn finish(tx: &mut Tx, claim: &Claim, next: Next) -> Result<(), FinishError> {
    finish_all(tx, &[(claim, next)]).await
}

/// As [`finish`], of several claims of one kind: all of them end, or none.
pub async fn finish_all(tx: &mut Tx, claims: &[(&Claim, Next)]) -> Result<(), FinishError> {
    for (claim, next) in claims {
        if let Next::Settled(_) = next {
            tx.pending.wakes.retain(|it| (&*it.kind, it.id) != (&*claim.kind, claim.id));
        }
    }
    let own = |column: fn(&Claim) -> Uuid| -> Vec<Uuid> { claims.iter().map(|(it, _)| column(it)).collect() };
    let kinds: Vec<&str> = claims.iter().map(|(it, _)| it.kind.as_str()).collect();
    let wakes: Vec<i64> = claims.iter().map(|(it, _)| it.wakes).collect();
    let delays: Vec<Option<f64>> = claims.iter().map(|(_, next)| next.delay().map(|it| it.as_secs_f64())).collect();
    let (woken_kinds, woken_ids): (Vec<String>, Vec<Uuid>) =
        tx.pending.wakes.iter().map(|it| (it.kind.to_string(), it.id)).unzip();
    // The row survives while someone called `wake` after our claim. Rows that the
    // commit will wake are locked here too, in the order in which everybody does:
    // two visits that wake each other would wait for each other.
    let ended: Vec<Uuid> = sqlx::query_scalar(
        "WITH own AS (SELECT * FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::bigint[], $5::float8[]) AS own (kind, id, lease, wakes, delay)),
         held AS MATERIALIZED (
           SELECT work.* FROM (SELECT kind, id FROM own UNION SELECT * FROM unnest($6::text[], $7::uuid[])) AS wanted
           JOIN work USING (kind, id) ORDER BY work.kind COLLATE \"C\", work.id FOR UPDATE OF work),
         mine AS (SELECT held.kind, held.id, held.due_at, held.wakes <> own.wakes AS is_woken, own.delay
                  FROM held JOIN own USING (kind, id, lease)),
         gone AS (DELETE FROM work USING mine WHERE work.kind = mine.kind AND work.id = mine.id
                  AND NOT mine.is_woken AND mine.delay IS NULL RETURNING work.id),
         kept AS (UPDATE work SET lease = NULL, lease_until = NULL, attempts = 0, needs_attention = false, last_error = NULL,
                  due_at = CASE WHEN mine.is_woken THEN least(mine.due_at, app_now()) ELSE app_now() + make_interval(secs => mine.delay) END
                  FROM mine WHERE work.kind = mine.kind AND work.id = mine.id
                  AND (mine.is_woken OR mine.delay IS NOT NULL) RETURNING work.id)
         SELECT id FROM gone UNION ALL SELECT id FROM kept",
    )
    .bind(kinds)
    .bind(own(|it| it.id))
    .bind(own(|it| it.lease))
    .bind(wakes)
    .bind(delays)
    .bind(woken_kinds)
    .bind(woken_ids)
    .fetch_all(tx.conn())
    .await?;
    match claims.iter().find(|(it, _)| !ended.contains(&it.id)) {
        None => Ok(()),
        Some((claim, _)) => Err(FinishError::LeaseLost { kind: claim.kind.clone(), id: claim.id }),
    }
}

/// Ends a claim whose visit failed: it is due again after `delay`, and shown
/// to a person once it `needs_attention`. A wake that came meanwhile makes it
/// due now. Does nothing if the lease was lost.
pub async fn fail(db: &Db, claim: &Claim, delay: Duration, needs_attention: bool, error: &str) -> sqlx::Result<()> {
    let mut tx = Tx::system(db, "work", Access::Write).await?;
    sqlx::query(
        "UPDATE work SET lease = NULL, lease_until = NULL,
                due_at = CASE WHEN wakes <> $7 THEN app_now() ELSE app_now() + make_interval(secs => $4) END,
                needs_attention = needs_attention OR $5, last_error = left($6, 2000)
         WHERE kind = $1 AND id = $2 AND lease = $3",
    )
    .bind(&claim.kind)
    .bind(claim.id)
    .bind(claim.lease)
    .bind(delay.as_secs_f64())
    .bind(needs_attention)
    .bind(error)
    .bind(claim.wakes)
    .execute(tx.conn())
    .await?;
    tx.commit().await
}

/// Gives claims back untouched, so that another replica need not wait for the lease to end.
pub async fn hand_back(db: &Db, claims: &[Claim]) -> sqlx::Result<()> {
    let leases: Vec<Uuid> = claims.iter().map(|it| it.lease).collect();
    let mut tx = Tx::system(db, "work", Access::Write).await?;
    sqlx::query("UPDATE work SET lease = NULL, lease_until = NULL, attempts = attempts - 1 WHERE lease = ANY($1)")
        .bind(&leases)
        .execute(tx.conn())
        .await?;
    tx.commit().await
}

/// Puts rows into the queue that are missing there; leaves present ones alone.
pub async fn sweep(tx: &mut Tx, kind: &str, ids: &[Uuid]) -> sqlx::Result<u64> {
    let added = sqlx::query("INSERT INTO work (kind, id) SELECT $1, unnest($2::uuid[]) ON CONFLICT DO NOTHING")
        .bind(kind)
        .bind(ids)
        .execute(tx.conn())
        .await?;
    Ok(added.rows_affected())
}

/// A row as operators see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub kind: String,
    pub id: Uuid,
    pub due_at: jiff::Timestamp,
    pub attempts: i32,
    pub needs_attention: bool,
    pub last_error: Option<String>,
}

type ItemColumns = (String, Uuid, jiff_sqlx::Timestamp, i32, bool, Option<String>);

const ITEM: &str = "SELECT kind, id, due_at, attempts, needs_attention, last_error FROM work";

/// Rows of the queue by id, after `after`.
pub async fn list(
    tx: &mut Tx,
    kind: Option<&str>,
    needs_attention: Option<bool>,
    after: Option<Uuid>,
    limit: i64,
) -> sqlx::Result<Vec<Item>> {
    let statement = format!(
        "{ITEM} WHERE ($1::text IS NULL OR kind = $1) AND ($2::bool IS NULL OR needs_attention = $2)
           AND ($3::uuid IS NULL OR id > $3) ORDER BY id LIMIT $4"
    );
    let rows: Vec<ItemColumns> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(kind)
        .bind(needs_attention)
        .bind(after)
        .bind(limit)
        .fetch_all(tx.conn())
        .await?;
    Ok(rows.into_iter().map(item).collect())
}

/// Makes a row due now and forgets its failures.
pub async fn retry(tx: &mut Tx, kind: &str, id: Uuid) -> sqlx::Result<Option<Item>> {
    let row: Option<ItemColumns> = sqlx::query_as(
        "UPDATE work SET due_at = app_now(), attempts = 0, needs_attention = false, wakes = wakes + 1
         WHERE kind = $1 AND id = $2 RETURNING kind, id, due_at, attempts, needs_attention, last_error",
    )
    .bind(kind)
    .bind(id)
    .fetch_optional(tx.conn())
    .await?;
    Ok(row.map(item))
}

fn item((kind, id, due_at, attempts, needs_attention, last_error): ItemColumns) -> Item {
    Item { kind, id, due_at: due_at.to_jiff(), attempts, needs_attention, last_error }
}
