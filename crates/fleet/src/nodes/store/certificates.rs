//! The rows of `node_certificates`: what was issued, and what of it was revoked.

use std::time::Duration;

use contract::{Timestamp, id::NodeId, nodes::NodeCertificate};
use kernel::{Tx, clock};
use uuid::Uuid;

/// What is known of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateStatus {
    pub node: NodeId,
    pub is_revoked: bool,
}

// bound: a node uses the newest; the others are for answers that were lost
const KEPT: i64 = 4;

/// Notes a new certificate and forgets all but the newest of the node's, so
/// that a node cannot fill the table. What is forgotten no longer works.
pub async fn insert(tx: &mut Tx, node: NodeId, serial: &str, expires_at: Timestamp) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM node_certificates WHERE node_id = $1 AND revoked_at IS NULL AND serial NOT IN (
           SELECT serial FROM node_certificates WHERE node_id = $1 AND revoked_at IS NULL ORDER BY issued_at DESC, serial LIMIT $2)",
    )
    .bind(node.uuid())
    .bind(KEPT - 1)
    .execute(tx.conn())
    .await?;
    sqlx::query("INSERT INTO node_certificates (serial, node_id, expires_at) VALUES ($1, $2, $3)")
        .bind(serial)
        .bind(node.uuid())
        .bind(clock::bind(expires_at))
        .execute(tx.conn())
        .await?;
    Ok(())
}

type Columns = (String, jiff_sqlx::Timestamp, jiff_sqlx::Timestamp, Option<jiff_sqlx::Timestamp>);

// bound: certificates of one node that are shown
const SHOWN: i64 = 10;

/// What a node is or was known by, the newest first.
pub async fn list(tx: &mut Tx, node: NodeId) -> sqlx::Result<Vec<NodeCertificate>> {
    let rows: Vec<Columns> = sqlx::query_as(
        "SELECT serial, issued_at, expires_at, revoked_at FROM node_certificates
         WHERE node_id = $1 ORDER BY issued_at DESC, serial LIMIT $2",
    )
    .bind(node.uuid())
    .bind(SHOWN)
    .fetch_all(tx.conn())
    .await?;
    let certificate = |(serial, issued_at, expires_at, revoked_at): Columns| NodeCertificate {
        serial,
        issued_at: issued_at.to_jiff(),
        expires_at: expires_at.to_jiff(),
        revoked_at: revoked_at.map(|it| it.to_jiff()),
    };
    Ok(rows.into_iter().map(certificate).collect())
}

/// Notes that a node was heard with a certificate.
pub async fn used(tx: &mut Tx, serial: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE node_certificates SET used_at = app_now() WHERE serial = $1 AND used_at IS NULL")
        .bind(serial)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// How many nodes hold a certificate that works or can be renewed; what
/// cannot is forgotten.
pub async fn count_certified(tx: &mut Tx) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT count(DISTINCT node_id) FROM node_certificates c JOIN nodes ON nodes.id = c.node_id
         WHERE c.revoked_at IS NULL AND nodes.state <> 'retired'",
    )
    .fetch_one(tx.conn())
    .await
}

/// How many of them were not heard with one that was issued since.
pub async fn count_certified_before(tx: &mut Tx, since: Timestamp) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT count(*) FROM (
           SELECT node_id FROM node_certificates c JOIN nodes ON nodes.id = c.node_id
           WHERE c.revoked_at IS NULL AND nodes.state <> 'retired' GROUP BY node_id
           HAVING NOT bool_or(c.issued_at >= $1 AND c.used_at IS NOT NULL)) AS behind",
    )
    .bind(clock::bind(since))
    .fetch_one(tx.conn())
    .await
}

pub async fn certificate_status(tx: &mut Tx, serial: &str) -> sqlx::Result<Option<CertificateStatus>> {
    let row: Option<(Uuid, bool)> =
        sqlx::query_as("SELECT node_id, revoked_at IS NOT NULL FROM node_certificates WHERE serial = $1")
            .bind(serial)
            .fetch_optional(tx.conn())
            .await?;
    Ok(row.map(|(node, is_revoked)| CertificateStatus { node: node.into(), is_revoked }))
}

/// Whether the node holds a certificate that works.
pub async fn any_works(tx: &mut Tx, node: NodeId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM node_certificates WHERE node_id = $1 AND revoked_at IS NULL AND expires_at > app_now())",
    )
    .bind(node.uuid())
    .fetch_one(tx.conn())
    .await
}

/// Revokes every certificate of a node; how many still worked.
pub async fn revoke_all(tx: &mut Tx, node: NodeId) -> sqlx::Result<u64> {
    let done =
        sqlx::query("UPDATE node_certificates SET revoked_at = app_now() WHERE node_id = $1 AND revoked_at IS NULL")
            .bind(node.uuid())
            .execute(tx.conn())
            .await?;
    Ok(done.rows_affected())
}

/// Revokes the certificates of all nodes: what signed them is trusted no longer.
pub async fn revoke_every(tx: &mut Tx) -> sqlx::Result<()> {
    sqlx::query("UPDATE node_certificates SET revoked_at = app_now() WHERE revoked_at IS NULL")
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Certificates that were revoked since then.
pub async fn revoked_since(tx: &mut Tx, since: Timestamp) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("SELECT serial FROM node_certificates WHERE revoked_at > $1")
        .bind(clock::bind(since))
        .fetch_all(tx.conn())
        .await
}

/// Nodes whose certificates were revoked since then and that have no other.
pub async fn cut_off_since(tx: &mut Tx, since: Timestamp) -> sqlx::Result<Vec<NodeId>> {
    let nodes: Vec<Uuid> = sqlx::query_scalar(
        "SELECT DISTINCT c.node_id FROM node_certificates c WHERE c.revoked_at > $1 AND NOT EXISTS (
           SELECT FROM node_certificates other WHERE other.node_id = c.node_id AND other.revoked_at IS NULL
             AND other.expires_at > app_now())",
    )
    .bind(clock::bind(since))
    .fetch_all(tx.conn())
    .await?;
    Ok(nodes.into_iter().map(Into::into).collect())
}

/// Forgets certificates that ended so long ago that they cannot be renewed either.
pub async fn forget_old(tx: &mut Tx, after: Duration, bite: i64) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "DELETE FROM node_certificates WHERE serial IN (
           SELECT serial FROM node_certificates WHERE expires_at < app_now() - make_interval(secs => $1) LIMIT $2)",
    )
    .bind(after.as_secs_f64())
    .bind(bite)
    .execute(tx.conn())
    .await?;
    Ok(done.rows_affected())
}

/// Which of these still work; those that were forgotten do not.
pub async fn working(tx: &mut Tx, serials: &[String]) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("SELECT serial FROM node_certificates WHERE serial = ANY($1) AND revoked_at IS NULL")
        .bind(serials)
        .fetch_all(tx.conn())
        .await
}
