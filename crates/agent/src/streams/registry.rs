//! Which streams and shells run for which allocation: how many there may be, and
//! how all of one allocation end.

use super::admit::{Judge, SpentGrants, Trusted};
use super::refusal::{Counts, Refused};
use super::serve::STREAMS;
use super::terminal::Terminal;
use crate::locked;
use protocol::TaskKey;
use protocol::stream::{Closing, Grant, refusals};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use uuid::Uuid;

const END_LIMIT: Duration = Duration::from_secs(10); // bound: then its processes are killed from outside anyway

/// Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Sessions {
    shared: Arc<Shared>,
}

struct Shared {
    judge: Judge,
    most_streams: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    trusted: Trusted,
    spent: SpentGrants,
    refused: Counts,
    allocations: HashMap<String, Allocation>,
}

struct Allocation {
    /// Says why everything of it must end.
    ending: watch::Sender<Option<Closing>>,
    /// Whether nothing new may begin.
    closed: usize,
    /// Streams and shells of each session.
    live: HashMap<Uuid, usize>,
    shells: HashMap<Uuid, Vec<Arc<Terminal>>>,
}

impl Allocation {
    fn new() -> Self {
        Self { ending: watch::Sender::new(None), closed: 0, live: HashMap::new(), shells: HashMap::new() }
    }

    fn is_idle(&self) -> bool {
        self.closed == 0 && self.live.is_empty()
    }
}

impl Sessions {
    pub fn new(judge: Judge, trusted: Trusted) -> Self {
        let state = State { trusted, ..State::default() };
        let most_streams = AtomicUsize::new(STREAMS as usize);
        Self { shared: Arc::new(Shared { judge, most_streams, state: Mutex::new(state) }) }
    }

    pub fn learn_keys(&self, keys: &[TaskKey]) {
        locked(&self.shared.state).trusted.keys = keys.to_vec();
    }

    pub fn learn_epoch(&self, epoch: i64) {
        let mut state = locked(&self.shared.state);
        state.trusted.epoch = state.trusted.epoch.max(epoch);
    }

    /// Lets every gateway have fewer streams here at once than it might.
    pub fn allow_streams(&self, most: usize) {
        self.shared.most_streams.store(most.min(STREAMS as usize), Relaxed);
    }

    pub(super) fn most_streams(&self) -> usize {
        self.shared.most_streams.load(Relaxed)
    }

    pub fn refused(&self) -> Counts {
        locked(&self.shared.state).refused.clone()
    }

    pub(super) fn count(&self, code: &'static str) {
        locked(&self.shared.state).refused.count(code);
    }

    pub(super) fn judge(&self) -> &Judge {
        &self.shared.judge
    }

    /// How many sessions have a stream or a shell here.
    pub fn live(&self) -> usize {
        locked(&self.shared.state).allocations.values().map(|it| it.live.len()).sum()
    }

    /// The grant in a header, spent by this call.
    pub(super) fn spend(&self, header: Option<&str>, gateway: &str) -> Result<Grant, Refused> {
        let mut state = locked(&self.shared.state);
        let grant = self.shared.judge.read(header, gateway, &state.trusted)?;
        let now = self.shared.judge.clock.now().unwrap_or(grant.issued_at);
        state.spent.spend(&grant, now)?;
        Ok(grant)
    }

    /// A place for one more stream of the grant's session.
    pub(super) fn enter(&self, grant: &Grant) -> Result<Entry, Refused> {
        let mut state = locked(&self.shared.state);
        let allocation = state.allocations.entry(grant.allocation.clone()).or_insert_with(Allocation::new);
        if allocation.closed > 0 {
            return Err(Refused::new(refusals::NO_ALLOCATION, "the allocation is being stopped"));
        }
        let is_new = !allocation.live.contains_key(&grant.session);
        if is_new && allocation.live.len() >= usize::from(grant.limits.sessions) {
            if allocation.is_idle() {
                state.allocations.remove(&grant.allocation);
            }
            return Err(Refused::new(refusals::TOO_MANY, format!("the limit is {}", grant.limits.sessions)));
        }
        *allocation.live.entry(grant.session).or_default() += 1;
        Ok(Entry {
            ending: allocation.ending.subscribe(),
            sessions: self.clone(),
            allocation: grant.allocation.clone(),
            session: grant.session,
        })
    }

