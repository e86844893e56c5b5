//! The rows that a visit reads and writes.

use std::{collections::HashMap, time::Duration};

use contract::{
    Timestamp,
    allocations::AllocationState,
    id::{AllocationId, NodeId},
    skus::{Shape, SkuLimits},
};
use kernel::Tx;
use planner::{Ask, NodeKey, OrganizationKey, Resources, SameFabric, SkuShape};
use protocol::Done;
use sqlx::types::Json;
use uuid::Uuid;

use super::{Parent, Request, StopLimit, Visit};
use crate::{
    allocations::reason::Reason,
    placement::{slots, starvation_guard},
};
use fleet::{nodes, tasks};
use platform::policies::{PolicyScope, ProjectPolicies, settings, settings::minutes};

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    project_id: Uuid,
    organization_state: String,
    project_state: String,
    state: String,
    version: i64,
    gpus: i32,
    nodes: i32,
    region: Option<String>,
    same_fabric: bool,
    spread_group: Option<String>,
    login: String,
    failure: Option<serde_json::Value>,
    attempts: i32,
    needs_attention: bool,
    lease_ends_at: Option<jiff_sqlx::Timestamp>,
    lease_minutes: Option<i32>,
    is_lease_warning_sent: bool,
    stopped_from: jiff_sqlx::Timestamp,
    stop_notified_for: Option<jiff_sqlx::Timestamp>,
    now: jiff_sqlx::Timestamp,
    state_since: jiff_sqlx::Timestamp,
    shape: String,
    limits: Json<SkuLimits>,
    gpu_model: Option<String>,
    gpu_counts: Vec<i32>,
    numa_bound: bool,
    is_waiting: bool,
    has_kept_nodes: bool,
    age_s: f64,
}

async fn rows(tx: &mut Tx, ids: &[Uuid]) -> sqlx::Result<Vec<Row>> {
    sqlx::query_as(
        "SELECT a.id, a.organization_id, a.project_id, o.state AS organization_state, j.state AS project_state, a.state, a.version, a.gpus, a.nodes, r.name AS region, a.same_fabric, a.spread_group,
                a.login, a.failure, a.attempts, a.needs_attention, a.lease_ends_at,
                a.lease_minutes, a.lease_warning_sent_for IS NOT DISTINCT FROM a.lease_ends_at AS is_lease_warning_sent,
                greatest(coalesce(a.stopped_since, a.state_since), o.state_since) AS stopped_from, a.stop_notified_for, app_now() AS now, a.state_since,
                s.shape, s.limits, s.gpu_model, s.gpu_counts, s.numa_bound, a.is_waiting, a.kept_at IS NOT NULL AS has_kept_nodes,
                extract(epoch FROM app_now() - a.created_at)::float8 AS age_s
         FROM allocations a JOIN organizations o ON o.id = a.organization_id JOIN projects j ON j.id = a.project_id
         JOIN skus s ON s.id = a.sku_id LEFT JOIN regions r ON r.id = a.region_id WHERE a.id = ANY($1)",
    )
    .bind(ids)
    .fetch_all(tx.conn())
    .await
}

/// What a waiting one asks for.
pub async fn request(tx: &mut Tx, id: AllocationId) -> sqlx::Result<Option<Request>> {
    let Some(row) = rows(tx, &[id.uuid()]).await?.pop() else { return Ok(None) };
    let Some(queue) = queues(tx, &[row.id]).await?.pop() else { return Ok(None) };
    wanted(tx, &row, queue).await.map(Some)
}

