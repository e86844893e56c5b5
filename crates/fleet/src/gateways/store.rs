//! The rows of `gateways`, their certificates and their beats.

use std::time::Duration;

use contract::{
    Label, Timestamp, Word,
    gateways::{Gateway, GatewayFilter, GatewaySpec},
    id::{GatewayId, NodeId, RegionId},
};
use kernel::{Tx, clock, secrets::TokenHash};
use protocol::gateway::BeatRequest;
use uuid::Uuid;

use super::{Door, NotAdded};
use crate::ca::Issued;
use platform::rows;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    region_id: Uuid,
    status: String,
    agent_url: String,
    public_url: String,
    ssh_address: Option<String>,
    web_domain: String,
    version: Option<String>,
    nodes: Option<i32>,
    sessions: Option<i32>,
    last_seen_at: Option<jiff_sqlx::Timestamp>,
    created_at: jiff_sqlx::Timestamp,
}

/// `$1` is how long one may be silent, in seconds.
const STATUS: &str = "CASE WHEN g.removed_at IS NOT NULL THEN 'removed' WHEN g.joined_at IS NULL THEN 'waiting'
    WHEN b.last_seen_at > app_now() - make_interval(secs => $1) THEN 'live' ELSE 'silent' END";

fn select() -> String {
    format!(
        "SELECT g.id, g.name, g.region_id, {STATUS} AS status, g.agent_url, g.public_url, g.ssh_address, g.web_domain,
           b.version, b.nodes, b.sessions, b.last_seen_at, g.created_at
         FROM gateways g LEFT JOIN gateway_beats b ON b.gateway_id = g.id"
    )
}

