//! Placement: this process's picture of the fleet, and the planner over it. The
//! picture is brought up to date by reading what changed, never as a whole; a
//! choice counts only once its slots are reserved in the database.

pub mod slots;
mod store;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use contract::id::AllocationId;
use kernel::Tx;
use planner::{AllocationKey, Fleet};
pub use planner::{Ask, Denial, Explanation};
use uuid::Uuid;

// bound: a choice that does not show in the database so long after it was let go
// was not written; one that is written later than that meets the database's own locks
const SETTLING: Duration = Duration::from_secs(2);

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
    pending: Vec<Pending>,
}

struct Pending {
    allocation: AllocationId,
    placement: planner::Placement,
    ask: Ask,
    /// When it was let go: it is being committed, or it came to nothing.
    settles_since: Option<Instant>,
}

/// A choice that nobody else in this process makes until it shows in the
/// database, or came to nothing.
pub struct Chosen {
    pub placement: planner::Placement,
    allocation: AllocationId,
    picture: Arc<Mutex<Picture>>,
}

impl Placement {
    /// Reads what changed since the last time.
    pub async fn refresh(&self, tx: &mut Tx) -> sqlx::Result<()> {
        let mut seen = self.reading.lock().await;
        let (unwritten, again) = self.picture().unwritten();
        let (now, nodes) = store::changes(tx, seen.as_ref(), &again).await?;
        let mut picture = self.picture();
        let shown: HashSet<AllocationKey> =
            nodes.iter().flat_map(|it| &it.slots).filter_map(|slot| slot.held_by).collect();
        for node in nodes {
            picture.fleet.upsert(node);
        }
        picture.pending.retain(|it| !shown.contains(&key(it.allocation)) && !unwritten.contains(&it.allocation));
        let Picture { fleet, pending } = &mut *picture;
        for it in pending.iter() {
            fleet.reserve(&it.placement, &it.ask, key(it.allocation));
        }
        *seen = Some(now);
        Ok(())
    }

    /// The best place for it, kept from others while the answer lives.
    pub fn choose(&self, allocation: AllocationId, ask: &Ask) -> Result<Chosen, Denial> {
        let mut picture = self.picture();
        let placement = planner::plan(&picture.fleet, ask)?;
        picture.fleet.reserve(&placement, ask, key(allocation));
        let (kept, ask) = (placement.clone(), ask.clone());
        picture.pending.push(Pending { allocation, placement: kept, ask, settles_since: None });
        Ok(Chosen { placement, allocation, picture: self.picture.clone() })
    }

    /// Whether it could be placed now.
    pub fn has_room(&self, ask: &Ask) -> bool {
        planner::plan(&self.picture().fleet, ask).is_ok()
    }

    /// Why it cannot be placed, or nothing when by now it could.
    pub fn explain(&self, ask: &Ask) -> Option<Box<Explanation>> {
        planner::explain(&self.picture().fleet, ask).err()
    }

    fn picture(&self) -> MutexGuard<'_, Picture> {
        self.picture.lock().expect("no code panics while it holds this lock")
    }
}

impl Drop for Chosen {
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
        let parts = over.iter().flat_map(|it| &it.placement.parts);
        let nodes = parts.map(|part| Uuid::from_u128(part.node.0)).collect();
        (over.iter().map(|it| it.allocation).collect(), nodes)
    }
}

fn key(allocation: AllocationId) -> AllocationKey {
    AllocationKey(allocation.uuid().as_u128())
}
