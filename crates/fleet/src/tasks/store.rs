//! The rows of `tasks`.

use std::{collections::HashMap, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use contract::{
    id::NodeId,
    nodes::{NodeTask, NodeTaskState},
};
use kernel::{Db, Scope, Tx, work};
use protocol::{Report, SignedTask, Task, TaskId};
use sqlx::{Row as _, types::Json};
use uuid::Uuid;

use super::{OrderStatus, READY};

/// A task on its way to its host.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    pub id: TaskId,
    pub node: NodeId,
    pub signed: SignedTask,
}

/// A signed task on its way into the database.
pub struct NewTask {
    pub node: NodeId,
    pub kind: &'static str,
    pub subject: Uuid,
    pub task: Task,
    pub signed: SignedTask,
}

pub async fn insert(tx: &mut Tx, new: Vec<NewTask>) -> sqlx::Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let bytes = |text: &str| BASE64_STANDARD.decode(text).map_err(|error| sqlx::Error::Encode(Box::new(error)));
    let mut rows = Vec::with_capacity(new.len());
    for it in new {
        let (payload, signature) = (bytes(&it.signed.payload)?, bytes(&it.signed.signature)?);
        rows.push((it, payload, signature));
    }
    let mut statement = sqlx::QueryBuilder::<sqlx::Postgres>::new(
        "INSERT INTO tasks (id, node_id, kind, subject_id, version, verb, key_id, payload, signature, expires_at) ",
    );
    statement.push_values(rows, |mut values, (it, payload, signature)| {
        values
            .push_bind(it.task.id)
            .push_bind(it.node.uuid())
            .push_bind(it.kind)
            .push_bind(it.subject)
            .push_bind(it.task.version)
            .push_bind(it.task.verb.name())
            .push_bind(it.signed.key_id)
            .push_bind(payload)
            .push_bind(signature)
            .push_bind(kernel::clock::bind(it.task.expires_at));
    });
    statement.build().execute(tx.conn()).await?;
    tx.ring(READY);
    Ok(())
}

type DeliveryColumns = (Uuid, Uuid, String, Vec<u8>, Vec<u8>);

const DELIVERY: &str = "SELECT id, node_id, key_id, payload, signature FROM tasks";