pub async fn insert(
    tx: &mut Tx,
    spec: &GatewaySpec,
    hash: &TokenHash,
    expires_at: Timestamp,
) -> sqlx::Result<Result<GatewayId, NotAdded>> {
    let region: Option<Uuid> = sqlx::query_scalar("SELECT id FROM regions WHERE id = $1")
        .bind(spec.region_id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    if region.is_none() {
        return Ok(Err(NotAdded::NoSuchRegion));
    }
    let id = GatewayId::generate();
    let added = sqlx::query(
        "INSERT INTO gateways (id, region_id, name, agent_url, public_url, ssh_address, web_domain, token_hash, token_expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) WHERE removed_at IS NULL DO NOTHING",
    )
    .bind(id.uuid())
    .bind(spec.region_id.uuid())
    .bind(spec.name.as_str())
    .bind(spec.agent_url.as_str())
    .bind(spec.public_url.as_str())
    .bind(spec.ssh_address.as_ref().map(|it| it.as_str()))
    .bind(spec.web_domain.as_str())
    .bind(&hash.as_bytes()[..])
    .bind(clock::bind(expires_at))
    .execute(tx.conn())
    .await?;
    Ok(if added.rows_affected() == 1 { Ok(id) } else { Err(NotAdded::NameTaken) })
}

pub async fn get(tx: &mut Tx, id: GatewayId, silent: Duration) -> sqlx::Result<Option<Gateway>> {
    let statement = format!("{} WHERE g.id = $2", select());
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(silent.as_secs_f64())
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    row.map(gateway).transpose()
}

/// The gateway that people mean by a name.
pub async fn by_name(tx: &mut Tx, name: &Label) -> sqlx::Result<Option<GatewayId>> {
    let id: Option<Uuid> = sqlx::query_scalar("SELECT id FROM gateways WHERE name = $1 AND removed_at IS NULL")
        .bind(name.as_str())
        .fetch_optional(tx.conn())
        .await?;
    Ok(id.map(Into::into))
}

pub async fn list(tx: &mut Tx, filter: &GatewayFilter, silent: Duration) -> sqlx::Result<Vec<Gateway>> {
    let statement = format!(
        "{} WHERE CASE WHEN $2::text IS NULL THEN g.removed_at IS NULL ELSE {STATUS} = $2 END
           AND ($3::uuid IS NULL OR g.region_id = $3) AND ($4::uuid IS NULL OR g.id < $4) ORDER BY g.id DESC LIMIT $5",
        select()
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(silent.as_secs_f64())
        .bind(filter.status.map(|it| it.as_str()))
        .bind(filter.region_id.map(|it| it.uuid()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(gateway).collect()
}

/// A gateway is reached elsewhere from now on.
pub async fn moved(tx: &mut Tx, spec: &GatewaySpec) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE gateways SET agent_url = $2, public_url = $3, ssh_address = $4 WHERE name = $1 AND removed_at IS NULL",
    )
    .bind(spec.name.as_str())
    .bind(spec.agent_url.as_str())
    .bind(spec.public_url.as_str())
    .bind(spec.ssh_address.as_ref().map(|it| it.as_str()))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Removes a gateway and revokes its certificates; says whether it was there, and whether that is news.
pub async fn remove(tx: &mut Tx, id: GatewayId) -> sqlx::Result<Option<bool>> {
    let was_there: Option<bool> =
        sqlx::query_scalar("SELECT removed_at IS NULL FROM gateways WHERE id = $1 FOR UPDATE")
            .bind(id.uuid())
            .fetch_optional(tx.conn())
            .await?;
    if was_there == Some(true) {
        sqlx::query("UPDATE gateways SET removed_at = app_now() WHERE id = $1")
            .bind(id.uuid())
            .execute(tx.conn())
            .await?;
        sqlx::query(
            "UPDATE gateway_certificates SET revoked_at = app_now() WHERE gateway_id = $1 AND revoked_at IS NULL",
        )
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    }
    Ok(was_there)
}

/// Revokes the certificates of all gateways: what signed them is trusted no longer.
pub async fn revoke_every_certificate(tx: &mut Tx) -> sqlx::Result<()> {
    sqlx::query("UPDATE gateway_certificates SET revoked_at = app_now() WHERE revoked_at IS NULL")
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// What showing a join token came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenRedemption {
    /// It works, and no longer does after the commit.
    On {
        id: GatewayId,
        agent_url: String,
    },
    Unknown,
    Before,
    Removed,
    Expired,
}

/// Spends a token with a key. Of two processes that show it at once, one waits for
/// the other. Who shows it again with the same key, as long as it would work, lost
/// the answer.
pub async fn spend(tx: &mut Tx, hash: &TokenHash, key: &str) -> sqlx::Result<TokenRedemption> {
    let row: Option<(Uuid, String, bool, bool, bool)> = sqlx::query_as(
        "SELECT id, agent_url, joined_at IS NOT NULL AND joined_with IS DISTINCT FROM $2, removed_at IS NOT NULL,
                token_expires_at <= app_now()
         FROM gateways WHERE token_hash = $1 FOR UPDATE",
    )
    .bind(&hash.as_bytes()[..])
    .bind(key)
    .fetch_optional(tx.conn())
    .await?;
    let (id, agent_url) = match row {
        None => return Ok(TokenRedemption::Unknown),
        Some((_, _, _, true, _)) => return Ok(TokenRedemption::Removed),
        Some((_, _, true, _, _)) => return Ok(TokenRedemption::Before),
        Some((_, _, _, _, true)) => return Ok(TokenRedemption::Expired),
        Some((id, agent_url, false, false, false)) => (id, agent_url),
    };
    sqlx::query("UPDATE gateways SET joined_at = coalesce(joined_at, app_now()), joined_with = $2 WHERE id = $1")
        .bind(id)
        .bind(key)
        .execute(tx.conn())
        .await?;
    Ok(TokenRedemption::On { id: id.into(), agent_url })
}

// bound: a gateway uses the newest; the others are for answers that were lost
const KEPT: i64 = 4;

/// Notes a new certificate and forgets all but the newest of the gateway's.
pub async fn add_certificate(tx: &mut Tx, id: GatewayId, issued: &Issued) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM gateway_certificates WHERE gateway_id = $1 AND revoked_at IS NULL AND serial NOT IN (
           SELECT serial FROM gateway_certificates WHERE gateway_id = $1 AND revoked_at IS NULL ORDER BY issued_at DESC, serial LIMIT $2)",
    )
    .bind(id.uuid())
    .bind(KEPT - 1)
    .execute(tx.conn())
    .await?;
    sqlx::query("INSERT INTO gateway_certificates (serial, gateway_id, expires_at) VALUES ($1, $2, $3)")
        .bind(&issued.serial)
        .bind(id.uuid())
        .bind(clock::bind(issued.expires_at))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Whether a certificate of the gateway was revoked; nothing when it has no such one.
pub async fn is_certificate_revoked(tx: &mut Tx, id: GatewayId, serial: &str) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar("SELECT revoked_at IS NOT NULL FROM gateway_certificates WHERE serial = $1 AND gateway_id = $2")
        .bind(serial)
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await
}

pub async fn revoked_since(tx: &mut Tx, since: Timestamp) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("SELECT serial FROM gateway_certificates WHERE revoked_at > $1")
        .bind(clock::bind(since))
        .fetch_all(tx.conn())
        .await
}

