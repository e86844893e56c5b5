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
pub struct Polls {
    table: Mutex<PollTable>,
    /// Rung when a node waits for which tasks lie ready.
    nudge: Notify,
}

#[derive(Default)]
struct PollTable {
    nodes: HashMap<NodeId, NodePolls>,
    /// Nodes that had tasks when the dispatcher last looked and did not wait then.
    backlog: HashSet<NodeId>,
}

#[derive(Default)]
struct NodePolls {
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
pub struct PollStart {
    pub turn: u64,
    pub is_settled: bool,
    pub region: Option<RegionId>,
    pub inventory_hash: Option<String>,
    pub is_told: bool,
    pub is_asked_for_inventory: bool,
    /// What the agent refused since its last poll.
    pub refused: RefusedCounts,
}

impl Polls {
    /// Begins a poll.
    pub fn begin(&self, node: NodeId, who: (u64, u64), refused: RefusedCounts, news: (u64, u64)) -> PollStart {
        let (connection, generation) = who;
        let mut table = self.lock();
        let polls = table.nodes.entry(node).or_default();
        let is_other_agent = polls.generation != generation;
        if is_other_agent || polls.connection != connection {
            polls.is_settled = false;
        }
        if is_other_agent {
            (polls.told, polls.refused) = (None, RefusedCounts::default());
        }
        let since = difference(&refused, &polls.refused);
        (polls.connection, polls.generation, polls.refused) = (connection, generation, refused);
        polls.turn += 1;
        polls.waiter = None;
        PollStart {
            turn: polls.turn,
            is_settled: polls.is_settled,
            region: polls.region,
            inventory_hash: polls.inventory_hash.clone(),
            is_told: polls.told == Some(news),
            is_asked_for_inventory: polls.is_asked_for_inventory,
            refused: since,
        }
    }

    /// Notes what was read of a node that is new here.
    pub fn settle(&self, node: NodeId, region: RegionId, inventory_hash: Option<String>, open: Vec<SignedTask>) {
        let mut table = self.lock();
        let polls = table.nodes.entry(node).or_default();
        (polls.is_settled, polls.region, polls.inventory_hash) = (true, Some(region), inventory_hash);
        // What was taken before is among what is open.
        polls.ready = open.into();
    }

    pub fn judged(&self, node: NodeId, inventory_hash: String) {
        let mut table = self.lock();
        let polls = table.nodes.entry(node).or_default();
        (polls.inventory_hash, polls.is_asked_for_inventory) = (Some(inventory_hash), false);
    }

    /// Notes what an answer says.
    pub fn answered(&self, node: NodeId, news: (u64, u64), asks_for_inventory: bool) {
        let mut table = self.lock();
        let polls = table.nodes.entry(node).or_default();
        (polls.told, polls.is_asked_for_inventory) = (Some(news), asks_for_inventory);
    }

    /// What lies ready for a node, as much as one answer carries.
    pub fn take(&self, node: NodeId) -> Vec<SignedTask> {
        let mut table = self.lock();
        table.nodes.get_mut(&node).map(|it| some_of(&mut it.ready)).unwrap_or_default()
    }

    /// Waits for tasks; ends empty when a newer poll of the node waits instead.
    pub fn wait(&self, node: NodeId, turn: u64) -> oneshot::Receiver<Vec<SignedTask>> {
        let (sender, receiver) = oneshot::channel();
        let mut table = self.lock();
        let is_awaited = table.backlog.remove(&node);
        let polls = table.nodes.entry(node).or_default();
        if polls.turn != turn {
            return receiver;
        }
        if polls.ready.is_empty() {
            polls.waiter = Some(sender);
            if is_awaited {
                self.nudge.notify_one();
            }
        } else {
            let _ = sender.send(some_of(&mut polls.ready));
        }
        receiver
    }