/// What visits of these find, in no order; those that do not exist are left out.
pub async fn load(tx: &mut Tx, kind: &str, ids: &[Uuid]) -> sqlx::Result<Vec<Visit>> {
    let rows = rows(tx, ids).await?;
    let mut visits = rows.iter().map(found).collect::<sqlx::Result<Vec<Visit>>>()?;
    let is_placed = |it: &&Visit| {
        !matches!(it.state, AllocationState::Requested | AllocationState::Released | AllocationState::Failed)
    };
    // Nothing is placed for one whose organization or project is not active.
    let waits = |it: &&Visit| it.state == AllocationState::Requested && it.parent == Parent::Active;
    let placed: Vec<Uuid> = visits.iter().filter(is_placed).map(|it| it.id.uuid()).collect();
    let waiting: Vec<Uuid> = visits.iter().filter(waits).map(|it| it.id.uuid()).collect();
    if !placed.is_empty() {
        let mut held = slots::held_by(tx, &placed).await?;
        let mut orders = tasks::latest(tx, kind, &placed).await?;
        for visit in &mut visits {
            visit.held = held.remove(&visit.id).unwrap_or_default();
            visit.orders = orders.remove(&visit.id.uuid()).unwrap_or_default();
        }
    }
    if !waiting.is_empty() {
        for queue in queues(tx, &waiting).await? {
            let row = rows.iter().find(|it| it.id == queue.id).ok_or(sqlx::Error::RowNotFound)?;
            let mut request = wanted(tx, row, queue).await?;
            if row.has_kept_nodes {
                request.kept = starvation_guard::kept(tx, row.id.into()).await?;
            }
            let visit = visits.iter_mut().find(|it| it.id.uuid() == row.id);
            visit.ok_or(sqlx::Error::RowNotFound)?.request = Some(request);
        }
    }
    for (visit, row) in visits.iter_mut().zip(&rows) {
        read_more(tx, visit, row).await?;
    }
    Ok(visits)
}

/// What few states need.
async fn read_more(tx: &mut Tx, visit: &mut Visit, row: &Row) -> sqlx::Result<()> {
    if visit.state == AllocationState::Stopped {
        let place = PolicyScope { organization: row.organization_id, project: row.project_id };
        let hours = ProjectPolicies { tx, place }.number(settings::STOPPED_HOURS).await?;
        let since = row.stopped_from.to_jiff();
        let is_notified = row.stop_notified_for.is_some_and(|it| it.to_jiff() == since);
        visit.stop_limit = Some(StopLimit { since, ends_at: since + settings::hours(hours), hours, is_notified });
    }
    if visit.state == AllocationState::ReleaseFailed {
        visit.hosts = nodes::presence(tx, &visit.nodes()).await?;
    }
    Ok(())
}

fn found(row: &Row) -> sqlx::Result<Visit> {
    Ok(Visit {
        id: row.id.into(),
        organization: row.organization_id.into(),
        project: row.project_id.into(),
        parent: Parent::of(platform::rows::known(&row.organization_state)?, platform::rows::known(&row.project_state)?),
        state: platform::rows::known(&row.state)?,
        version: row.version,
        login: row.login.clone(),
        shape: platform::rows::known(&row.shape)?,
        limits: row.limits.0,
        failure: row.failure.clone().map(Reason::stored),
        attempts: row.attempts,
        needs_attention: row.needs_attention,
        lease_ends_at: row.lease_ends_at.map(|it| it.to_jiff()),
        lease: row.lease_minutes.map(|it| minutes(u64::try_from(it).unwrap_or(0))),
        is_lease_warning_sent: row.is_lease_warning_sent,
        stop_limit: None,
        now: row.now.to_jiff(),
        since: row.state_since.to_jiff(),
        hosts: Vec::new(),
        held: Vec::new(),
        orders: Vec::new(),
        request: None,
        has_kept_nodes: row.has_kept_nodes,
    })
}

/// How many requests for the same wait beside one.
#[derive(sqlx::FromRow)]
struct QueuePosition {
    id: Uuid,
    /// Of its organization, and older.
    behind: i64,
    /// Of other organizations.
    others: i64,
    /// Of anybody, and older.
    elders: i64,
}