/// Which of these still work; those that were forgotten do not.
pub async fn working(tx: &mut Tx, serials: &[String]) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("SELECT serial FROM gateway_certificates WHERE serial = ANY($1) AND revoked_at IS NULL")
        .bind(serials)
        .fetch_all(tx.conn())
        .await
}

/// Forgets certificates that ended so long ago that they cannot be renewed either.
pub async fn forget_old_certificates(tx: &mut Tx, after: Duration, bite: i64) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "DELETE FROM gateway_certificates WHERE serial IN (
           SELECT serial FROM gateway_certificates WHERE expires_at < app_now() - make_interval(secs => $1) LIMIT $2)",
    )
    .bind(after.as_secs_f64())
    .bind(bite)
    .execute(tx.conn())
    .await?;
    Ok(done.rows_affected())
}

/// What a beat changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeatOutcome {
    /// Whether this is the first beat of a start of the gateway.
    pub is_new_start: bool,
    pub agent_url: String,
    pub ssh_address: Option<String>,
}

/// Notes a beat; nothing when the gateway was removed.
pub async fn beaten(tx: &mut Tx, id: GatewayId, beat: &BeatRequest) -> sqlx::Result<Option<BeatOutcome>> {
    let row: Option<(String, Option<String>, Option<i64>)> = sqlx::query_as(
        "SELECT g.agent_url, g.ssh_address, b.generation FROM gateways g LEFT JOIN gateway_beats b ON b.gateway_id = g.id
         WHERE g.id = $1 AND g.removed_at IS NULL",
    )
    .bind(id.uuid())
    .fetch_optional(tx.conn())
    .await?;
    let Some((agent_url, ssh_address, before)) = row else { return Ok(None) };
    let generation = i64::try_from(beat.generation).unwrap_or(i64::MAX);
    sqlx::query(
        "INSERT INTO gateway_beats (gateway_id, last_seen_at, generation, version, nodes, sessions)
         VALUES ($1, app_now(), $2, $3, $4, $5)
         ON CONFLICT (gateway_id) DO UPDATE SET last_seen_at = excluded.last_seen_at, generation = excluded.generation,
           version = excluded.version, nodes = excluded.nodes, sessions = excluded.sessions",
    )
    .bind(id.uuid())
    .bind(generation)
    .bind(beat.version.chars().take(64).collect::<String>())
    .bind(i32::try_from(beat.nodes).unwrap_or(i32::MAX))
    .bind(i32::try_from(beat.sessions.len()).unwrap_or(i32::MAX))
    .execute(tx.conn())
    .await?;
    Ok(Some(BeatOutcome { is_new_start: before != Some(generation), agent_url, ssh_address }))
}

/// The gateway of the node's region that was heard last; nothing when none lives.
pub async fn door_for(tx: &mut Tx, node: NodeId, silent: Duration) -> sqlx::Result<Option<Door>> {
    sqlx::query_as(
        "SELECT g.public_url, g.web_domain FROM gateways g JOIN gateway_beats b ON b.gateway_id = g.id
         WHERE g.region_id = node_region($1) AND g.removed_at IS NULL AND b.last_seen_at > app_now() - make_interval(secs => $2)
         ORDER BY b.last_seen_at DESC LIMIT 1",
    )
    .bind(node.uuid())
    .bind(silent.as_secs_f64())
    .fetch_optional(tx.conn())
    .await
}

