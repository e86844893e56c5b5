//! Placement: this process's picture of the fleet, and the planner over it. The
//! picture is brought up to date by reading what changed, never as a whole; a
//! choice counts only once its slots are reserved in the database.

pub mod slots;
pub mod starvation_guard;
mod store;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use contract::id::AllocationId;
use kernel::Tx;
use planner::{AllocationKey, Fleet, NodeKey};
pub use planner::{Ask, Denial, Explanation};
use uuid::Uuid;

use crate::ComputeArea;
use platform::registry::Registry;
use store::{Changes, Choice};

pub fn register(_: &mut Registry<ComputeArea>) {}

// bound: a choice that does not show in the database so long after it was let go
// was not written; one that is written later than that meets the database's own locks
const SETTLING: Duration = Duration::from_secs(2);

// bound: who asks why waits no longer for a newer picture, and is answered from the last one
const PATIENCE: Duration = Duration::from_secs(5);

/// Shared by every visit of this process.
#[derive(Clone, Default)]
pub struct Placement {
    picture: Arc<Mutex<Picture>>,
    /// Held while changes are read, so that an older answer never replaces a newer one.
    reading: Arc<tokio::sync::Mutex<Option<store::SnapshotHorizon>>>,
}

#[derive(Default)]
struct Picture {
    fleet: Fleet,
    /// Choices on their way into the database, which do not show there yet.
    pending: Vec<Pending>,
}

struct Pending {
    allocation: AllocationId,
    placement: planner::Placement,
    ask: Ask,
    /// When it was let go: it is being committed, or it came to nothing.
    settles_since: Option<Instant>,
}

impl Pending {
    fn nodes(&self) -> impl Iterator<Item = Uuid> {
        self.placement.parts.iter().map(|part| Uuid::from_u128(part.node.0))
    }
}

/// A choice that nobody else in this process makes until it shows in the
/// database, or came to nothing.
pub struct PlacementChoice {
    pub placement: planner::Placement,
    allocation: AllocationId,
    picture: Arc<Mutex<Picture>>,
}

/// The turn to read changes, with what was seen so far.
type Reading<'a> = tokio::sync::MutexGuard<'a, Option<store::SnapshotHorizon>>;

impl Placement {
    /// Reads what changed since the last time.
    pub async fn refresh(&self, tx: &mut Tx) -> sqlx::Result<()> {
        let seen = self.reading.lock().await;
        self.read_changes(tx, seen).await
    }

    async fn read_changes(&self, tx: &mut Tx, mut seen: Reading<'_>) -> sqlx::Result<()> {
        let (unwritten, again, choices) = {
            let picture = self.picture();
            let (unwritten, again) = picture.unwritten();
            (unwritten, again, picture.choices())
        };
        let Changes { now, nodes, decided } = store::changes(tx, seen.as_ref(), &again, &choices).await?;
        let mut picture = self.picture();
        let shown: HashSet<AllocationKey> =
            nodes.iter().flat_map(|it| &it.slots).filter_map(|slot| slot.held_by).collect();
        for node in nodes {
            picture.fleet.upsert(node);
        }
        // One that was placed and released since the last look shows in no slot.
        let is_over = |it: AllocationId| unwritten.contains(&it) || decided.contains(&it.uuid());
        picture.pending.retain(|it| !shown.contains(&key(it.allocation)) && !is_over(it.allocation));
        let Picture { fleet, pending } = &mut *picture;
        for it in pending.iter() {
            fleet.reserve(&it.placement, &it.ask, key(it.allocation));
        }
        *seen = Some(now);
        Ok(())
    }

