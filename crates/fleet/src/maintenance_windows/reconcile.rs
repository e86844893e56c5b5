//! Tells those who are affected, empties nodes at the start and gives them back
//! at the end. In bites: a pool may have thousands of nodes.

use std::time::Duration;

use contract::{
    Timestamp,
    id::{OrganizationId, ProjectId},
    maintenance_windows::{
        MaintenanceWindow, MaintenanceWindowAnnounced, MaintenanceWindowCancelAnnounced, MaintenanceWindowEndAnnounced,
        MaintenanceWindowStartAnnounced, MaintenanceWindowState,
    },
};
use kernel::{
    Tx, clock,
    lifecycle::{Lifecycle, transition},
    work::{Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    lifecycle::{Event, MaintenanceWindowLifecycle},
    store,
};
use crate::nodes;
use platform::events::emit;

pub struct MaintenanceWindowReconciler;

pub struct Snapshot {
    window: MaintenanceWindow,
    now: Timestamp,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Tell those who are affected and were not told, then wait.
    Announce(Duration),
    Start,
    /// Empty what is not empty yet, then wait.
    Empty(Duration),
    /// Give back what was emptied; it is over when all of it is back.
    GiveBack,
}

// bound: how late a project hears that was placed there after the plan was made
const LOOK_AGAIN: Duration = Duration::from_secs(60);
// bound: projects told, or nodes moved, in one transaction
const BITE: i64 = 200;
// bound: the pause between two bites
const NEXT_BITE: Duration = Duration::ZERO;

impl Reconciler for MaintenanceWindowReconciler {
    const KIND: &'static str = MaintenanceWindowLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::DATABASE;
    type Snapshot = Snapshot;
    type Observation = ();
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, ReconcileError> {
        let Some(window) = store::get(tx, id).await? else { return Ok(None) };
        Ok(Some(Snapshot { window, now: clock::now(tx).await? }))
    }

    async fn act(&self, _: &Snapshot) -> Result<(), ReconcileError> {
        Ok(())
    }

    fn decide(&self, seen: &Snapshot, (): ()) -> Verdict {
        let Snapshot { window, now } = seen;
        let left = |until: Timestamp| Duration::try_from(until.duration_since(*now)).unwrap_or_default();
        let is_past = |at: Timestamp| at <= *now;
        match &window.state {
            state if *state == MaintenanceWindowState::Planned && !is_past(window.starts_at) => {
                Verdict::Announce(left(window.starts_at).min(LOOK_AGAIN))
            }
            state if *state == MaintenanceWindowState::Planned && !is_past(window.ends_at) => Verdict::Start,
            state if *state == MaintenanceWindowState::Active && !is_past(window.ends_at) => {
                Verdict::Empty(left(window.ends_at).min(LOOK_AGAIN))
            }
            _ => Verdict::GiveBack,
        }
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, verdict: Verdict) -> Result<Next, ReconcileError> {
        let window = &seen.window;
        if tell(tx, window).await? >= BITE as usize {
            return Ok(Next::After(NEXT_BITE));
        }
        match verdict {
            Verdict::Announce(wait) => {
                let told = announce(tx, window).await?;
                Ok(Next::After(if told >= BITE as usize { NEXT_BITE } else { wait }))
            }
            Verdict::Start => {
                announce(tx, window).await?;
                transition::<MaintenanceWindowLifecycle>(tx, store::versioned(window)?, Event::Started, "").await?;
                Ok(Next::After(NEXT_BITE))
            }
            Verdict::Empty(wait) => {
                let nodes = store::to_empty(tx, window.id, BITE).await?;
                for node in &nodes {
                    let reason = window.reason.as_str();
                    if let Some(before) = nodes::empty_for(tx, *node, window.starts_at, reason).await? {
                        store::emptied(tx, window.id, *node, before.was_cordoned).await?;
                    }
                }
                Ok(Next::After(if nodes.len() >= BITE as usize { NEXT_BITE } else { wait }))
            }
            Verdict::GiveBack => give_back(tx, window).await,
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}

/// Tells each affected project once; how many were told now.
async fn announce(tx: &mut Tx, window: &MaintenanceWindow) -> sqlx::Result<usize> {
    let told = store::announce(tx, window.id, BITE).await?;
    for (organization, project) in &told {
        let event = MaintenanceWindowAnnounced {
            id: window.id,
            project_id: ProjectId::from(*project),
            starts_at: window.starts_at,
            ends_at: window.ends_at,
            reason: window.reason.clone(),
        };
        emit(tx, Some(OrganizationId::from(*organization)), window.id, &event);
    }
    Ok(told.len())
}

/// Tells those who heard of the window what became of it; how many were told now.
async fn tell(tx: &mut Tx, window: &MaintenanceWindow) -> sqlx::Result<usize> {
    let state = platform::rows::known::<MaintenanceWindowState>(window.state.as_str())?;
    if state == MaintenanceWindowState::Planned {
        return Ok(0);
    }
    let told = store::tell(tx, window, BITE).await?;
    let MaintenanceWindow { id, starts_at, ends_at, reason, .. } = window.clone();
    for (organization, project) in &told {
        let (organization, project_id) = (Some(OrganizationId::from(*organization)), ProjectId::from(*project));
        let reason = reason.clone();
        match state {
            MaintenanceWindowState::Planned => (),
            MaintenanceWindowState::Active => {
                let event = MaintenanceWindowStartAnnounced { id, project_id, starts_at, ends_at, reason };
                emit(tx, organization, id, &event);
            }
            MaintenanceWindowState::Over => {
                let event = MaintenanceWindowEndAnnounced { id, project_id, starts_at, ends_at, reason };
                emit(tx, organization, id, &event);
            }
            MaintenanceWindowState::Canceled => {
                let event = MaintenanceWindowCancelAnnounced { id, project_id, starts_at, ends_at, reason };
                emit(tx, organization, id, &event);
            }
        }
    }
    Ok(told.len())
}

async fn give_back(tx: &mut Tx, window: &MaintenanceWindow) -> Result<Next, ReconcileError> {
    let out = store::to_restore(tx, window.id, BITE).await?;
    for (node, was_cordoned) in &out {
        nodes::give_back(tx, *node, *was_cordoned, "its maintenance is over").await?;
        store::restored(tx, window.id, *node).await?;
    }
    if out.len() >= BITE as usize {
        return Ok(Next::After(NEXT_BITE));
    }
    let row = store::versioned(window)?;
    if MaintenanceWindowLifecycle::next(row.state, Event::Ended).is_some() {
        transition::<MaintenanceWindowLifecycle>(tx, row, Event::Ended, "").await?;
        // Once more, to tell of it.
        return Ok(Next::After(NEXT_BITE));
    }
    Ok(Next::Done)
}
