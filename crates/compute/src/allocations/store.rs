//! The rows of `allocations` and `allocation_parts`.

use std::collections::BTreeMap;

use contract::{
    Timestamp, Word,
    allocations::{
        AllAllocationsFilter, Allocation, AllocationFilter, AllocationPart, AllocationSpec, AllocationState,
    },
    id::{AllocationId, NodeId, OrganizationId, ProjectId, UserId},
};
use fleet::nodes::HeldSlots;
use kernel::{Tx, lifecycle::Versioned, money::Currency};
use sqlx::types::Json;
use uuid::Uuid;

use super::reason::Reason;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    project_id: Uuid,
    name: Option<String>,
    sku_id: Uuid,
    sku: String,
    gpus: i32,
    nodes: i32,
    region: Option<String>,
    state: String,
    version: i64,
    state_since: jiff_sqlx::Timestamp,
    reason: Option<serde_json::Value>,
    needs_attention: bool,
    login: String,
    tags: Json<BTreeMap<String, String>>,
    lease_ends_at: Option<jiff_sqlx::Timestamp>,
    created_at: jiff_sqlx::Timestamp,
    active_at: Option<jiff_sqlx::Timestamp>,
    ended_at: Option<jiff_sqlx::Timestamp>,
    parts: Json<Vec<PartRow>>,
}

#[derive(serde::Deserialize)]
struct PartRow {
    node_id: Uuid,
    host: Option<String>,
    gpus: Vec<String>,
    stage: Option<String>,
}

const SELECT: &str = "SELECT a.id, a.organization_id, a.project_id, a.name, a.sku_id, s.name AS sku, a.gpus, a.nodes, r.name AS region,
    a.state, a.version, a.state_since, a.reason, a.needs_attention, a.login, a.tags, a.lease_ends_at, a.created_at, a.active_at, a.ended_at,
    (SELECT coalesce(json_agg(json_build_object('node_id', p.node_id, 'host', p.host, 'gpus', p.gpus, 'stage', p.stage) ORDER BY p.node_id), '[]')
     FROM allocation_parts p WHERE p.allocation_id = a.id) AS parts
  FROM allocations a JOIN skus s ON s.id = a.sku_id LEFT JOIN regions r ON r.id = a.region_id";

/// What is over is listed only when asked for.
const LIVE: &str = "CASE WHEN $2::text IS NULL THEN a.state NOT IN ('released', 'failed') ELSE a.state = $2 END";

/// What admission decided, beside what was asked for.
pub struct New<'a> {
    pub id: AllocationId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub spec: &'a AllocationSpec,
    pub sku: Uuid,
    pub region: Option<Uuid>,
    pub login: &'a str,
    pub created_by: &'a str,
    /// In which it is charged.
    pub currency: Currency,
}

/// Inserts a request; its project and organization are active and stay so until the commit.
pub async fn insert(tx: &mut Tx, new: New<'_>) -> sqlx::Result<()> {
    let spec = new.spec;
    sqlx::query(
        "INSERT INTO allocations (id, organization_id, project_id, name, sku_id, gpus, nodes, region_id, same_fabric, spread_group,
           lease_minutes, tags, login, created_by, currency, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'requested')",
    )
    .bind(new.id.uuid())
    .bind(new.organization.uuid())
    .bind(new.project.uuid())
    .bind(spec.name.as_ref().map(|it| it.as_str()))
    .bind(new.sku)
    .bind(spec.gpus.to::<i32>())
    .bind(spec.nodes.to::<i32>())
    .bind(new.region)
    .bind(spec.same_fabric)
    .bind(spec.spread_group.as_ref().map(|it| it.as_str()))
    .bind(spec.lease_minutes.map(|it| it.to::<i32>()))
    .bind(Json(&spec.tags))
    .bind(new.login)
    .bind(new.created_by)
    .bind(new.currency.as_str())
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub async fn get(tx: &mut Tx, id: AllocationId) -> sqlx::Result<Option<Allocation>> {
    read(tx, format!("{SELECT} WHERE a.id = $1"), id).await
}

/// The same, and nobody moves it before this transaction ends: what somebody
/// wants of it is judged by the state that it is in.
pub async fn get_for_update(tx: &mut Tx, id: AllocationId) -> sqlx::Result<Option<Allocation>> {
    read(tx, format!("{SELECT} WHERE a.id = $1 FOR NO KEY UPDATE OF a"), id).await
}