/// Only requests that were visited and had to wait count: those before their first visit would
/// hold up others that could start at once, and those that could not run on an empty fleet would
/// hold them up forever.
async fn queues(tx: &mut Tx, ids: &[Uuid]) -> sqlx::Result<Vec<QueuePosition>> {
    sqlx::query_as(
        "SELECT own.id, behind, others, elders FROM allocations own CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE other.organization_id = own.organization_id AND (other.created_at, other.id) < (own.created_at, own.id)) AS behind,
                  count(*) FILTER (WHERE other.organization_id <> own.organization_id) AS others,
                  count(*) FILTER (WHERE (other.created_at, other.id) < (own.created_at, own.id)) AS elders
           FROM allocations other
           WHERE other.state = 'requested' AND other.is_waiting AND other.could_run AND other.sku_id = own.sku_id
             AND other.region_id IS NOT DISTINCT FROM own.region_id) AS queue
         WHERE own.id = ANY($1)",
    )
    .bind(ids)
    .fetch_all(tx.conn())
    .await
}

async fn wanted(tx: &mut Tx, row: &Row, queue: QueuePosition) -> sqlx::Result<Request> {
    let shape = platform::rows::known(&row.shape)?;
    let ahead = if queue.others > 0 && queue.behind == 0 { ahead(tx, row).await? } else { Vec::new() };
    let ask = ask_of(tx, row, shape).await?;
    Ok(Request {
        ask,
        behind: u32::try_from(queue.behind).unwrap_or(u32::MAX),
        is_eldest: queue.elders == 0,
        kept: Vec::new(),
        leases: None,
        is_waiting: row.is_waiting,
        age: Duration::from_secs_f64(row.age_s.max(0.0)),
        ahead,
    })
}

/// What the oldest waiting requests of other organizations for the same ask
/// for, where the organization holds less, or as much and asked earlier.
async fn ahead(tx: &mut Tx, own: &Row) -> sqlx::Result<Vec<Ask>> {
    // bound: each is planned for; who is further back finds these gone before
    const MOST: i64 = 8;
    // Only the oldest request of each organization stands in line: many requests give no more
    // turns than one. The organization that holds least comes first, because its share is
    // smallest; then the oldest. A request of this organization is always among the heads, also
    // before its first visit, because its turn is what is asked about.
    let heads: Vec<Uuid> = sqlx::query_scalar(
        "WITH heads AS (
           SELECT DISTINCT ON (other.organization_id) other.id, other.organization_id, other.created_at
           FROM allocations other JOIN allocations own ON own.id = $1
           WHERE other.state = 'requested' AND other.sku_id = own.sku_id
             AND other.region_id IS NOT DISTINCT FROM own.region_id
             AND ((other.is_waiting AND other.could_run) OR other.id = own.id)
           ORDER BY other.organization_id, other.created_at, other.id),
         turns AS (
           SELECT heads.*, (SELECT coalesce(sum(gpus * nodes), 0) FROM allocations held WHERE held.organization_id = heads.organization_id
             AND held.state <> 'requested' AND counts_against_limits(held.state, held.alive_until)) AS holds FROM heads)
         SELECT turns.id FROM turns JOIN turns mine ON mine.id = $1
         WHERE (turns.holds, turns.created_at, turns.id) < (mine.holds, mine.created_at, mine.id)
         ORDER BY turns.holds, turns.created_at, turns.id LIMIT $2",
    )
    .bind(own.id)
    .bind(MOST)
    .fetch_all(tx.conn())
    .await?;
    let mut asks = Vec::with_capacity(heads.len());
    for row in rows(tx, &heads).await? {
        let shape = platform::rows::known(&row.shape)?;
        asks.push(ask_of(tx, &row, shape).await?);
    }
    Ok(asks)
}

async fn ask_of(tx: &mut Tx, row: &Row, shape: Shape) -> sqlx::Result<Ask> {
    let avoid: Vec<Uuid> = match &row.spread_group {
        None => Vec::new(),
        Some(word) => {
            sqlx::query_scalar(
                "SELECT DISTINCT p.node_id FROM allocation_parts p JOIN allocations a ON a.id = p.allocation_id
                 WHERE a.project_id = $1 AND a.spread_group = $2 AND a.id <> $3 AND a.state NOT IN ('released', 'failed')",
            )
            .bind(row.project_id)
            .bind(word)
            .bind(row.id)
            .fetch_all(tx.conn())
            .await?
        }
    };
    Ok(ask(row, shape, avoid))
}