    /// Reads what changed for who only wants to look, and who waits no longer for
    /// others that read than an older picture is worth.
    pub async fn catch_up(&self, tx: &mut Tx) -> sqlx::Result<()> {
        match tokio::time::timeout(PATIENCE, self.reading.lock()).await {
            Ok(seen) => self.read_changes(tx, seen).await,
            Err(_) if !self.picture().fleet.is_empty() => Ok(()),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }

    /// The best place for it, also where nodes are kept for it; nobody else in
    /// this process chooses it while the answer lives.
    pub fn choose(&self, allocation: AllocationId, ask: &Ask, kept: &[NodeKey]) -> Result<PlacementChoice, Denial> {
        let mut picture = self.picture();
        let placement = picture.as_if_free(kept, key(allocation), |fleet| planner::plan(fleet, ask))?;
        picture.fleet.reserve(&placement, ask, key(allocation));
        let (kept, ask) = (placement.clone(), ask.clone());
        picture.pending.push(Pending { allocation, placement: kept, ask, settles_since: None });
        Ok(PlacementChoice { placement, allocation, picture: self.picture.clone() })
    }

    /// Whether it could be placed now.
    pub fn has_room(&self, ask: &Ask) -> bool {
        planner::plan(&self.picture().fleet, ask).is_ok()
    }

    /// Whether it could be placed if nothing else were there.
    pub fn could_run(&self, ask: &Ask) -> bool {
        planner::could_run(&self.picture().fleet, ask)
    }

    /// Where it would fit soonest, of the nodes that are not kept for others.
    pub fn soonest(&self, allocation: AllocationId, ask: &Ask, leases: &starvation_guard::Leases) -> Vec<NodeKey> {
        let ends = |holder| leases.get(&holder).copied();
        planner::soonest(&self.picture().fleet, ask, key(allocation), &ends).unwrap_or_default()
    }

    /// Why it cannot be placed, and how many nodes are kept for it; nothing when
    /// by now it could.
    pub fn explain(&self, allocation: AllocationId, ask: &Ask) -> Option<(Box<Explanation>, usize)> {
        let (mut picture, own) = (self.picture(), key(allocation));
        let kept = picture.fleet.nodes().filter(|it| it.kept_for == Some(own)).map(|it| it.key);
        let kept: Vec<NodeKey> = kept.collect();
        let why = picture.as_if_free(&kept, own, |fleet| planner::explain(fleet, ask).err())?;
        Some((why, kept.len()))
    }

    fn picture(&self) -> MutexGuard<'_, Picture> {
        self.picture.lock().expect("no code panics while it holds this lock")
    }
}

impl Picture {
    /// Asks something about the fleet for the one that these nodes are kept for.
    fn as_if_free<T>(&mut self, kept: &[NodeKey], own: AllocationKey, ask: impl FnOnce(&Fleet) -> T) -> T {
        self.fleet.keep(kept, None);
        let answer = ask(&self.fleet);
        self.fleet.keep(kept, Some(own));
        answer
    }
}

impl Drop for PlacementChoice {
    fn drop(&mut self) {
        let mut picture = self.picture.lock().expect("no code panics while it holds this lock");
        let own = picture.pending.iter_mut().filter(|it| it.allocation == self.allocation);
        own.for_each(|it| it.settles_since = Some(Instant::now()));
    }
}

impl Picture {
    /// Choices that came to nothing, and the nodes to read again because of them.
    fn unwritten(&self) -> (HashSet<AllocationId>, Vec<Uuid>) {
        let is_over = |it: &&Pending| it.settles_since.is_some_and(|since| since.elapsed() >= SETTLING);
        let over: Vec<&Pending> = self.pending.iter().filter(is_over).collect();
        let nodes = over.iter().flat_map(|it| it.nodes()).collect();
        (over.iter().map(|it| it.allocation).collect(), nodes)
    }

    /// Choices that are being committed, or came to nothing.
    fn choices(&self) -> Vec<Choice> {
        let let_go = self.pending.iter().filter(|it| it.settles_since.is_some());
        let_go.map(|it| (it.allocation.uuid(), it.nodes().collect())).collect()
    }
}

fn key(allocation: AllocationId) -> AllocationKey {
    AllocationKey(allocation.uuid().as_u128())
}
