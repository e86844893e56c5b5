//! What this process remembers of each node between its polls, and the polls
//! that wait for something to say.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Mutex,
};

use contract::id::{NodeId, RegionId};
use protocol::{RefusedCounts, SignedTask, limits::MAX_TASKS_PER_POLL};
use tokio::sync::{Notify, oneshot};

#[derive(Default)]
pub struct Sessions {
    all: Mutex<All>,
    /// Rung when a node waits for which tasks lie ready.
    nudge: Notify,
}

#[derive(Default)]
struct All {
    sessions: HashMap<NodeId, Session>,
    /// Nodes that had tasks when the dispatcher last looked and did not wait then.
    backlog: HashSet<NodeId>,
}

#[derive(Default)]
struct Session {
    connection: u64,
    generation: u64,
    /// Counts polls: only the newest may wait.
    turn: u64,
    /// Whether open tasks were read since the agent or the connection began.
    is_settled: bool,
    /// Where the node is, once open tasks were read.
    region: Option<RegionId>,
    /// The hash of the inventory that was last judged.
    inventory_hash: Option<String>,
    /// The versions of the CA and of the task keys that the node was told.
    told: Option<(u64, u64)>,
    is_asked_for_inventory: bool,
    refused: RefusedCounts,
    /// Tasks that were taken for it and not sent yet.
    ready: VecDeque<SignedTask>,
    waiter: Option<oneshot::Sender<Vec<SignedTask>>>,
}

/// What a poll finds when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    pub turn: u64,
    pub is_settled: bool,
    pub region: Option<RegionId>,
    pub inventory_hash: Option<String>,
    pub is_told: bool,
    pub is_asked_for_inventory: bool,
    /// What the agent refused since its last poll.
    pub refused: RefusedCounts,
}

impl Sessions {
    /// Begins a poll.
    pub fn visit(&self, node: NodeId, who: (u64, u64), refused: RefusedCounts, news: (u64, u64)) -> Visit {
        let (connection, generation) = who;
        let mut all = self.lock();
        let session = all.sessions.entry(node).or_default();
        let is_other_agent = session.generation != generation;
        if is_other_agent || session.connection != connection {
            session.is_settled = false;
        }
        if is_other_agent {
            (session.told, session.refused) = (None, RefusedCounts::default());
        }
        let since = difference(&refused, &session.refused);
        (session.connection, session.generation, session.refused) = (connection, generation, refused);
        session.turn += 1;
        session.waiter = None;
        Visit {
            turn: session.turn,
            is_settled: session.is_settled,
            region: session.region,
            inventory_hash: session.inventory_hash.clone(),
            is_told: session.told == Some(news),
            is_asked_for_inventory: session.is_asked_for_inventory,
            refused: since,
        }
    }

    /// Notes what was read of a node that is new here.
    pub fn settle(&self, node: NodeId, region: RegionId, inventory_hash: Option<String>, open: Vec<SignedTask>) {
        let mut all = self.lock();
        let session = all.sessions.entry(node).or_default();
        (session.is_settled, session.region, session.inventory_hash) = (true, Some(region), inventory_hash);
        // What was taken before is among what is open.
        session.ready = open.into();
    }

    pub fn judged(&self, node: NodeId, inventory_hash: String) {
        let mut all = self.lock();
        let session = all.sessions.entry(node).or_default();
        (session.inventory_hash, session.is_asked_for_inventory) = (Some(inventory_hash), false);
    }

    /// Notes what an answer says.
    pub fn answered(&self, node: NodeId, news: (u64, u64), asks_for_inventory: bool) {
        let mut all = self.lock();
        let session = all.sessions.entry(node).or_default();
        (session.told, session.is_asked_for_inventory) = (Some(news), asks_for_inventory);
    }

    /// What lies ready for a node, as much as one answer carries.
    pub fn take(&self, node: NodeId) -> Vec<SignedTask> {
        let mut all = self.lock();
        all.sessions.get_mut(&node).map(|it| some_of(&mut it.ready)).unwrap_or_default()
    }

    /// Waits for tasks; ends empty when a newer poll of the node waits instead.
    pub fn wait(&self, node: NodeId, turn: u64) -> oneshot::Receiver<Vec<SignedTask>> {
        let (sender, receiver) = oneshot::channel();
        let mut all = self.lock();
        let is_awaited = all.backlog.remove(&node);
        let session = all.sessions.entry(node).or_default();
        if session.turn != turn {
            return receiver;
        }
        if session.ready.is_empty() {
            session.waiter = Some(sender);
            if is_awaited {
                self.nudge.notify_one();
            }
        } else {
            let _ = sender.send(some_of(&mut session.ready));
        }
        receiver
    }

    /// Which of these nodes wait here. The others are remembered, and the
    /// dispatcher is told as soon as one of them waits.
    pub fn waiting_among(&self, nodes: Vec<NodeId>) -> Vec<NodeId> {
        let mut all = self.lock();
        let waits = |node: &NodeId| {
            let waiter = all.sessions.get(node).and_then(|it| it.waiter.as_ref());
            waiter.is_some_and(|it| !it.is_closed())
        };
        let (here, backlog): (Vec<NodeId>, Vec<NodeId>) = nodes.into_iter().partition(waits);
        all.backlog = backlog.into_iter().collect();
        here
    }

