//! Answers that were committed, so that a repeated request gets the same one.
//! Keyed by who asked, for what, under which key.

use std::time::Duration;

use sqlx::{Postgres, QueryBuilder};

use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub operation: &'static str,
    pub key: String,
    pub request_hash: [u8; 32],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The key is ours: go on, and [`answer`] before the commit.
    New,
    /// The same request was answered before.
    Answered(Stored),
    /// The key was used for another request.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub status: u16,
    pub body: Vec<u8>,
    pub sealed: bool,
}

pub(crate) struct Answer {
    principal: String,
    claim: Claim,
    stored: Stored,
}

/// Takes the key. A running duplicate makes this wait for its transaction; the
/// connection's lock timeout bounds the wait.
pub async fn claim(tx: &mut Tx, claim: &Claim, keep: Duration) -> sqlx::Result<Claimed> {
    let principal = tx.actor.as_str().to_owned();
    let inserted = sqlx::query(
        "INSERT INTO idempotency AS old (principal, operation, key, request_hash, expires_at)
         VALUES ($1, $2, $3, $4, app_now() + make_interval(secs => $5))
         ON CONFLICT (principal, operation, key) DO UPDATE
           SET request_hash = excluded.request_hash, expires_at = excluded.expires_at, status = NULL, body = NULL
           WHERE old.expires_at <= app_now()",
    )
    .bind(&principal)
    .bind(claim.operation)
    .bind(&claim.key)
    .bind(&claim.request_hash[..])
    .bind(keep.as_secs_f64())
    .execute(tx.conn())
    .await?
    .rows_affected();
    if inserted == 1 {
        return Ok(Claimed::New);
    }
    let (hash, status, body, sealed): (Vec<u8>, Option<i16>, Option<Vec<u8>>, bool) = sqlx::query_as(
        "SELECT request_hash, status, body, sealed FROM idempotency WHERE principal = $1 AND operation = $2 AND key = $3",
    )
    .bind(&principal)
    .bind(claim.operation)
    .bind(&claim.key)
    .fetch_one(tx.conn())
    .await?;
    if hash != claim.request_hash {
        return Ok(Claimed::Other);
    }
    let status = status.and_then(|it| u16::try_from(it).ok());
    match (status, body) {
        (Some(status), Some(body)) => Ok(Claimed::Answered(Stored { status, body, sealed })),
        _ => Err(sqlx::Error::Protocol("an idempotency row was committed without its response".into())),
    }
}

/// Keeps the answer with the transaction.
pub fn answer(tx: &mut Tx, claim: Claim, stored: Stored) {
    let principal = tx.actor.as_str().to_owned();
    tx.pending.answer = Some(Answer { principal, claim, stored });
}

pub(crate) fn push(statement: &mut QueryBuilder<Postgres>, answer: Answer) {
    let Answer { principal, claim, stored } = answer;
    statement
        .push("UPDATE idempotency SET status = ")
        .push_bind(i16::try_from(stored.status).expect("statuses have three digits"))
        .push(", body = ")
        .push_bind(stored.body)
        .push(", sealed = ")
        .push_bind(stored.sealed)
        .push(" WHERE principal = ")
        .push_bind(principal)
        .push(" AND operation = ")
        .push_bind(claim.operation)
        .push(" AND key = ")
        .push_bind(claim.key);
}