/// Where SSH clients reach what is on a node: at the gateway of its region that was heard last.
pub async fn ssh_address_for(tx: &mut Tx, node: NodeId, silent: Duration) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT g.ssh_address FROM gateways g JOIN gateway_beats b ON b.gateway_id = g.id
         WHERE g.region_id = node_region($1) AND g.ssh_address IS NOT NULL AND g.removed_at IS NULL
           AND b.last_seen_at > app_now() - make_interval(secs => $2)
         ORDER BY b.last_seen_at DESC LIMIT 1",
    )
    .bind(node.uuid())
    .bind(silent.as_secs_f64())
    .fetch_optional(tx.conn())
    .await
}

/// Where SSH clients reach gateways, each address once.
pub async fn ssh_addresses(tx: &mut Tx) -> sqlx::Result<Vec<String>> {
    // bound: more than any platform has
    const MOST: i64 = 1_000;
    sqlx::query_scalar(
        "SELECT DISTINCT ssh_address FROM gateways WHERE ssh_address IS NOT NULL AND removed_at IS NULL
         ORDER BY ssh_address LIMIT $1",
    )
    .bind(MOST)
    .fetch_all(tx.conn())
    .await
}

/// A gateway that hosts may be told of, and how long ago it was heard.
pub struct LiveGateway {
    pub id: GatewayId,
    pub region: RegionId,
    pub agent_url: String,
    pub ago: Duration,
}

/// Every gateway that was ever heard and not removed, in one round trip.
pub async fn heard(db: &kernel::Db) -> sqlx::Result<Vec<LiveGateway>> {
    use sqlx::Row as _;
    let statement =
        "SELECT g.id, g.region_id, g.agent_url, extract(epoch FROM app_now() - b.last_seen_at)::float8 AS ago
        FROM gateways g JOIN gateway_beats b ON b.gateway_id = g.id WHERE g.removed_at IS NULL ORDER BY g.id";
    let rows = db.read_once(kernel::Scope::System, statement).await?;
    let heard = |row: &sqlx::postgres::PgRow| {
        Ok(LiveGateway {
            id: row.try_get::<Uuid, _>("id")?.into(),
            region: row.try_get::<Uuid, _>("region_id")?.into(),
            agent_url: row.try_get("agent_url")?,
            ago: Duration::try_from_secs_f64(row.try_get::<f64, _>("ago")?).unwrap_or_default(),
        })
    };
    rows.iter().map(heard).collect()
}

/// The fronts of all gateways, in one round trip.
pub async fn doors(db: &kernel::Db) -> sqlx::Result<Vec<Door>> {
    use sqlx::Row as _;
    // bound: more than any platform has, and what a header can hold
    let statement = "SELECT DISTINCT public_url, web_domain FROM gateways WHERE removed_at IS NULL
        ORDER BY public_url, web_domain LIMIT 64";
    let rows = db.read_once(kernel::Scope::System, statement).await?;
    let door = |row: &sqlx::postgres::PgRow| {
        Ok(Door { public_url: row.try_get("public_url")?, web_domain: row.try_get("web_domain")? })
    };
    rows.iter().map(door).collect()
}

fn gateway(row: Row) -> sqlx::Result<Gateway> {
    let count = |it: Option<i32>| it.and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
    Ok(Gateway {
        id: row.id.into(),
        name: rows::text(&row.name)?,
        region_id: row.region_id.into(),
        status: rows::word(&row.status)?,
        agent_url: row.agent_url,
        public_url: row.public_url,
        ssh_address: row.ssh_address,
        web_domain: row.web_domain,
        version: row.version,
        nodes: count(row.nodes),
        sessions: count(row.sessions),
        last_seen_at: row.last_seen_at.map(|it| it.to_jiff()),
        created_at: row.created_at.to_jiff(),
    })
}