    /// Gives a node its tasks: to the poll that waits, else to the next one.
    pub fn hand_over(&self, node: NodeId, tasks: Vec<SignedTask>) {
        let mut all = self.lock();
        let session = all.sessions.entry(node).or_default();
        session.ready.extend(tasks);
        if let Some(waiter) = session.waiter.take()
            && let Err(tasks) = waiter.send(some_of(&mut session.ready))
        {
            tasks.into_iter().rev().for_each(|it| session.ready.push_front(it));
        }
    }

    pub async fn nudged(&self) {
        self.nudge.notified().await;
    }

    /// How many polls wait now.
    pub fn waiting(&self) -> usize {
        self.lock().sessions.values().filter(|it| it.waiter.is_some()).count()
    }

    pub fn is_empty(&self) -> bool {
        self.lock().sessions.is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, All> {
        self.all.lock().expect("no code panics while it holds this lock")
    }
}

fn some_of(ready: &mut VecDeque<SignedTask>) -> Vec<SignedTask> {
    let count = ready.len().min(MAX_TASKS_PER_POLL);
    ready.drain(..count).collect()
}

fn difference(now: &RefusedCounts, before: &RefusedCounts) -> RefusedCounts {
    let RefusedCounts { expired, foreign_node, stale, bad_signature, unknown_key, malformed, wrong_protocol, repeated } =
        *now;
    RefusedCounts {
        expired: expired.saturating_sub(before.expired),
        foreign_node: foreign_node.saturating_sub(before.foreign_node),
        stale: stale.saturating_sub(before.stale),
        bad_signature: bad_signature.saturating_sub(before.bad_signature),
        unknown_key: unknown_key.saturating_sub(before.unknown_key),
        malformed: malformed.saturating_sub(before.malformed),
        wrong_protocol: wrong_protocol.saturating_sub(before.wrong_protocol),
        repeated: repeated.saturating_sub(before.repeated),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWS: (u64, u64) = (0, 0);

    fn task(name: &str) -> SignedTask {
        SignedTask { key_id: name.into(), payload: String::new(), signature: String::new() }
    }

    fn counts(stale: u64) -> RefusedCounts {
        RefusedCounts { stale, ..RefusedCounts::default() }
    }

    #[test]
    fn a_restarted_agent_and_a_new_connection_are_settled_anew() {
        let (sessions, node) = (Sessions::default(), NodeId::generate());
        assert!(!sessions.visit(node, (1, 1), counts(0), NEWS).is_settled);
        sessions.settle(node, RegionId::generate(), None, vec![task("a")]);
        assert!(sessions.visit(node, (1, 1), counts(2), NEWS).is_settled);
        assert!(!sessions.visit(node, (2, 1), counts(2), NEWS).is_settled, "another connection");
        sessions.settle(node, RegionId::generate(), None, vec![]);
        let restarted = sessions.visit(node, (2, 2), counts(1), NEWS);
        assert!(!restarted.is_settled, "another agent");
        assert_eq!(restarted.refused, counts(1), "which counts from nought");
    }

    #[test]
    fn what_the_agent_refused_is_counted_once() {
        let (sessions, node) = (Sessions::default(), NodeId::generate());
        assert_eq!(sessions.visit(node, (1, 1), counts(2), NEWS).refused, counts(2));
        assert_eq!(sessions.visit(node, (1, 1), counts(5), NEWS).refused, counts(3));
        assert_eq!(sessions.visit(node, (1, 1), counts(5), NEWS).refused, counts(0));
    }

    #[tokio::test]
    async fn tasks_reach_the_newest_poll_and_none_is_lost() {
        let (sessions, node) = (Sessions::default(), NodeId::generate());
        let first = sessions.visit(node, (1, 1), counts(0), NEWS);
        let old = sessions.wait(node, first.turn);
        let second = sessions.visit(node, (1, 1), counts(0), NEWS);
        assert!(old.await.is_err(), "a newer poll came");
        let new = sessions.wait(node, second.turn);
        assert_eq!(sessions.waiting_among(vec![node]), [node]);
        drop(new);
        assert!(sessions.waiting_among(vec![node]).is_empty(), "its connection broke");
        sessions.hand_over(node, vec![task("a"), task("b")]);
        let third = sessions.visit(node, (1, 1), counts(0), NEWS);
        assert_eq!(sessions.wait(node, third.turn).await.unwrap(), [task("a"), task("b")]);
    }

    #[tokio::test]
    async fn a_node_that_had_tasks_nudges_the_dispatcher_when_it_waits() {
        let (sessions, node) = (Sessions::default(), NodeId::generate());
        let visit = sessions.visit(node, (1, 1), counts(0), NEWS);
        assert!(sessions.waiting_among(vec![node]).is_empty());
        let _waits = sessions.wait(node, visit.turn);
        sessions.nudged().await;
    }
}
