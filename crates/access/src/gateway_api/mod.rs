//! What gateways ask, each known by its certificate: to join, that they live,
//! whether hosts and people may come in, and that recordings are kept. A gateway
//! holds nothing that signs and sees no table; every refusal is counted.

mod beat;
mod chunk;
mod exchange;
mod join;
mod left;
mod service;
mod ssh;
mod streams;

pub use service::GatewayService;

use std::time::Duration;

use contract::{
    Timestamp,
    id::{AllocationId, GatewayId, NodeId},
};
use kernel::{Access, Actor, Scope, Tx};
use protocol::{
    PROTOCOL, WorkloadRef,
    stream::{Grant, Kind, Limits, SignedGrant},
};
use uuid::Uuid;

use crate::{AccessArea, access_sessions::Denied};
use fleet::node_api::Refusal;

use platform::registry::Registry;

pub fn register(_: &mut Registry<AccessArea>) {}

// bound: a gateway uses a grant at once; what is left is for clocks and queues
const GRANT_LIFE: Duration = Duration::from_secs(30);
// bound: an address with its zone is far shorter
const MAX_ADDRESS: usize = 64;

/// A transaction of the gateway's.
async fn begin(area: &AccessArea, gateway: GatewayId, what: &str) -> sqlx::Result<Tx> {
    let cause = format!("{what}:{}", Uuid::now_v7());
    Tx::begin(&area.db, Scope::System, Access::Write, Actor::principal("gateway", gateway), cause.into()).await
}

/// Counts a refusal under its reason.
fn count(reason: &'static str) {
    metrics::counter!("gpuaas_access_refused_total", "reason" => reason).increment(1);
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        count(denied.reason());
        let access = |why: &str| Refusal::Access(why.to_owned());
        match denied {
            Denied::NotPermitted => access("you no longer have access to the allocation"),
            Denied::CredentialEnded => access("the credential that requested it was revoked: sign in again"),
            Denied::Suspended => access("the organization is suspended or closed"),
            Denied::AllocationGone => Refusal::Gone("the allocation is not active".into()),
            Denied::NodeAway => Refusal::Gone("the allocation's host is out of service".into()),
            Denied::OtherRegion => access("the host is in another region than this gateway"),
            Denied::NotRecordable => access("`access.recording` is `required`, and this access method is not recorded"),
        }
    }
}

/// What one grant is about.
struct Leave<'a> {
    node: NodeId,
    gateway: GatewayId,
    allocation: AllocationId,
    workload: &'a WorkloadRef,
    /// The session as the host knows it.
    session: Uuid,
    kind: Kind,
    limits: Limits,
    now: Timestamp,
}

/// Signs leave to open one stream, once and soon.
fn sign(area: &AccessArea, tx: &Tx, leave: Leave<'_>) -> Result<SignedGrant, Refusal> {
    let grant = Grant {
        protocol: PROTOCOL,
        id: Uuid::now_v7(),
        node: leave.node.to_string(),
        gateway: leave.gateway.to_string(),
        epoch: i64::from(tx.epoch()),
        allocation: leave.allocation.to_string(),
        workload: leave.workload.clone(),
        session: leave.session,
        kind: leave.kind,
        limits: leave.limits,
        issued_at: leave.now,
        expires_at: leave.now + GRANT_LIFE,
    };
    area.fleet.signer.sign_grant(&grant).map_err(|error| {
        tracing::error!(%error, "a grant could not be signed");
        Refusal::Internal
    })
}

/// An address as a gateway tells it, made harmless.
fn address(told: &str) -> String {
    told.chars().filter(|it| it.is_ascii_graphic()).take(MAX_ADDRESS).collect()
}