fn ask(row: &Row, shape: Shape, avoid: Vec<Uuid>) -> Ask {
    let sku = SkuShape {
        model: row.gpu_model.as_deref().map(Into::into),
        min_memory_bytes: 0,
        numa_bound: row.numa_bound,
        shape,
    };
    let count = |number: i32| u32::try_from(number).unwrap_or(0);
    let needs = match shape {
        // The profile is the model's name until SKUs carry it apart.
        Shape::MigSlice => Resources::mig(row.gpu_model.as_deref().unwrap_or_default(), count(row.gpus)),
        Shape::Baremetal | Shape::GpuSlice | Shape::Container => Resources::gpus(count(row.gpus)),
    };
    let mut ask = Ask::new(OrganizationKey(row.organization_id.as_u128()), sku, needs);
    ask.nodes = count(row.nodes);
    ask.region = row.region.as_deref().map(Into::into);
    ask.same_fabric = if row.same_fabric { SameFabric::Required } else { SameFabric::Preferred };
    ask.anti_affinity = avoid.into_iter().map(|it| NodeKey(it.as_u128())).collect();
    ask.allowed_gpus = row.gpu_counts.iter().map(|it| count(*it)).collect();
    ask
}

/// Says what it waits for, and whether it could run at all. Whether that holds
/// up those behind it no longer.
pub async fn wait(tx: &mut Tx, id: AllocationId, reason: &Reason, could_run: bool) -> sqlx::Result<bool> {
    let steps_aside: Option<bool> = sqlx::query_scalar(
        "WITH was AS (SELECT could_run FROM allocations WHERE id = $1)
         UPDATE allocations SET reason = $2, could_run = $3, is_waiting = true
         WHERE id = $1 AND (reason IS DISTINCT FROM $2 OR could_run <> $3 OR NOT is_waiting)
         RETURNING (SELECT could_run FROM was) AND NOT $3",
    )
    .bind(id.uuid())
    .bind(Json(reason))
    .bind(could_run)
    .fetch_optional(tx.conn())
    .await?;
    Ok(steps_aside.unwrap_or(false))
}

/// Writes down where these are.
pub async fn keep_parts(tx: &mut Tx, visits: &[Visit]) -> sqlx::Result<()> {
    let held = || visits.iter().flat_map(|visit| visit.held.iter().map(move |it| (visit, it)));
    sqlx::query(
        "INSERT INTO allocation_parts (organization_id, allocation_id, node_id, host, gpus, slots)
         SELECT organization_id, allocation_id, node_id, n.name, array_agg(gpu ORDER BY place), array_agg(slot ORDER BY place)
         FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[]) WITH ORDINALITY
           AS taken (organization_id, allocation_id, node_id, gpu, slot, place)
         JOIN nodes n ON n.id = node_id GROUP BY organization_id, allocation_id, node_id, n.name",
    )
    .bind(held().map(|(visit, _)| visit.organization.uuid()).collect::<Vec<_>>())
    .bind(held().map(|(visit, _)| visit.id.uuid()).collect::<Vec<_>>())
    .bind(held().map(|(_, it)| it.node.uuid()).collect::<Vec<_>>())
    .bind(held().map(|(_, it)| it.gpu_uuid.as_str()).collect::<Vec<_>>())
    .bind(held().map(|(_, it)| it.slot.uuid()).collect::<Vec<_>>())
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Forgets what it waited for.
pub async fn placed(tx: &mut Tx, id: AllocationId) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET reason = NULL, is_waiting = false, attempts = 0 WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Counts one more try, and says why. What is stopped says why it is stopped instead.
pub async fn attempt(tx: &mut Tx, id: AllocationId, reason: &Reason) -> sqlx::Result<()> {
    let statement = "UPDATE allocations SET attempts = attempts + 1,
        reason = CASE WHEN state = 'stopping' THEN reason ELSE $2 END WHERE id = $1";
    sqlx::query(statement).bind(id.uuid()).bind(Json(reason)).execute(tx.conn()).await?;
    Ok(())
}

