//! What is inside a project and must be over before the project is deleted.

use contract::{
    id::{OrganizationId, ProjectId},
    projects::EndingPreview,
};
use kernel::{Tx, machine::TransitionError};

use crate::allocations;

/// The resources whose lifecycle declares that they end before their project does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resident {
    Allocations,
}

// bound: how many of a kind are ended in one transaction
const AT_ONCE: i64 = 100;

impl Resident {
    pub const ALL: &'static [Resident] = &[Resident::Allocations];

    pub const fn table(self) -> &'static str {
        match self {
            Resident::Allocations => "allocations",
        }
    }

    /// Asks some of those to end that were not asked yet; how many.
    async fn end_some(self, tx: &mut Tx, project: ProjectId) -> Result<u64, TransitionError> {
        match self {
            Resident::Allocations => allocations::end_in_project(tx, project, AT_ONCE).await,
        }
    }

    /// How many are not over yet.
    async fn live(self, tx: &mut Tx, project: ProjectId) -> sqlx::Result<i64> {
        match self {
            Resident::Allocations => allocations::live_in_project(tx, project).await,
        }
    }
}

/// Asks some of what is in the project to end; how many there were to ask.
pub async fn end_some(tx: &mut Tx, project: ProjectId) -> Result<u64, TransitionError> {
    let mut asked = 0;
    for resident in Resident::ALL {
        asked += resident.end_some(tx, project).await?;
    }
    Ok(asked)
}

/// How much in the project is not over yet.
pub async fn live(tx: &mut Tx, project: ProjectId) -> sqlx::Result<i64> {
    let mut live = 0;
    for resident in Resident::ALL {
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
    allocations::preview_end(tx, organization, project).await
}
