//! Tasks: signed orders to hosts, and what hosts report about them. Who orders
//! one is woken by its report; delivery is the node API's part.

mod evidence;
mod signing;
mod store;

pub use evidence::{Evidence, NoEvidence};
pub use signing::{KEY_NAME, SignerError, TaskSigner};
pub use store::{
    Delivery, addressees, claim, forget_old, latest, mark_delivered, newest_of, open_for, record_reports, redeliver,
    undelivered,
};

use std::time::Duration;

use contract::{Timestamp, id::NodeId};
use kernel::Tx;
use protocol::{Task, TaskId, Verb};
use uuid::Uuid;

use crate::FleetArea;
use kernel::Access;
use platform::policies::settings;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.expiry(&["tasks"], |area, most| {
        Box::pin(async move {
            let retention = settings::days(area.policies.number(settings::TASKS_DAYS));
            let mut tx = Tx::system(&area.db, "keeper", Access::Write).await?;
            let gone = forget_old(&mut tx, retention, most).await?;
            tx.commit().await?;
            Ok(gone)
        })
    });
}

/// What the bell rings about when tasks wait to be delivered.
pub const READY: &str = "tasks";

/// What is to be so on a host, and whose work waits for it.
pub struct Order {
    pub node: NodeId,
    /// The kind of work that is woken by the report, and the id of its row.
    pub kind: &'static str,
    pub subject: Uuid,
    /// The resource as hosts know it; tasks of one resource fence each other.
    pub resource: String,
    pub version: i64,
    pub verb: Verb,
    pub lifetime: Duration,
}

/// What the newest order to a host came to.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderStatus {
    pub id: TaskId,
    pub node: NodeId,
    pub version: i64,
    pub is_expired: bool,
    pub outcome: Option<protocol::Outcome>,
}

/// Signs an order and puts it where the host will be told of it. `now` is the
/// database's time.
pub async fn order(tx: &mut Tx, signer: &TaskSigner, now: Timestamp, order: Order) -> Result<TaskId, OrderError> {
    let ids = order_all(tx, signer, now, vec![order]).await?;
    Ok(ids[0])
}

/// As [`order`], of several at once; the tasks' ids in the same order.
pub async fn order_all(
    tx: &mut Tx,
    signer: &TaskSigner,
    now: Timestamp,
    orders: Vec<Order>,
) -> Result<Vec<TaskId>, OrderError> {
    let mut new = Vec::with_capacity(orders.len());
    for order in orders {
        let token = (i64::from(tx.epoch()), order.version);
        let lasts = (now, now + order.lifetime);
        let task = Task::new(&order.node.to_string(), &order.resource, token, lasts, order.verb);
        let signed = signer.sign(&task)?;
        new.push(store::NewTask { node: order.node, kind: order.kind, subject: order.subject, task, signed });
    }
    let ids = new.iter().map(|it| it.task.id).collect();
    store::insert(tx, new).await?;
    Ok(ids)
}

#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    #[error("signing a task failed")]
    Signer(#[from] SignerError),
    #[error("storing a task failed")]
    Database(#[from] sqlx::Error),
}

impl From<OrderError> for sqlx::Error {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::Database(error) => error,
            OrderError::Signer(error) => sqlx::Error::Protocol(error.to_string()),
        }
    }
}