/// Starts their time: leases count from here. Answers how long those last that end.
pub async fn activate(tx: &mut Tx, ids: &[Uuid]) -> sqlx::Result<HashMap<Uuid, Duration>> {
    let left: Vec<(Uuid, Option<f64>)> = sqlx::query_as(
        "UPDATE allocations SET active_at = coalesce(active_at, app_now()), reason = NULL, attempts = 0,
           lease_ends_at = coalesce(lease_ends_at, app_now() + make_interval(mins => lease_minutes)) WHERE id = ANY($1)
         RETURNING id, extract(epoch FROM lease_ends_at - app_now())::float8",
    )
    .bind(ids)
    .fetch_all(tx.conn())
    .await?;
    let ends = |(id, left): (Uuid, Option<f64>)| left.map(|it| (id, Duration::from_secs_f64(it.max(0.0))));
    Ok(left.into_iter().filter_map(ends).collect())
}

/// Notes that its project was told of the end of its lease.
pub async fn lease_warning_sent(tx: &mut Tx, id: AllocationId) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET lease_warning_sent_for = lease_ends_at WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Notes that its requester was notified that it gives up its slots, counted from that moment.
pub async fn stop_notified(tx: &mut Tx, id: AllocationId, since: Timestamp) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET stop_notified_for = $2 WHERE id = $1")
        .bind(id.uuid())
        .bind(kernel::clock::bind(since))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Ends its time.
pub async fn finish(tx: &mut Tx, id: AllocationId, reason: Option<&Reason>) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET ended_at = app_now(), reason = coalesce($2, reason), needs_attention = false WHERE id = $1")
        .bind(id.uuid())
        .bind(reason.map(Json))
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn need_attention(tx: &mut Tx, id: AllocationId, reason: &Reason) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET needs_attention = true, reason = $2 WHERE id = $1")
        .bind(id.uuid())
        .bind(Json(reason))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Its hosts have the keys of now: nothing is left to say.
pub async fn keys_written(tx: &mut Tx, id: AllocationId) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET needs_attention = false, attempts = 0, reason = NULL WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Begins to count tries again.
pub async fn forgive(tx: &mut Tx, id: AllocationId) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET attempts = 0 WHERE id = $1").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Nobody has to look any longer.
pub async fn attended(tx: &mut Tx, id: AllocationId) -> sqlx::Result<()> {
    sqlx::query("UPDATE allocations SET needs_attention = false, attempts = 0 WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Keeps hosts' proofs or evidence, and the last stage that each finished.
pub async fn note_done<'a>(
    tx: &mut Tx,
    done: impl IntoIterator<Item = (AllocationId, &'a [(NodeId, Done)])>,
) -> sqlx::Result<()> {
    let (mut allocations, mut nodes, mut are_proofs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bodies, mut last_stages) = (Vec::new(), Vec::new());
    for (id, (node, done)) in done.into_iter().flat_map(|(id, done)| done.iter().map(move |it| (id, it))) {
        let (is_proof, stages) = match done {
            Done::Proof { stages, .. } => (true, stages),
            Done::Evidence { stages, .. } => (false, stages),
            Done::Keys { .. } | Done::Updated { .. } => continue,
        };
        allocations.push(id.uuid());
        nodes.push(node.uuid());
        are_proofs.push(is_proof);
        bodies.push(Json(done));
        last_stages.push(stages.last().map(|it| it.name.as_str()));
    }
    if allocations.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "UPDATE allocation_parts p SET proof = CASE WHEN said.is_proof THEN said.done ELSE p.proof END,
           evidence = CASE WHEN said.is_proof THEN p.evidence ELSE said.done END, stage = coalesce(said.stage, p.stage)
         FROM unnest($1::uuid[], $2::uuid[], $3::boolean[], $4::jsonb[], $5::text[]) AS said (allocation_id, node_id, is_proof, done, stage)
         WHERE p.allocation_id = said.allocation_id AND p.node_id = said.node_id",
    )
    .bind(allocations)
    .bind(nodes)
    .bind(are_proofs)
    .bind(bodies)
    .bind(last_stages)
    .execute(tx.conn())
    .await?;
    Ok(())
}