    /// Which of these nodes wait here. The others are remembered, and the
    /// dispatcher is told as soon as one of them waits.
    pub fn waiting_among(&self, nodes: Vec<NodeId>) -> Vec<NodeId> {
        let mut table = self.lock();
        let waits = |node: &NodeId| {
            let waiter = table.nodes.get(node).and_then(|it| it.waiter.as_ref());
            waiter.is_some_and(|it| !it.is_closed())
        };
        let (here, backlog): (Vec<NodeId>, Vec<NodeId>) = nodes.into_iter().partition(waits);
        table.backlog = backlog.into_iter().collect();
        here
    }

    /// Gives a node its tasks: to the poll that waits, else to the next one.
    pub fn hand_over(&self, node: NodeId, tasks: Vec<SignedTask>) {
        let mut table = self.lock();
        let polls = table.nodes.entry(node).or_default();
        polls.ready.extend(tasks);
        if let Some(waiter) = polls.waiter.take()
            && let Err(tasks) = waiter.send(some_of(&mut polls.ready))
        {
            tasks.into_iter().rev().for_each(|it| polls.ready.push_front(it));
        }
    }

    pub async fn nudged(&self) {
        self.nudge.notified().await;
    }

    /// How many polls wait now.
    pub fn waiting(&self) -> usize {
        self.lock().nodes.values().filter(|it| it.waiter.is_some()).count()
    }

    pub fn is_empty(&self) -> bool {
        self.lock().nodes.is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PollTable> {
        self.table.lock().expect("no code panics while it holds this lock")
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
    fn a_restarted_agent_and_a_new_connection_are_settled_again() {
        let (polls, node) = (Polls::default(), NodeId::generate());
        assert!(!polls.begin(node, (1, 1), counts(0), NEWS).is_settled);
        polls.settle(node, RegionId::generate(), None, vec![task("a")]);
        assert!(polls.begin(node, (1, 1), counts(2), NEWS).is_settled);
        assert!(!polls.begin(node, (2, 1), counts(2), NEWS).is_settled, "another connection");
        polls.settle(node, RegionId::generate(), None, vec![]);
        let restarted = polls.begin(node, (2, 2), counts(1), NEWS);
        assert!(!restarted.is_settled, "another agent");
        assert_eq!(restarted.refused, counts(1), "which counts from nought");
    }

    #[test]
    fn refused_tasks_of_an_agent_are_counted_once() {
        let (polls, node) = (Polls::default(), NodeId::generate());
        assert_eq!(polls.begin(node, (1, 1), counts(2), NEWS).refused, counts(2));
        assert_eq!(polls.begin(node, (1, 1), counts(5), NEWS).refused, counts(3));
        assert_eq!(polls.begin(node, (1, 1), counts(5), NEWS).refused, counts(0));
    }

    #[tokio::test]
    async fn tasks_reach_the_newest_poll_and_none_is_lost() {
        let (polls, node) = (Polls::default(), NodeId::generate());
        let first = polls.begin(node, (1, 1), counts(0), NEWS);
        let old = polls.wait(node, first.turn);
        let second = polls.begin(node, (1, 1), counts(0), NEWS);
        assert!(old.await.is_err(), "a newer poll came");
        let new = polls.wait(node, second.turn);
        assert_eq!(polls.waiting_among(vec![node]), [node]);
        drop(new);
        assert!(polls.waiting_among(vec![node]).is_empty(), "its connection broke");
        polls.hand_over(node, vec![task("a"), task("b")]);
        let third = polls.begin(node, (1, 1), counts(0), NEWS);
        assert_eq!(polls.wait(node, third.turn).await.unwrap(), [task("a"), task("b")]);
    }

    #[tokio::test]
    async fn a_node_that_had_tasks_nudges_the_dispatcher_when_it_waits() {
        let (polls, node) = (Polls::default(), NodeId::generate());
        let start = polls.begin(node, (1, 1), counts(0), NEWS);
        assert!(polls.waiting_among(vec![node]).is_empty());
        let _waits = polls.wait(node, start.turn);
        polls.nudged().await;
    }
}