    /// The shell of a session, if it runs here.
    pub(super) fn shell(&self, grant: &Grant) -> Option<Arc<Terminal>> {
        let state = locked(&self.shared.state);
        state.allocations.get(&grant.allocation)?.shells.get(&grant.session)?.first().cloned()
    }

    /// Ends every stream and shell of an allocation and lets none begin as long as
    /// what is returned lives.
    pub async fn end(&self, allocation: &str) -> ClosedGuard {
        let closed = self.close(allocation);
        self.end_with(allocation, Closing::AllocationEnded).await;
        closed
    }

    fn close(&self, allocation: &str) -> ClosedGuard {
        let mut state = locked(&self.shared.state);
        state.allocations.entry(allocation.to_owned()).or_insert_with(Allocation::new).closed += 1;
        ClosedGuard { sessions: self.clone(), allocation: allocation.to_owned() }
    }

    /// Ends everything: the agent stops, or the host is about to be wiped.
    pub async fn end_all(&self, closing: Closing) {
        let names: Vec<String> = locked(&self.shared.state).allocations.keys().cloned().collect();
        for name in &names {
            self.tell_ending(name, closing);
        }
        for name in &names {
            self.end_with(name, closing).await;
        }
    }

    fn tell_ending(&self, allocation: &str, closing: Closing) -> Option<watch::Sender<Option<Closing>>> {
        let state = locked(&self.shared.state);
        let ending = state.allocations.get(allocation)?.ending.clone();
        drop(state);
        ending.send_replace(Some(closing));
        Some(ending)
    }

    async fn end_with(&self, allocation: &str, closing: Closing) {
        let Some(ending) = self.tell_ending(allocation, closing) else { return };
        // Every stream and shell holds a receiver until it has ended.
        if tokio::time::timeout(END_LIMIT, ending.closed()).await.is_err() {
            tracing::warn!(allocation, "streams did not end in time");
        }
        ending.send_replace(None);
    }
}

/// One stream or shell of a session, as long as it lives.
pub struct Entry {
    ending: watch::Receiver<Option<Closing>>,
    sessions: Sessions,
    allocation: String,
    session: Uuid,
}

impl Entry {
    /// Waits until the allocation's streams must end, and says why.
    pub async fn must_end(&mut self) -> Closing {
        match self.ending.wait_for(Option::is_some).await {
            Ok(closing) => closing.unwrap_or(Closing::AllocationEnded),
            Err(_) => Closing::AllocationEnded,
        }
    }

    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Lets others join the shell.
    pub fn add_shell(&self, shell: &Arc<Terminal>) {
        let mut state = locked(&self.sessions.shared.state);
        if let Some(allocation) = state.allocations.get_mut(&self.allocation) {
            allocation.shells.entry(self.session).or_default().push(Arc::clone(shell));
        }
    }

    pub fn remove_shell(&self, shell: &Arc<Terminal>) {
        let mut state = locked(&self.sessions.shared.state);
        if let Some(allocation) = state.allocations.get_mut(&self.allocation)
            && let Some(shells) = allocation.shells.get_mut(&self.session)
        {
            shells.retain(|other| !Arc::ptr_eq(other, shell));
            if shells.is_empty() {
                allocation.shells.remove(&self.session);
            }
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut state = locked(&self.sessions.shared.state);
        let Some(allocation) = state.allocations.get_mut(&self.allocation) else { return };
        if let Some(count) = allocation.live.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                allocation.live.remove(&self.session);
            }
        }
        if allocation.is_idle() {
            state.allocations.remove(&self.allocation);
        }
    }
}

/// Keeps an allocation closed to new streams.
pub struct ClosedGuard {
    sessions: Sessions,
    allocation: String,
}

impl Drop for ClosedGuard {
    fn drop(&mut self) {
        let mut state = locked(&self.sessions.shared.state);
        let Some(allocation) = state.allocations.get_mut(&self.allocation) else { return };
        allocation.closed = allocation.closed.saturating_sub(1);
        if allocation.is_idle() {
            state.allocations.remove(&self.allocation);
        }
    }
}
