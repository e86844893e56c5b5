//! Seals recordings whose session is over, and deletes them when they were kept
//! for as long as policy says.

use std::{sync::Arc, time::Duration};

use contract::{access_sessions::AccessSessionState, recordings::RecordingState};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, TransitionError, transition, transition_telling},
    work::{Next, Reconciler},
};
use serde_json::{Map, json};
use uuid::Uuid;

use super::{
    delete_at, key,
    lifecycle::{Event, RecordingLifecycle},
    seal,
    store::{self, Chunk, Visit},
};
use platform::{
    policies::{self, Policies, settings},
    ports::recording_store::{RecordingStore, StoreError},
};

pub struct RecordingReconciler {
    pub store: Option<Arc<dyn RecordingStore>>,
    pub policies: Policies,
}

#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("chunks of a recording could not be deleted")]
    Store(#[from] StoreError),
    #[error("no recording store is configured: set `recordings.folder` or `recordings.s3_url`")]
    NoStore,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    Wait(Duration),
    Seal,
    /// These are gone from the store.
    Forget(Vec<Chunk>),
    Delete,
}

// bound: deletions of one visit; the next visit follows at once
const BITE: i64 = 500;
// bound: the longest sleep of a recording that is kept
const LOOK: Duration = Duration::from_secs(86_400);
// bound: as many pieces as the longest session can have, at one a second
const MOST_CHUNKS: i64 = 4_000_000;

impl Reconciler for RecordingReconciler {
    const KIND: &'static str = RecordingLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::RECORDINGS;
    /// With the pieces that are to be deleted.
    type Snapshot = (Visit, Vec<Chunk>);
    type Observation = ();
    type Verdict = Verdict;
    type Error = RecordingError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Self::Snapshot>, RecordingError> {
        let Some(visit) = store::visit(tx, id).await? else { return Ok(None) };
        let doomed = match is_doomed(&visit) {
            true => store::chunks(tx, visit.id, BITE).await?,
            false => Vec::new(),
        };
        Ok(Some((visit, doomed)))
    }

    async fn act(&self, (visit, doomed): &Self::Snapshot) -> Result<(), RecordingError> {
        if doomed.is_empty() {
            return Ok(());
        }
        let store = self.store.as_ref().ok_or(RecordingError::NoStore)?;
        for chunk in doomed {
            store.delete(&key(visit.id, chunk.segment, chunk.number)).await?;
        }
        Ok(())
    }

    fn decide(&self, (visit, doomed): &Self::Snapshot, (): ()) -> Verdict {
        let patience = settings::hours(self.policies.number(settings::ACCESS_SEAL_HOURS));
        decide(visit, doomed, patience)
    }

    async fn apply(&self, tx: &mut Tx, (visit, _): Self::Snapshot, verdict: Verdict) -> Result<Next, RecordingError> {
        match verdict {
            Verdict::Nothing => Ok(Next::Done),
            Verdict::Wait(rest) => Ok(Next::After(rest)),
            Verdict::Seal => {
                let keep = seal_it(tx, &visit).await?;
                Ok(Next::After(keep.min(LOOK)))
            }
            Verdict::Forget(chunks) => {
                store::forget_chunks(tx, visit.id, &chunks).await?;
                Ok(Next::After(Duration::ZERO))
            }
            Verdict::Delete => {
                transition::<RecordingLifecycle>(tx, visit.row(), Event::Deleted, "its retention period is over")
                    .await?;
                Ok(Next::Done)
            }
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}

fn is_doomed(visit: &Visit) -> bool {
    visit.state == RecordingState::Sealed && visit.keep.is_some_and(|it| it.is_zero())
}

fn decide(visit: &Visit, doomed: &[Chunk], patience: Duration) -> Verdict {
    match visit.state {
        RecordingState::Deleted => Verdict::Nothing,
        RecordingState::Recording if visit.session != AccessSessionState::Ended => Verdict::Nothing,
        RecordingState::Recording => {
            let waits = patience.saturating_sub(visit.over_for.unwrap_or_default());
            if visit.is_complete || waits.is_zero() { Verdict::Seal } else { Verdict::Wait(waits) }
        }
        RecordingState::Sealed if !is_doomed(visit) => Verdict::Wait(visit.keep.unwrap_or(LOOK).min(LOOK)),
        RecordingState::Sealed if doomed.is_empty() => Verdict::Delete,
        RecordingState::Sealed => Verdict::Forget(doomed.to_vec()),
    }
}

/// Writes the hash over all pieces down, also in the audit log; how long it is kept.
async fn seal_it(tx: &mut Tx, visit: &Visit) -> Result<Duration, RecordingError> {
    let chunks = store::chunks(tx, visit.id, MOST_CHUNKS).await?;
    let root = seal::root(visit.id, &chunks);
    let place = policies::PolicyScope { organization: visit.organization.uuid(), project: visit.project };
    let days = policies::ProjectPolicies { tx, place }.number(settings::ACCESS_RECORDING_DAYS).await?;
    store::sealed(tx, visit.id, &root, delete_at(visit.now, days)).await?;
    let mut facts = Map::new();
    facts.insert("root".into(), json!(root));
    facts.insert("pieces".into(), json!(chunks.len()));
    facts.insert("gaps".into(), json!(seal::gaps(&chunks).len()));
    facts.insert("is_complete".into(), json!(visit.is_complete));
    transition_telling::<RecordingLifecycle>(tx, visit.row(), Event::Sealed, "", facts).await?;
    Ok(settings::days(days))
}

#[cfg(test)]
mod tests {
    use contract::{
        Timestamp,
        id::{OrganizationId, RecordingId},
    };

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(3600);

    fn visit(state: RecordingState) -> Visit {
        Visit {
            id: RecordingId::generate(),
            organization: OrganizationId::generate(),
            project: Uuid::nil(),
            session: AccessSessionState::Ended,
            state,
            version: 1,
            over_for: Some(Duration::from_secs(600)),
            is_complete: true,
            keep: Some(Duration::from_secs(60)),
            now: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn recording_is_sealed_when_complete_or_when_patience_ends() {
        let open = Visit { session: AccessSessionState::Detached, ..visit(RecordingState::Recording) };
        assert_eq!(decide(&open, &[], PATIENCE), Verdict::Nothing);
        assert_eq!(decide(&visit(RecordingState::Recording), &[], PATIENCE), Verdict::Seal);
        let waits = Visit { is_complete: false, ..visit(RecordingState::Recording) };
        assert_eq!(decide(&waits, &[], PATIENCE), Verdict::Wait(Duration::from_secs(3000)));
        let late = Visit { over_for: Some(PATIENCE), ..waits };
        assert_eq!(decide(&late, &[], PATIENCE), Verdict::Seal);
    }

    #[test]
    fn only_retention_deletes() {
        let kept = visit(RecordingState::Sealed);
        assert_eq!(decide(&kept, &[], PATIENCE), Verdict::Wait(Duration::from_secs(60)));
        let doomed = Visit { keep: Some(Duration::ZERO), ..kept };
        let chunk = super::super::seal::tests::chunk(0, 0, 0, 1);
        assert_eq!(decide(&doomed, std::slice::from_ref(&chunk), PATIENCE), Verdict::Forget(vec![chunk]));
        assert_eq!(decide(&doomed, &[], PATIENCE), Verdict::Delete);
    }
}
