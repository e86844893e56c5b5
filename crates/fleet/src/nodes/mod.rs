//! Nodes: the hosts of the fleet and the GPUs on them. What hosts report is
//! believed only where it agrees with what is known; what they are, what is
//! observed of them and what people want of them are kept apart.

mod changes;
mod health;
mod inventory;
mod leaving;
pub mod lifecycle;
mod loss;
mod maintenance;
mod occupants;
mod reconcile;
mod routes;
mod store;

pub use changes::{
    EnrollError, Enrolled, enroll, first_word, renew_certificate, request_sanitizing, revoke_certificates,
};
pub use health::{InventoryVerdict, caught_lying, give_up_lost, heard, judge_silence, report_health, report_inventory};
pub use inventory::Implausibility;
pub use leaving::{Leaving, Occupancy, fail, leave, leaving, occupancy, place_nothing_new, reimaged};
pub use loss::LossCause;
pub use maintenance::{empty_for, give_back};
pub use occupants::{HeldSlots, LossError, Occupants};
pub use reconcile::NodeReconciler;
pub use store::{
    certificates::{
        CertificateStatus, certificate_status, count_certified, count_certified_before, cut_off_since,
        forget_old as forget_old_certificates, revoke_every as revoke_every_certificate, revoked_since,
        used as certificate_used, working,
    },
    count_failed, count_in, get,
    heartbeats::{Heartbeat, Presence, presence},
    known, lock,
};

use crate::FleetArea;
use kernel::Access;
use kernel::Tx;
use platform::policies::settings;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.lifecycle::<lifecycle::NodeLifecycle>();
    registry
        .reconciler(|area: &FleetArea| NodeReconciler { signer: area.signer.clone(), policies: area.policies.clone() });
    registry.gauge("gpuaas_nodes_failed", |tx| Box::pin(count_failed(tx)));
    registry.expiry(&["node_certificates"], |area, most| {
        Box::pin(async move {
            let retention = settings::hours(area.policies.number(settings::NODE_RENEW_WINDOW_HOURS));
            let mut tx = Tx::system(&area.db, "keeper", Access::Write).await?;
            let gone = forget_old_certificates(&mut tx, retention, most).await?;
            tx.commit().await?;
            Ok(gone)
        })
    });
    registry.retention(&["nodes", "slots"], Retention::Forever("what ran on a retired node names it"));
    registry.retention(&["node_heartbeats", "node_changes"], Retention::Forever("one row for each node"));
}
