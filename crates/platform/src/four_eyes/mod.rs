//! Four eyes: what needs a second person where policy says so. One person
//! proposes it and another one approves; what is approved is done by the area
//! that does it where one person suffices.

pub mod lifecycle;
mod reconcile;
mod second_person;
pub mod store;

pub use reconcile::CorrectionReconciler;
pub use second_person::{CorrectionRequest, Proposal, has_expired, second_person};

use crate::{
    Platform,
    registry::{Registry, Retention},
};

pub fn register(registry: &mut Registry<Platform>) {
    registry.lifecycle::<lifecycle::CorrectionLifecycle>();
    registry.reconciler(|_| CorrectionReconciler);
    registry.retention(&["corrections"], Retention::Forever("the record of who changed money, prices and policies"));
}
