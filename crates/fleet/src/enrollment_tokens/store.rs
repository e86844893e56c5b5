//! The rows of `enrollment_tokens`.

use contract::{
    Timestamp, Word,
    enrollment_tokens::{EnrollmentToken, EnrollmentTokenFilter, EnrollmentTokenStatus},
    id::{EnrollmentTokenId, NodeId, PoolId},
};
use kernel::{Tx, clock, secrets::TokenHash};
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    pool_id: Uuid,
    status: String,
    created_at: jiff_sqlx::Timestamp,
    expires_at: jiff_sqlx::Timestamp,
    node_id: Option<Uuid>,
}

const STATUS: &str = "CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN used_at IS NOT NULL THEN 'used'
        WHEN expires_at <= app_now() THEN 'expired' ELSE 'unused' END";

fn columns() -> String {
    format!("id, pool_id, {STATUS} AS status, created_at, expires_at, node_id")
}

pub async fn insert(
    tx: &mut Tx,
    pool: PoolId,
    hash: &TokenHash,
    expires_at: Timestamp,
) -> sqlx::Result<Option<EnrollmentToken>> {
    let statement = format!(
        "INSERT INTO enrollment_tokens (id, hash, pool_id, expires_at) SELECT $1, $2, id, $4 FROM pools WHERE id = $3
         RETURNING {}",
        columns()
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(EnrollmentTokenId::generate().uuid())
        .bind(&hash.as_bytes()[..])
        .bind(pool.uuid())
        .bind(clock::bind(expires_at))
        .fetch_optional(tx.conn())
        .await?;
    row.map(token).transpose()
}

pub async fn list(tx: &mut Tx, filter: &EnrollmentTokenFilter) -> sqlx::Result<Vec<EnrollmentToken>> {
    let statement = format!(
        "SELECT {} FROM enrollment_tokens WHERE ($1::text IS NULL OR {STATUS} = $1) AND ($2::uuid IS NULL OR pool_id = $2)
           AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4",
        columns()
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.status.map(|it| it.as_str()))
        .bind(filter.pool_id.map(|it| it.uuid()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(token).collect()
}

/// `None` when there is no such token, else what it was before. A used one is revoked
/// too: until it expires, whoever has it and the key that used it gets certificates.
pub async fn revoke(tx: &mut Tx, id: EnrollmentTokenId) -> sqlx::Result<Option<EnrollmentTokenStatus>> {
    revoke_of(tx, id, &["unused", "expired", "used"]).await
}

/// As [`revoke`], and leaves one alone that was used.
pub async fn revoke_unused(tx: &mut Tx, id: EnrollmentTokenId) -> sqlx::Result<Option<EnrollmentTokenStatus>> {
    revoke_of(tx, id, &["unused", "expired"]).await
}

async fn revoke_of(
    tx: &mut Tx,
    id: EnrollmentTokenId,
    statuses: &[&str],
) -> sqlx::Result<Option<EnrollmentTokenStatus>> {
    let statement = format!(
        "WITH mine AS (SELECT id, {STATUS} AS status FROM enrollment_tokens WHERE id = $1 FOR UPDATE),
         gone AS (UPDATE enrollment_tokens SET revoked_at = app_now() FROM mine
                  WHERE enrollment_tokens.id = mine.id AND mine.status = ANY($2))
         SELECT status FROM mine"
    );
    let status: Option<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(statuses)
        .fetch_optional(tx.conn())
        .await?;
    status.map(|it| platform::rows::known(&it)).transpose()
}

/// What showing a token came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRedemption {
    /// It works, and no longer does after the commit.
    On {
        id: EnrollmentTokenId,
        pool: PoolId,
        /// The node that it made already: somebody asks again.
        made: Option<NodeId>,
    },
    Unknown,
    Before,
    Revoked,
    Expired,
}

/// Spends a token with a key. Of two hosts that show it at once, one waits for the
/// other. Who shows it again with the same key, as long as it would work, lost the
/// answer.
pub async fn spend(tx: &mut Tx, hash: &TokenHash, key: &str) -> sqlx::Result<TokenRedemption> {
    let statement = format!(
        "SELECT id, pool_id, {STATUS}, CASE WHEN used_with = $2 AND expires_at > app_now() THEN node_id END
         FROM enrollment_tokens WHERE hash = $1 FOR UPDATE"
    );
    let row: Option<(Uuid, Uuid, String, Option<Uuid>)> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(&hash.as_bytes()[..])
        .bind(key)
        .fetch_optional(tx.conn())
        .await?;
    let Some((id, pool, status, made)) = row else { return Ok(TokenRedemption::Unknown) };
    match platform::rows::known(&status)? {
        EnrollmentTokenStatus::Used if made.is_some() => {
            return Ok(TokenRedemption::On { id: id.into(), pool: pool.into(), made: made.map(Into::into) });
        }
        EnrollmentTokenStatus::Used => return Ok(TokenRedemption::Before),
        EnrollmentTokenStatus::Revoked => return Ok(TokenRedemption::Revoked),
        EnrollmentTokenStatus::Expired => return Ok(TokenRedemption::Expired),
        EnrollmentTokenStatus::Unused => (),
    }
    sqlx::query("UPDATE enrollment_tokens SET used_at = app_now(), used_with = $2 WHERE id = $1")
        .bind(id)
        .bind(key)
        .execute(tx.conn())
        .await?;
    Ok(TokenRedemption::On { id: id.into(), pool: pool.into(), made: None })
}

/// Notes which node a token made.
pub async fn spent_on(tx: &mut Tx, id: EnrollmentTokenId, node: NodeId) -> sqlx::Result<()> {
    sqlx::query("UPDATE enrollment_tokens SET node_id = $2 WHERE id = $1")
        .bind(id.uuid())
        .bind(node.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// The node that a token made, once it was spent.
pub async fn made(tx: &mut Tx, id: EnrollmentTokenId) -> sqlx::Result<Option<NodeId>> {
    let node: Option<Option<Uuid>> = sqlx::query_scalar("SELECT node_id FROM enrollment_tokens WHERE id = $1")
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    Ok(node.flatten().map(Into::into))
}

fn token(row: Row) -> sqlx::Result<EnrollmentToken> {
    Ok(EnrollmentToken {
        id: row.id.into(),
        pool_id: row.pool_id.into(),
        status: platform::rows::word(&row.status)?,
        created_at: row.created_at.to_jiff(),
        expires_at: row.expires_at.to_jiff(),
        node_id: row.node_id.map(Into::into),
    })
}
