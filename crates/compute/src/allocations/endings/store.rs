//! The rows of `allocations` that others end.

use std::time::Duration;

use contract::{
    Timestamp,
    id::{AllocationId, NodeId, OrganizationId, ProjectId},
    projects::{Burn, Ending, EndingPreview},
};
use kernel::{Tx, clock, lifecycle::Versioned};
use uuid::Uuid;

use super::super::metering::GPU_TIME;
use crate::allocations::{
    lifecycle::AllocationLifecycle,
    store::{Found, versioned_row},
};
use contract::allocations::AllocationState;
use kernel::lifecycle::Lifecycle as _;

/// Allocations of a project that nobody asked to end yet, locked in the order in which everybody does.
pub async fn endable_in_project(
    tx: &mut Tx,
    project: ProjectId,
    limit: i64,
) -> sqlx::Result<Vec<Versioned<AllocationState>>> {
    let rows: Vec<Found> = sqlx::query_as(
        "SELECT id, organization_id, state, version FROM allocations WHERE project_id = $1
           AND state IN ('requested', 'provisioning', 'active', 'stopping', 'stopped', 'starting')
         ORDER BY id LIMIT $2 FOR UPDATE",
    )
    .bind(project.uuid())
    .bind(limit)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(versioned_row).collect()
}

/// How many allocations of a project are not over.
pub async fn live_in_project(tx: &mut Tx, project: ProjectId) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM allocations WHERE project_id = $1 AND state NOT IN ('released', 'failed')")
        .bind(project.uuid())
        .fetch_one(tx.conn())
        .await
}

/// Allocations that do something else when their organization is suspended or resumed.
pub async fn heeding(tx: &mut Tx, organization: Uuid) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM allocations WHERE organization_id = $1
           AND state IN ('requested', 'provisioning', 'active', 'starting', 'stopped') ORDER BY id",
    )
    .bind(organization)
    .fetch_all(tx.conn())
    .await
}

/// Allocations that ended on a node after it was last heard: nobody has seen them run till then.
pub async fn ended_unheard(
    tx: &mut Tx,
    node: NodeId,
    last_heard: Timestamp,
) -> sqlx::Result<Vec<Versioned<AllocationState>>> {
    let rows: Vec<Found> = sqlx::query_as(
        "SELECT a.id, a.organization_id, a.state, a.version FROM allocation_parts p JOIN allocations a ON a.id = p.allocation_id
         WHERE p.node_id = $1 AND a.state IN ('released', 'failed') AND a.ended_at > $2 ORDER BY a.id",
    )
    .bind(node.uuid())
    .bind(clock::bind(last_heard))
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(versioned_row).collect()
}

/// Notes when a host of an allocation that is lost was last heard; the first loss counts.
pub async fn lost(tx: &mut Tx, id: Uuid, last_heard: Timestamp) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET alive_until = coalesce(alive_until, $2) WHERE id = $1")
        .bind(id)
        .bind(clock::bind(last_heard))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// When a host of it that is lost was last heard; nothing when none is.
pub async fn last_heard(tx: &mut Tx, id: AllocationId) -> sqlx::Result<Option<Timestamp>> {
    let at: Option<jiff_sqlx::Timestamp> = sqlx::query_scalar("SELECT alive_until FROM allocations WHERE id = $1")
        .bind(id.uuid())
        .fetch_one(tx.conn())
        .await?;
    Ok(at.map(|it| it.to_jiff()))
}

/// Since when a host of it has not been heard; nothing when all were within that time.
pub async fn silent_since(tx: &mut Tx, id: AllocationId, within: Duration) -> sqlx::Result<Option<Timestamp>> {
    let at: Option<jiff_sqlx::Timestamp> = sqlx::query_scalar(
        "SELECT heard.at FROM silent_since($1) AS heard (at) WHERE heard.at < app_now() - make_interval(secs => $2)",
    )
    .bind(id.uuid())
    .bind(within.as_secs_f64())
    .fetch_optional(tx.conn())
    .await?;
    Ok(at.map(|it| it.to_jiff()))
}

