//! Drives a project that is to be deleted to its end. What is inside a project
//! must be gone first; the resources that live in projects are asked here.

use contract::projects::{Project, ProjectState};
use kernel::{
    Tx,
    machine::transition,
    work::{Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    lifecycle::{Event, Lifecycle},
    store,
};

pub struct ProjectReconciler;

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    Finish,
}

impl Reconciler for ProjectReconciler {
    const KIND: &'static str = "project";
    type Seen = Project;
    type Found = ();
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Project>, ReconcileError> {
        Ok(store::get(tx, id.into()).await?)
    }

    async fn act(&self, _: &Project) -> Result<(), ReconcileError> {
        Ok(())
    }

    fn decide(&self, project: &Project, (): ()) -> Verdict {
        if project.state == ProjectState::Deleting { Verdict::Finish } else { Verdict::Nothing }
    }

    async fn apply(&self, tx: &mut Tx, project: Project, verdict: Verdict) -> Result<Next, ReconcileError> {
        if verdict == Verdict::Finish {
            transition::<Lifecycle>(tx, store::versioned(&project)?, Event::Deleted, "").await?;
        }
        Ok(Next::Done)
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::deleting(tx, limit).await
    }
}
