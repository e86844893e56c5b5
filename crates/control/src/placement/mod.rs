//! Placement: this process's picture of the fleet, and the planner over it. The
//! picture is brought up to date by reading what changed, never as a whole; a
//! choice counts only once its slots are reserved in the database.

pub mod reservations;
pub mod slots;
mod store;

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use contract::id::AllocationId;
use kernel::{Access, Db, Tx};
use planner::{AllocationKey, Fleet, NodeKey};
pub use planner::{Ask, Denial, Explanation};

// bound: who asks why waits no longer for a newer picture, and is answered from the last one
const PATIENCE: Duration = Duration::from_secs(5);

/// Shared by every visit of this process.
#[derive(Clone, Default)]
pub struct Placement {
    picture: Arc<Mutex<Picture>>,
    /// Held while changes are read, so that an older answer never replaces a newer one.
    reading: Arc<tokio::sync::Mutex<Option<store::Seen>>>,
}

#[derive(Default)]
struct Picture {
    fleet: Fleet,
    /// Choices on their way into the database, which do not show there yet.
    pending: Vec<(AllocationId, planner::Placement, Ask)>,
}

/// A choice that nobody else in this process makes until it is dropped.
pub struct Chosen {
    pub placement: planner::Placement,
    allocation: AllocationId,
    picture: Arc<Mutex<Picture>>,
}

impl Placement {
    /// Reads what changed since the last time.
    pub async fn refresh(&self, tx: &mut Tx) -> sqlx::Result<()> {
        let mut seen = self.reading.lock().await;
        let (now, nodes) = store::changes(tx, seen.as_ref()).await?;
        let mut picture = self.picture();
        for node in nodes {
            picture.fleet.upsert(node);
        }
        let Picture { fleet, pending } = &mut *picture;
        for (allocation, placement, ask) in pending.iter() {
            fleet.reserve(placement, ask, key(*allocation));
        }
        *seen = Some(now);
        Ok(())
    }

    /// Reads what changed for who only wants to look. The picture is the process's own
    /// and not the caller's, so this is a transaction beside theirs.
    pub async fn catch_up(&self, db: &Db) -> sqlx::Result<()> {
        let reading = async {
            let mut tx = Tx::system(db, "placement", Access::Read).await?;
            self.refresh(&mut tx).await?;
            tx.commit().await
        };
        match tokio::time::timeout(PATIENCE, reading).await {
            Ok(read) => read,
            Err(_) if !self.picture().fleet.is_empty() => Ok(()),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }

    /// The best place for it, also where nodes are kept for it; nobody else in
    /// this process chooses it while the answer lives.
    pub fn choose(&self, allocation: AllocationId, ask: &Ask, kept: &[NodeKey]) -> Result<Chosen, Denial> {
        let mut picture = self.picture();
        let placement = picture.as_if_free(kept, key(allocation), |fleet| planner::plan(fleet, ask))?;
        picture.fleet.reserve(&placement, ask, key(allocation));
        picture.pending.push((allocation, placement.clone(), ask.clone()));
        Ok(Chosen { placement, allocation, picture: self.picture.clone() })
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
    pub fn soonest(&self, allocation: AllocationId, ask: &Ask, leases: &reservations::Leases) -> Vec<NodeKey> {
        let ends = |holder| leases.get(&holder).copied();
        planner::soonest(&self.picture().fleet, ask, key(allocation), &ends).unwrap_or_default()
    }

    /// Why it cannot be placed, and how many nodes are kept for it; nothing when
    /// by now it could.
    pub fn explain(&self, allocation: AllocationId, ask: &Ask) -> Option<(Box<Explanation>, usize)> {
        let (mut picture, own) = (self.picture(), key(allocation));
        let kept = picture.fleet.nodes().filter(|it| it.reserved_for == Some(own)).map(|it| it.key);
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

impl Drop for Chosen {
    fn drop(&mut self) {
        let mut picture = self.picture.lock().expect("no code panics while it holds this lock");
        picture.pending.retain(|(allocation, ..)| *allocation != self.allocation);
    }
}

fn key(allocation: AllocationId) -> AllocationKey {
    AllocationKey(allocation.uuid().as_u128())
}