async fn read(tx: &mut Tx, statement: String, id: AllocationId) -> sqlx::Result<Option<Allocation>> {
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(allocation).transpose()
}

/// Allocations with these names of their own and of their project that a member of
/// their organization may mean; at most two, since two are one too many.
pub async fn named(tx: &mut Tx, actor: &str, name: &str, project: &str) -> sqlx::Result<Vec<AllocationId>> {
    let Some(Ok(user)) = actor.strip_prefix("user:").map(str::parse::<UserId>) else { return Ok(Vec::new()) };
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT a.id FROM memberships m JOIN projects p ON p.organization_id = m.organization_id
         JOIN allocations a ON a.project_id = p.id
         WHERE m.user_id = $1 AND lower(p.name) = lower($3) AND lower(a.name) = lower($2)
           AND a.state NOT IN ('released', 'failed') LIMIT 2",
    )
    .bind(user.uuid())
    .bind(name)
    .bind(project)
    .fetch_all(tx.conn())
    .await?;
    Ok(ids.into_iter().map(Into::into).collect())
}

pub async fn list(tx: &mut Tx, project: ProjectId, filter: &AllocationFilter) -> sqlx::Result<Vec<Allocation>> {
    let statement = format!(
        "{SELECT} WHERE a.project_id = $1 AND {LIVE} AND ($3::text IS NULL OR s.name = $3)
           AND ($4::text IS NULL OR lower(a.name) = lower($4)) AND ($5::uuid IS NULL OR a.id < $5) ORDER BY a.id DESC LIMIT $6"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(project.uuid())
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.sku.as_ref().map(|it| it.as_str()))
        .bind(filter.name.as_ref().map(|it| it.as_str()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(allocation).collect()
}

pub async fn list_all(tx: &mut Tx, filter: &AllAllocationsFilter) -> sqlx::Result<Vec<Allocation>> {
    let statement = format!(
        "{SELECT} WHERE ($1::uuid IS NULL OR a.organization_id = $1) AND {LIVE}
           AND ($3::uuid IS NULL OR EXISTS (SELECT FROM allocation_parts p WHERE p.allocation_id = a.id AND p.node_id = $3))
           AND ($4::uuid IS NULL OR a.id < $4) ORDER BY a.id DESC LIMIT $5"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.organization_id.map(|it| it.uuid()))
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.node_id.map(|it| it.uuid()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(allocation).collect()
}

/// GPUs that an organization holds or waits for: of one SKU, in one project, and in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
pub struct GpuDemand {
    pub of_sku: i64,
    pub in_project: i64,
    pub in_all: i64,
}

/// Counted while no other request of the organization can be added: its row is
/// locked. What a lost host held does not count.
pub async fn wanted(
    tx: &mut Tx,
    organization: OrganizationId,
    project: ProjectId,
    sku: Uuid,
) -> sqlx::Result<GpuDemand> {
    sqlx::query_as(
        "SELECT coalesce(sum(gpus * nodes) FILTER (WHERE sku_id = $2), 0)::bigint AS of_sku,
                coalesce(sum(gpus * nodes) FILTER (WHERE project_id = $3), 0)::bigint AS in_project,
                coalesce(sum(gpus * nodes), 0)::bigint AS in_all
         FROM allocations WHERE organization_id = $1 AND counts_against_limits(state, alive_until)",
    )
    .bind(organization.uuid())
    .bind(sku)
    .bind(project.uuid())
    .fetch_one(tx.conn())
    .await
}

/// Notes that its keys were chosen again; false when somebody changed it at the same time.
pub async fn keys_chosen(tx: &mut Tx, id: AllocationId, version: i64) -> sqlx::Result<bool> {
    let changed =
        sqlx::query("UPDATE allocations SET version = version + 1, attempts = 0 WHERE id = $1 AND version = $2")
            .bind(id.uuid())
            .bind(version)
            .execute(tx.conn())
            .await?;
    Ok(changed.rows_affected() == 1)
}

/// Says why it is as it is; a failure makes it end failed, and stays.
pub async fn explain(tx: &mut Tx, id: Uuid, reason: &Reason, failure: Option<&Reason>) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET reason = $2, failure = coalesce(failure, $3), attempts = 0 WHERE id = $1")
        .bind(id)
        .bind(Json(reason))
        .bind(failure.map(Json))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Stamps what somebody's decision ended, or that it is about to end; since
/// when it is in its state, and when it ended.
pub async fn ended(
    tx: &mut Tx,
    id: AllocationId,
    state: AllocationState,
    reason: &Reason,
) -> sqlx::Result<(Timestamp, Option<Timestamp>)> {
    let is_over = matches!(state, AllocationState::Released | AllocationState::Failed);
    let (since, ended_at): (jiff_sqlx::Timestamp, Option<jiff_sqlx::Timestamp>) = sqlx::query_as(
        "UPDATE allocations SET reason = $2, attempts = 0, needs_attention = false,
           ended_at = CASE WHEN $3 THEN app_now() END WHERE id = $1 RETURNING state_since, ended_at",
    )
    .bind(id.uuid())
    .bind(Json(reason))
    .bind(is_over)
    .fetch_one(tx.conn())
    .await?;
    Ok((since.to_jiff(), ended_at.map(|it| it.to_jiff())))
}

/// Says that somebody wants it stopped or started, and counts tries anew.
pub async fn record_intent(tx: &mut Tx, id: AllocationId, reason: Option<&Reason>) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET reason = $2, attempts = 0, needs_attention = false WHERE id = $1")
        .bind(id.uuid())
        .bind(reason.map(Json))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Who waits and should be looked at first: those that nodes are kept for, then
/// the oldest of each organization, those that hold least before the others. One
/// that could not run even on an empty fleet is looked at beside, not before.
pub async fn next_in_turn(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM (
           SELECT DISTINCT ON (organization_id, sku_id, region_id, could_run) id, organization_id, created_at, could_run, kept_at
           FROM allocations WHERE state = 'requested' ORDER BY organization_id, sku_id, region_id, could_run, created_at) AS heads
         ORDER BY kept_at IS NULL, NOT could_run, (SELECT coalesce(sum(gpus * nodes), 0) FROM allocations held
                   WHERE held.organization_id = heads.organization_id AND held.state <> 'requested'
                     AND counts_against_limits(held.state, held.alive_until)), created_at
         LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

/// Allocations that somebody should be looking after.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM allocations WHERE state IN ('requested', 'provisioning', 'stopping', 'starting', 'releasing')
           OR (state IN ('active', 'stopped') AND lease_ends_at <= app_now())
           OR (state = 'active' AND organization_id IN (SELECT id FROM organizations WHERE state = 'suspended'))
           OR (state = 'stopped' AND NOT EXISTS (SELECT FROM work w WHERE w.kind = 'allocation' AND w.id = allocations.id)) LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

/// What an allocation of the project has or had, on all nodes or on one.
pub async fn held(
    tx: &mut Tx,
    project: ProjectId,
    id: AllocationId,
    node: Option<NodeId>,
) -> sqlx::Result<Option<HeldSlots>> {
    let row: Option<(Option<jiff_sqlx::Timestamp>, Option<jiff_sqlx::Timestamp>, Vec<Uuid>)> = sqlx::query_as(
        "SELECT a.active_at, a.ended_at,
           ARRAY(SELECT unnest(p.slots) FROM allocation_parts p WHERE p.allocation_id = a.id AND ($3::uuid IS NULL OR p.node_id = $3))
         FROM allocations a WHERE a.id = $1 AND a.project_id = $2",
    )
    .bind(id.uuid())
    .bind(project.uuid())
    .bind(node.map(|it| it.uuid()))
    .fetch_optional(tx.conn())
    .await?;
    let moment = |it: Option<jiff_sqlx::Timestamp>| it.map(|it| it.to_jiff());
    Ok(row.map(|(since, until, slots)| HeldSlots { slots, since: moment(since), until: moment(until) }))
}

pub(super) type Found = (Uuid, Uuid, String, i64);

/// In which currency it is charged.
pub async fn currency(tx: &mut Tx, id: AllocationId) -> sqlx::Result<Currency> {
    let code: String = sqlx::query_scalar("SELECT currency FROM allocations WHERE id = $1")
        .bind(id.uuid())
        .fetch_one(tx.conn())
        .await?;
    platform::rows::text(&code)
}

/// Why it failed, ended or waits.
pub async fn reason(tx: &mut Tx, id: AllocationId) -> sqlx::Result<Option<Reason>> {
    let found: Option<Option<serde_json::Value>> =
        sqlx::query_scalar("SELECT coalesce(failure, reason) FROM allocations WHERE id = $1")
            .bind(id.uuid())
            .fetch_optional(tx.conn())
            .await?;
    Ok(found.flatten().map(Reason::stored))
}

/// Allocations that have something on a node.
pub async fn on_node(tx: &mut Tx, node: NodeId) -> sqlx::Result<Vec<Versioned<AllocationState>>> {
    let rows: Vec<Found> = sqlx::query_as(
        "SELECT a.id, a.organization_id, a.state, a.version FROM allocations a JOIN allocation_parts p ON p.allocation_id = a.id
         WHERE p.node_id = $1 AND a.state NOT IN ('released', 'failed') ORDER BY a.id FOR UPDATE OF a",
    )
    .bind(node.uuid())
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(versioned_row).collect()
}

pub(super) fn versioned_row((id, organization, state, version): Found) -> sqlx::Result<Versioned<AllocationState>> {
    Ok(Versioned { id, organization: Some(organization), state: platform::rows::known(&state)?, version })
}

/// Allocations that nobody else moves until the commit.
pub async fn locked(tx: &mut Tx, ids: &[Uuid]) -> sqlx::Result<Vec<Versioned<AllocationState>>> {
    let rows: Vec<Found> = sqlx::query_as(
        "SELECT id, organization_id, state, version FROM allocations WHERE id = ANY($1) ORDER BY id FOR UPDATE",
    )
    .bind(ids)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(versioned_row).collect()
}

/// What is on a node, with the organization and project of each.
pub async fn holders_on_node(tx: &mut Tx, node: NodeId) -> sqlx::Result<Vec<(Uuid, Uuid, Uuid)>> {
    sqlx::query_as(
        "SELECT a.id, a.organization_id, a.project_id FROM allocations a JOIN allocation_parts p ON p.allocation_id = a.id
         WHERE p.node_id = $1 AND a.state NOT IN ('releasing', 'released', 'failed', 'release_failed') ORDER BY a.id",
    )
    .bind(node.uuid())
    .fetch_all(tx.conn())
    .await
}

/// How many allocations need a person.
pub async fn count_needing_attention(tx: &mut Tx) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM allocations WHERE needs_attention AND state NOT IN ('released', 'failed')")
        .fetch_one(tx.conn())
        .await
}

pub fn versioned(allocation: &Allocation) -> sqlx::Result<Versioned<AllocationState>> {
    Ok(Versioned {
        id: allocation.id.uuid(),
        organization: Some(allocation.organization_id.uuid()),
        state: platform::rows::known(allocation.state.as_str())?,
        version: allocation.version,
    })
}

fn allocation(row: Row) -> sqlx::Result<Allocation> {
    let tags =
        row.tags.0.into_iter().map(|(name, value)| Ok((platform::rows::text(&name)?, platform::rows::text(&value)?)));
    let part =
        |it: PartRow| AllocationPart { node_id: it.node_id.into(), host: it.host, gpus: it.gpus, stage: it.stage };
    let reason = row.reason.map(Reason::stored);
    Ok(Allocation {
        id: row.id.into(),
        organization_id: row.organization_id.into(),
        project_id: row.project_id.into(),
        name: row.name.as_deref().map(platform::rows::text).transpose()?,
        sku_id: row.sku_id.into(),
        sku: platform::rows::text(&row.sku)?,
        gpus: u16::try_from(row.gpus).unwrap_or(u16::MAX),
        nodes: u16::try_from(row.nodes).unwrap_or(u16::MAX),
        region: row.region.as_deref().map(platform::rows::text).transpose()?,
        state: platform::rows::word(&row.state)?,
        version: row.version,
        state_since: row.state_since.to_jiff(),
        reason: reason.as_ref().map(Reason::sentence),
        reason_code: reason.map(|it| it.code().into()),
        needs_attention: row.needs_attention,
        parts: row.parts.0.into_iter().map(part).collect(),
        login: row.login,
        tags: tags.collect::<sqlx::Result<_>>()?,
        lease_ends_at: row.lease_ends_at.map(|it| it.to_jiff()),
        created_at: row.created_at.to_jiff(),
        active_at: row.active_at.map(|it| it.to_jiff()),
        ended_at: row.ended_at.map(|it| it.to_jiff()),
    })
}
