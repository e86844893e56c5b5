//! Drives a project that is to be deleted to its end: what is inside is asked to
//! end, and the project is deleted when nothing in it is live any more.

use std::time::Duration;

use contract::projects::{Project, ProjectState};
use kernel::{
    Tx,
    lifecycle::transition,
    work::{Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    contents,
    lifecycle::{Event, ProjectLifecycle},
    store,
};

pub struct ProjectReconciler;

pub struct Snapshot {
    project: Project,
    /// How much in it is not over yet.
    live: i64,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    /// Ask what is inside to end, and look again.
    EndContents,
    Finish,
}

// bound: how soon after the last of its contents ended a project is deleted
const LOOK_AGAIN: Duration = Duration::from_secs(2);

impl Reconciler for ProjectReconciler {
    const KIND: &'static str = "project";
    const LANE: kernel::work::Lane = platform::lanes::DATABASE;
    type Snapshot = Snapshot;
    type Observation = ();
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, ReconcileError> {
        let Some(project) = store::get(tx, id.into()).await? else { return Ok(None) };
        // Nothing is added to a project that is being deleted.
        let live = if project.state == ProjectState::Deleting { contents::live(tx, project.id).await? } else { 0 };
        Ok(Some(Snapshot { project, live }))
    }

    async fn act(&self, _: &Snapshot) -> Result<(), ReconcileError> {
        Ok(())
    }

    fn decide(&self, seen: &Snapshot, (): ()) -> Verdict {
        match (seen.project.state == ProjectState::Deleting, seen.live) {
            (false, _) => Verdict::Nothing,
            (true, 0) => Verdict::Finish,
            (true, _) => Verdict::EndContents,
        }
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, verdict: Verdict) -> Result<Next, ReconcileError> {
        match verdict {
            Verdict::Nothing => Ok(Next::Done),
            Verdict::EndContents => match contents::end_some(tx, seen.project.id).await? {
                0 => Ok(Next::After(LOOK_AGAIN)),
                _ => Ok(Next::After(Duration::ZERO)),
            },
            Verdict::Finish => {
                transition::<ProjectLifecycle>(tx, store::versioned(&seen.project)?, Event::Deleted, "").await?;
                Ok(Next::Done)
            }
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::deleting(tx, limit).await
    }
}