/// Tasks that no host was told of, oldest first.
pub async fn undelivered(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Delivery>> {
    let statement = format!(
        "{DELIVERY} WHERE delivered_at IS NULL AND reported_at IS NULL AND expires_at > app_now() ORDER BY created_at LIMIT $1"
    );
    let rows: Vec<DeliveryColumns> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(limit).fetch_all(tx.conn()).await?;
    Ok(rows.into_iter().map(delivery).collect())
}

/// Tasks that a host has not reported about, delivered or not, oldest first.
pub async fn open_for(tx: &mut Tx, node: NodeId, limit: i64) -> sqlx::Result<Vec<Delivery>> {
    let statement = format!(
        "{DELIVERY} WHERE node_id = $1 AND reported_at IS NULL AND expires_at > app_now() ORDER BY created_at LIMIT $2"
    );
    let rows: Vec<DeliveryColumns> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(node.uuid()).bind(limit).fetch_all(tx.conn()).await?;
    Ok(rows.into_iter().map(delivery).collect())
}

pub async fn mark_delivered(tx: &mut Tx, ids: &[TaskId]) -> sqlx::Result<()> {
    sqlx::query("UPDATE tasks SET delivered_at = app_now() WHERE id = ANY($1)").bind(ids).execute(tx.conn()).await?;
    Ok(())
}

/// Keeps what hosts report and wakes who waits for it. A report about another
/// node's task, or about one that was reported before, changes nothing; all
/// are named, because their host may forget them.
pub async fn record_reports(tx: &mut Tx, reports: &[(NodeId, Report)]) -> sqlx::Result<Vec<TaskId>> {
    let ids: Vec<Uuid> = reports.iter().map(|(_, it)| it.task).collect();
    let nodes: Vec<Uuid> = reports.iter().map(|(node, _)| node.uuid()).collect();
    let outcomes: Vec<Json<&protocol::Outcome>> = reports.iter().map(|(_, it)| Json(&it.outcome)).collect();
    let woken: Vec<(String, Uuid)> = sqlx::query_as(
        "UPDATE tasks SET reported_at = app_now(), outcome = reports.outcome
         FROM unnest($1::uuid[], $2::uuid[], $3::jsonb[]) AS reports (id, node_id, outcome)
         WHERE tasks.id = reports.id AND tasks.node_id = reports.node_id AND tasks.reported_at IS NULL
         RETURNING tasks.kind, tasks.subject_id",
    )
    .bind(&ids)
    .bind(&nodes)
    .bind(&outcomes)
    .fetch_all(tx.conn())
    .await?;
    if woken.len() < reports.len() {
        count_foreign(tx, &ids, &nodes).await?;
    }
    for (kind, subject) in woken {
        work::wake(tx, kind, subject);
    }
    Ok(ids)
}

/// Counts reports of nodes about what other nodes were asked to do.
async fn count_foreign(tx: &mut Tx, ids: &[Uuid], nodes: &[Uuid]) -> sqlx::Result<()> {
    let foreign: Vec<Uuid> = sqlx::query_scalar(
        "SELECT reports.node_id FROM unnest($1::uuid[], $2::uuid[]) AS reports (id, node_id)
         JOIN tasks ON tasks.id = reports.id AND tasks.node_id <> reports.node_id",
    )
    .bind(ids)
    .bind(nodes)
    .fetch_all(tx.conn())
    .await?;
    for node in foreign {
        tracing::warn!(node = %NodeId::from(node), "a node reported a task of another node; the report is ignored");
        metrics::counter!("gpuaas_node_refusals_total", "kind" => "foreign_report").increment(1);
    }
    Ok(())
}

type OrderedColumns = (Uuid, Uuid, Uuid, i64, bool, Option<Json<protocol::Outcome>>);

/// The newest task about each row for each node.
pub async fn latest(tx: &mut Tx, kind: &str, subjects: &[Uuid]) -> sqlx::Result<HashMap<Uuid, Vec<OrderStatus>>> {
    let rows: Vec<OrderedColumns> = sqlx::query_as(
        "SELECT DISTINCT ON (subject_id, node_id) subject_id, id, node_id, version, expires_at <= app_now(), outcome FROM tasks
         WHERE subject_id = ANY($1) AND kind = $2 ORDER BY subject_id, node_id, version DESC, id DESC",
    )
    .bind(subjects)
    .bind(kind)
    .fetch_all(tx.conn())
    .await?;
    let mut latest: HashMap<Uuid, Vec<OrderStatus>> = HashMap::new();
    for (subject, id, node, version, is_expired, outcome) in rows {
        let status = OrderStatus { id, node: node.into(), version, is_expired, outcome: outcome.map(|it| it.0) };
        latest.entry(subject).or_default().push(status);
    }
    Ok(latest)
}

#[derive(sqlx::FromRow)]
struct ListedRow {
    id: Uuid,
    verb: String,
    kind: String,
    subject_id: Uuid,
    created_at: jiff_sqlx::Timestamp,
    reported_at: Option<jiff_sqlx::Timestamp>,
    is_delivered: bool,
    is_expired: bool,
    outcome: Option<Json<protocol::Outcome>>,
}

// bound: tasks of one node that are shown
const SHOWN: i64 = 20;

/// What a node was last told to do, the newest first.
pub async fn newest_of(tx: &mut Tx, node: NodeId) -> sqlx::Result<Vec<NodeTask>> {
    let rows: Vec<ListedRow> = sqlx::query_as(
        "SELECT id, verb, kind, subject_id, created_at, reported_at, delivered_at IS NOT NULL AS is_delivered,
           expires_at <= app_now() AS is_expired, outcome
         FROM tasks WHERE node_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2",
    )
    .bind(node.uuid())
    .bind(SHOWN)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(shown).collect())
}

