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
use platform::policies::keys;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.expiry(|area, most| {
        Box::pin(async move {
            let retention = keys::days(area.policies.number(keys::TASKS_DAYS));
            let mut tx = Tx::system(&area.db, "keeper", Access::Write).await?;
            let gone = forget_old(&mut tx, retention, most).await?;
            tx.commit().await?;
            Ok(gone)
        })
    });
}

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
    let token = (i64::from(tx.epoch()), order.version);
    let task = Task::new(&order.node.to_string(), &order.resource, token, (now, now + order.lifetime), order.verb);
    let signed = signer.sign(&task)?;
    store::insert(tx, order.node, order.kind, order.subject, &task, &signed).await?;
    Ok(task.id)
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
