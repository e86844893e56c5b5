//! What is inside a project and must be over before the project is deleted.

use std::sync::Arc;

use contract::{
    id::{OrganizationId, ProjectId},
    projects::EndingPreview,
};
use kernel::{Tx, bus::BoxFuture, lifecycle::TransitionError};

/// A resource whose lifecycle declares that it ends before its project does.
pub trait Resident: Send + Sync {
    fn table(&self) -> &'static str;
    /// Asks some of those to end that were not asked yet; how many.
    fn end_some<'a>(
        &'a self,
        tx: &'a mut Tx,
        project: ProjectId,
        most: i64,
    ) -> BoxFuture<'a, Result<u64, TransitionError>>;
    /// How many are not over yet.
    fn live<'a>(&'a self, tx: &'a mut Tx, project: ProjectId) -> BoxFuture<'a, sqlx::Result<i64>>;
    /// Adds what the end of a project, or of a whole organization, would end.
    fn preview<'a>(
        &'a self,
        tx: &'a mut Tx,
        organization: OrganizationId,
        project: Option<ProjectId>,
        preview: &'a mut EndingPreview,
    ) -> BoxFuture<'a, sqlx::Result<()>>;
}

/// Every kind of resident.
pub struct Residents(pub Vec<Arc<dyn Resident>>);

// bound: how many of a kind are ended in one transaction
const AT_ONCE: i64 = 100;

/// Asks some of what is in the project to end; how many there were to ask.
pub async fn end_some(tx: &mut Tx, project: ProjectId) -> Result<u64, TransitionError> {
    let mut asked = 0;
    for resident in &tx.hook::<Residents>().0 {
        asked += resident.end_some(tx, project, AT_ONCE).await?;
    }
    Ok(asked)
}

/// How much in the project is not over yet.
pub async fn live(tx: &mut Tx, project: ProjectId) -> sqlx::Result<i64> {
    let mut live = 0;
    for resident in &tx.hook::<Residents>().0 {
        live += resident.live(tx, project).await?;
    }
    Ok(live)
}

/// What the end of a project, or of a whole organization, would end.
pub async fn preview(
    tx: &mut Tx,
    organization: OrganizationId,
    project: Option<ProjectId>,
) -> sqlx::Result<EndingPreview> {
    let mut preview = EndingPreview::default();
    for resident in &tx.hook::<Residents>().0 {
        resident.preview(tx, organization, project, &mut preview).await?;
    }
    Ok(preview)
}