fn shown(row: ListedRow) -> NodeTask {
    let (state, detail) = match row.outcome.map(|it| it.0) {
        Some(protocol::Outcome::Done { .. }) => (NodeTaskState::Done, None),
        Some(protocol::Outcome::Failed { step, code, detail, .. }) => {
            (NodeTaskState::Failed, Some(format!("{step}: {code}: {detail}")))
        }
        Some(protocol::Outcome::Refused { reason }) => (NodeTaskState::Refused, Some(reason.name().to_owned())),
        None if row.is_expired => (NodeTaskState::Expired, None),
        None if row.is_delivered => (NodeTaskState::Delivered, None),
        None => (NodeTaskState::Waiting, None),
    };
    NodeTask {
        id: row.id,
        verb: row.verb,
        kind: row.kind,
        subject_id: row.subject_id,
        state: state.into(),
        detail,
        created_at: row.created_at.to_jiff(),
        reported_at: row.reported_at.map(|it| it.to_jiff()),
    }
}

/// Deletes tasks that were over long ago.
pub async fn forget_old(tx: &mut Tx, keep: Duration, bite: i64) -> sqlx::Result<u64> {
    let gone = sqlx::query(
        "DELETE FROM tasks WHERE ctid = ANY(ARRAY(SELECT ctid FROM tasks
           WHERE created_at < app_now() - make_interval(secs => $1) AND expires_at < app_now() LIMIT $2))",
    )
    .bind(keep.as_secs_f64())
    .bind(bite)
    .execute(tx.conn())
    .await?;
    Ok(gone.rows_affected())
}

fn delivery((id, node, key_id, payload, signature): DeliveryColumns) -> Delivery {
    let signed =
        SignedTask { key_id, payload: BASE64_STANDARD.encode(payload), signature: BASE64_STANDARD.encode(signature) };
    Delivery { id, node: node.into(), signed }
}

/// Nodes for which tasks lie ready, in one round trip.
pub async fn addressees(db: &Db) -> sqlx::Result<Vec<NodeId>> {
    let statement = "SELECT DISTINCT node_id FROM tasks
                     WHERE delivered_at IS NULL AND reported_at IS NULL AND expires_at > app_now()";
    let rows = db.read_once(Scope::System, statement).await?;
    rows.iter().map(|it| it.try_get::<Uuid, _>("node_id").map(NodeId::from)).collect()
}

/// Takes the tasks of these nodes that nobody took, oldest first; they count
/// as delivered from then on.
pub async fn claim(tx: &mut Tx, nodes: &[Uuid], limit: i64) -> sqlx::Result<Vec<Delivery>> {
    let rows: Vec<DeliveryColumns> = sqlx::query_as(
        "WITH ready AS (
           SELECT id FROM tasks
           WHERE delivered_at IS NULL AND reported_at IS NULL AND expires_at > app_now() AND node_id = ANY($1)
           ORDER BY created_at, id LIMIT $2 FOR UPDATE SKIP LOCKED),
         taken AS (
           UPDATE tasks SET delivered_at = app_now() FROM ready WHERE tasks.id = ready.id
           RETURNING tasks.id, node_id, key_id, payload, signature, created_at)
         SELECT id, node_id, key_id, payload, signature FROM taken ORDER BY created_at, id",
    )
    .bind(nodes)
    .bind(limit)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(delivery).collect())
}

/// Lays tasks ready again whose report is overdue; returns how many.
pub async fn redeliver(tx: &mut Tx, after: Duration) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "UPDATE tasks SET delivered_at = NULL
         WHERE reported_at IS NULL AND delivered_at < app_now() - make_interval(secs => $1) AND expires_at > app_now()",
    )
    .bind(after.as_secs_f64())
    .execute(tx.conn())
    .await?;
    Ok(done.rows_affected())
}
