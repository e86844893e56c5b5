//! Reads nodes and slots for the planner: those that changed.

use kernel::Tx;
use planner::{
    AllocationKey, Condition, Health, HostResources, Node, NodeKey, OrganizationKey, Slot, SlotKey, SlotKind, State,
    Unavailable,
};
use sqlx::types::Json;
use uuid::Uuid;

/// The oldest transaction that ran when the picture was taken: what it or a
/// later one writes may not be in the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotHorizon(i64);

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    region: String,
    pool: String,
    fabric_domain: Option<String>,
    state: String,
    /// Nobody wipes it but a person, as `nodes::reconcile` sees it.
    awaits_person: bool,
    health: String,
    health_reason: Option<String>,
    serves: Option<Uuid>,
    kept_for: Option<Uuid>,
    isolates_vms: bool,
    /// As the host reported it; unknown for one that reported nothing yet.
    cpus: Option<i64>,
    memory_bytes: Option<i64>,
    slots: Json<Vec<SlotRow>>,
}

#[derive(serde::Deserialize)]
struct SlotRow {
    id: Uuid,
    kind: String,
    model: String,
    memory_bytes: u64,
    numa: Option<u32>,
    fabric: Option<String>,
    condition: String,
    held_by: Option<Uuid>,
}

/// What changed in the fleet.
pub struct Changes {
    pub now: SnapshotHorizon,
    pub nodes: Vec<Node>,
    /// Allocations of the choices that are placed, or no longer want to be.
    pub decided: Vec<Uuid>,
}

/// A choice on its way into the database: the allocation, and its nodes.
pub type Choice = (Uuid, Vec<Uuid>);

/// Nodes that changed, those requested besides, and those of choices that are decided.
pub async fn changes(
    tx: &mut Tx,
    since: Option<&SnapshotHorizon>,
    besides: &[Uuid],
    choices: &[Choice],
) -> sqlx::Result<Changes> {
    let chosen: Vec<Uuid> = choices.iter().map(|(allocation, _)| *allocation).collect();
    // What is decided here shows in the nodes that the next statement reads.
    let (xmin, mut changed, decided): (i64, Vec<Uuid>, Vec<Uuid>) = sqlx::query_as(
        "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
                ARRAY(SELECT node_id FROM node_changes WHERE xid >= $1::bigint::text::xid8),
                ARRAY(SELECT id FROM allocations WHERE id = ANY($2) AND state <> 'requested')",
    )
    .bind(since.map_or(0, |it| it.0))
    .bind(chosen)
    .fetch_one(tx.conn())
    .await?;
    changed.extend(besides);
    changed.extend(choices.iter().filter(|(it, _)| decided.contains(it)).flat_map(|(_, nodes)| nodes));
    if changed.is_empty() {
        return Ok(Changes { now: SnapshotHorizon(xmin), nodes: Vec::new(), decided });
    }
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT n.id, n.name, r.name AS region, p.name AS pool, n.fabric_domain, n.state, n.health, n.health_reason, n.serves, n.kept_for,
           p.isolates_vms AND coalesce(n.inventory @> '{\"isolates_vms\": true}', false) AS isolates_vms,
           (n.inventory->>'cpus')::bigint AS cpus, least((n.inventory->>'memory_bytes')::numeric, 9223372036854775807)::bigint AS memory_bytes,
           n.state = 'sanitizing' AND NOT n.has_wipe_script AND n.inventory->>'driver' IS DISTINCT FROM 'sim'
             AND NOT EXISTS (SELECT FROM machines m WHERE m.node_id = n.id AND m.state <> 'retired') AS awaits_person,
           (SELECT coalesce(json_agg(json_build_object('id', s.id, 'kind', s.kind, 'model', s.model, 'memory_bytes', s.memory_bytes,
              'numa', s.numa, 'fabric', s.fabric, 'condition', s.condition, 'held_by', s.held_by) ORDER BY s.place), '[]')
            FROM slots s WHERE s.node_id = n.id) AS slots
         FROM nodes n JOIN pools p ON p.id = n.pool_id JOIN regions r ON r.id = n.region_id WHERE n.id = ANY($1)",
    )
    .bind(&changed)
    .fetch_all(tx.conn())
    .await?;
    Ok(Changes { now: SnapshotHorizon(xmin), nodes: rows.into_iter().map(node).collect(), decided })
}

fn node(row: Row) -> Node {
    let mut node = Node::new(NodeKey(row.id.as_u128()), row.name, row.region, row.pool);
    node.fabric_domain = row.fabric_domain.map(Into::into);
    node.state = if row.awaits_person { State::Unavailable(Unavailable::Unattested) } else { state(&row.state) };
    node.health = match row.health.as_str() {
        "ok" => Health::Ok,
        other => Health::Bad(row.health_reason.as_deref().unwrap_or(other).into()),
    };
    node.serves = row.serves.map(|it| OrganizationKey(it.as_u128()));
    node.kept_for = row.kept_for.map(|it| AllocationKey(it.as_u128()));
    node.isolates_vms = row.isolates_vms;
    node.host = HostResources {
        cpus: row.cpus.and_then(|it| u32::try_from(it).ok()).unwrap_or(u32::MAX),
        memory_bytes: row.memory_bytes.and_then(|it| u64::try_from(it).ok()).unwrap_or(u64::MAX),
        ..HostResources::UNLIMITED
    };
    node.slots = row.slots.0.into_iter().map(slot).collect();
    node
}

/// A state that this release does not know takes nothing new.
fn state(word: &str) -> State {
    State::Unavailable(match word {
        "ready" => return State::Ready,
        "enrolling" => Unavailable::Enrolling,
        "cordoned" => Unavailable::Cordoned,
        "draining" => Unavailable::Draining,
        "maintenance" => Unavailable::Maintenance,
        "sanitizing" => Unavailable::Sanitizing,
        "retired" => Unavailable::Retired,
        _ => Unavailable::Failed,
    })
}

fn slot(row: SlotRow) -> Slot {
    let mut slot = Slot::gpu(SlotKey(row.id.as_u128()), row.model);
    if let Some(profile) = row.kind.strip_prefix("mig:") {
        slot.kind = SlotKind::Mig { profile: profile.into() };
    }
    slot.memory_bytes = row.memory_bytes;
    slot.numa = row.numa;
    slot.fabric = row.fabric.map(Into::into);
    slot.condition = match row.condition.as_str() {
        "clean" => Condition::Clean,
        "dirty" => Condition::Dirty,
        "missing" => Condition::Missing,
        _ => Condition::Quarantined,
    };
    slot.held_by = row.held_by.map(|it| AllocationKey(it.as_u128()));
    slot
}
