//! Projects: what an organization groups its work under. Others may ask for
//! every project of an organization to be deleted.

mod consume;
mod contents;
pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use consume::DeleteWithOrganization;
pub use contents::{Resident, Residents};
pub use reconcile::ProjectReconciler;
pub use store::{lock_active, share_states};

use contract::{
    Name,
    id::{OrganizationId, ProjectId},
};
use kernel::Tx;

use crate::PeopleArea;
use platform::registry::{Registry, Retention};
use std::sync::Arc;

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.lifecycle::<lifecycle::ProjectLifecycle>();
    registry.reconciler(|_| ProjectReconciler);
    registry.consumer(|_| Arc::new(DeleteWithOrganization));
    registry.retention(&["projects"], Retention::Forever("invoices and audit entries name it after it was deleted"));
}

/// Adds a project without looking at limits; for seeding.
pub async fn add(tx: &mut Tx, organization: OrganizationId, name: &Name) -> sqlx::Result<ProjectId> {
    match store::insert(tx, organization, name, u64::MAX).await? {
        store::InsertOutcome::Project(project) => Ok(project.id),
        store::InsertOutcome::NameTaken | store::InsertOutcome::LimitReached | store::InsertOutcome::NotActive => {
            Err(sqlx::Error::RowNotFound)
        }
    }
}