/// Allocations that hold something on these nodes and end, or could not be cleaned.
pub async fn uncleaned(tx: &mut Tx, nodes: &[NodeId]) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT DISTINCT a.id FROM slots s JOIN allocations a ON a.id = s.held_by
         WHERE s.node_id = ANY($1) AND a.state IN ('releasing', 'release_failed') ORDER BY a.id",
    )
    .bind(nodes.iter().map(|it| it.uuid()).collect::<Vec<_>>())
    .fetch_all(tx.conn())
    .await
}

/// Whether slots of a node were let go of without its host's evidence, and neither
/// attested nor wiped since. GPUs that another node had before count.
pub async fn is_abandoned(tx: &mut Tx, node: NodeId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM slots own JOIN slots s ON s.gpu_uuid = own.gpu_uuid
           JOIN allocation_parts p ON p.node_id = s.node_id AND s.id = ANY (p.slots)
           WHERE own.node_id = $1 AND s.held_by IS NULL AND NOT coalesce((p.evidence->>'user_removed')::boolean, false)
             AND coalesce(s.condition_before, s.condition) = 'quarantined' AND s.wiped_at IS NULL)",
    )
    .bind(node.uuid())
    .fetch_one(tx.conn())
    .await
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: Option<String>,
    project_id: Uuid,
    state: String,
    gpus: i64,
}

/// What the end of a project, or of every project of an organization, would end.
pub async fn preview_end(
    tx: &mut Tx,
    organization: OrganizationId,
    project: Option<ProjectId>,
) -> sqlx::Result<EndingPreview> {
    // bound: as the API document says
    const LISTED: i64 = 100;
    let project = project.map(|it| it.uuid());
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, name, project_id, state, (gpus * nodes)::bigint AS gpus FROM allocations
         WHERE organization_id = $1 AND ($2::uuid IS NULL OR project_id = $2) AND state NOT IN ('released', 'failed')
         ORDER BY id DESC LIMIT $3",
    )
    .bind(organization.uuid())
    .bind(project)
    .bind(LISTED)
    .fetch_all(tx.conn())
    .await?;
    let (count, gpus): (i64, i64) = sqlx::query_as(
        "SELECT count(*), coalesce(sum(gpus * nodes), 0)::bigint FROM allocations
         WHERE organization_id = $1 AND ($2::uuid IS NULL OR project_id = $2) AND state NOT IN ('released', 'failed')",
    )
    .bind(organization.uuid())
    .bind(project)
    .fetch_one(tx.conn())
    .await?;
    let burn: Vec<(String, i64)> = sqlx::query_as(
        "SELECT i.currency, sum(i.micros_per_hour)::bigint FROM intervals i
         WHERE i.organization_id = $1 AND i.is_open AND ($2::uuid IS NULL OR i.project_id = $2) AND i.subject_kind = $3
           AND i.micros_per_hour > 0 GROUP BY 1 ORDER BY 1",
    )
    .bind(organization.uuid())
    .bind(project)
    .bind(GPU_TIME.subject)
    .fetch_all(tx.conn())
    .await?;
    Ok(EndingPreview {
        ends: rows.into_iter().map(ending).collect::<sqlx::Result<_>>()?,
        count,
        gpus,
        burn: burn
            .into_iter()
            .map(|(currency, micros_per_hour)| Ok(Burn { currency: platform::rows::text(&currency)?, micros_per_hour }))
            .collect::<sqlx::Result<_>>()?,
    })
}

fn ending(row: Row) -> sqlx::Result<Ending> {
    Ok(Ending {
        kind: AllocationLifecycle::NAME.to_owned(),
        id: AllocationId::from(row.id).to_string(),
        name: row.name.as_deref().map(platform::rows::text).transpose()?,
        project_id: row.project_id.into(),
        state: row.state,
        gpus: row.gpus,
    })
}
