//! Drives updates: tells a node when it is its turn, and looks at what its host
//! reports.

use std::{sync::Arc, time::Duration};

use contract::{
    Timestamp,
    agents::AgentUpdateState,
    nodes::{NodeHealth, NodeState},
};
use kernel::{
    Tx, clock,
    lifecycle::{Lifecycle, transition},
    work::{self, Next, ReconcileError, Reconciler},
};
use protocol::{Done, Outcome, Verb, agent_binary::AgentBinary};
use uuid::Uuid;

use super::{
    catalog::Agents,
    choice,
    lifecycle::{AgentUpdateLifecycle, Event},
    store::{self, Update},
};
use crate::tasks::{self, Order, OrderStatus, TaskSigner};
use platform::policies::{Policies, settings};

pub struct AgentUpdateReconciler {
    pub agents: Arc<Agents>,
    pub signer: TaskSigner,
    pub policies: Policies,
}

pub struct Snapshot {
    update: Update,
    /// What the host was told, once it was.
    told: Option<OrderStatus>,
    now: Timestamp,
}

/// The binary that the host is to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    target: String,
    sha256: String,
}

#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// Something else brings it back: a free place, or a node that is heard again.
    Nothing,
    Wait(Duration),
    Order(Binary),
    End(Event, String),
}

/// The resource under which hosts fence off older orders.
const RESOURCE: &str = "agent";
// bound: how often a host that was told is looked at; its report wakes earlier
const LOOK_AGAIN: Duration = Duration::from_secs(30);

impl Reconciler for AgentUpdateReconciler {
    const KIND: &'static str = AgentUpdateLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::DATABASE;
    type Snapshot = Snapshot;
    type Observation = Option<Binary>;
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, ReconcileError> {
        let Some(update) = store::get(tx, id).await? else { return Ok(None) };
        let mut told = tasks::latest(tx, AgentUpdateLifecycle::NAME, &[id]).await?;
        let told = told.remove(&id).and_then(|mut it| it.pop());
        Ok(Some(Snapshot { update, told, now: clock::now(tx).await? }))
    }

    async fn act(&self, seen: &Snapshot) -> Result<Option<Binary>, ReconcileError> {
        let Update { wanted, target, state, .. } = &seen.update;
        if *state != AgentUpdateState::Waiting {
            return Ok(None);
        }
        let served = self.agents.list().await;
        let Some(target) = choice::target(&served, wanted, target.as_deref()) else { return Ok(None) };
        let found = self.agents.find(wanted, target).await;
        Ok(found.map(|it| Binary { target: target.to_owned(), sha256: it.sha256 }))
    }

    fn decide(&self, seen: &Snapshot, found: Option<Binary>) -> Verdict {
        let patience = 2 * self.lifetime();
        match seen.update.state {
            AgentUpdateState::Waiting => begin(&seen.update, found),
            AgentUpdateState::Updating => judge(seen, patience),
            AgentUpdateState::Updated
            | AgentUpdateState::RolledBack
            | AgentUpdateState::Failed
            | AgentUpdateState::Stopped => Verdict::Nothing,
        }
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, verdict: Verdict) -> Result<Next, ReconcileError> {
        match verdict {
            Verdict::Nothing => Ok(Next::Done),
            Verdict::Wait(pause) => Ok(Next::After(pause)),
            Verdict::Order(binary) => self.order(tx, &seen, binary).await,
            Verdict::End(event, why) => {
                let update = &seen.update;
                if !why.is_empty() {
                    store::set_reason(tx, update.id, &why).await?;
                }
                if matches!(event, Event::RolledBack | Event::Failed) {
                    tracing::error!(node = %update.node, version = update.wanted, why, "an agent could not be replaced; see docs/guides/enroll-hosts.md");
                }
                transition::<AgentUpdateLifecycle>(tx, update.versioned(), event, &why).await?;
                self.bring_next(tx, update).await?;
                Ok(Next::Done)
            }
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}

impl AgentUpdateReconciler {
    fn lifetime(&self) -> Duration {
        settings::minutes(self.policies.number(settings::NODE_UPDATE_MINUTES))
    }

    /// Tells the host, if its pool has a place free.
    async fn order(&self, tx: &mut Tx, seen: &Snapshot, binary: Binary) -> Result<Next, ReconcileError> {
        let update = &seen.update;
        // Two at once could pass the limit.
        store::take_turn(tx, update.pool).await?;
        if store::updating_in(tx, update.pool).await? >= self.policies.number(settings::NODE_UPDATE_AT_ONCE) {
            return Ok(Next::Done);
        }
        let Binary { target, sha256 } = binary;
        let named = AgentBinary { version: &update.wanted, target: &target, sha256: &sha256 };
        let signature = self.signer.sign_agent(named);
        let order = Order {
            node: update.node,
            kind: AgentUpdateLifecycle::NAME,
            subject: update.id.uuid(),
            resource: RESOURCE.to_owned(),
            version: update.number,
            verb: Verb::EnsureAgent { version: update.wanted.clone(), target, sha256, signature },
            lifetime: self.lifetime(),
        };
        tasks::order(tx, &self.signer, seen.now, order).await.map_err(sqlx::Error::from)?;
        transition::<AgentUpdateLifecycle>(tx, update.versioned(), Event::Ordered, "").await?;
        Ok(Next::After(LOOK_AGAIN))
    }

    /// A place is free, or what waits must hear that it is over.
    async fn bring_next(&self, tx: &mut Tx, update: &Update) -> sqlx::Result<()> {
        let most = i64::try_from(self.policies.number(settings::NODE_UPDATE_AT_ONCE)).unwrap_or(i64::MAX);
        for id in store::next_in(tx, update.pool, most.max(1)).await? {
            work::wake(tx, AgentUpdateLifecycle::NAME, id);
        }
        Ok(())
    }
}

fn begin(update: &Update, found: Option<Binary>) -> Verdict {
    if update.is_called_off {
        return Verdict::End(Event::Stopped, String::new());
    }
    if update.is_doomed {
        let why = "the update of another node of the pool failed; fix that node and request the update again";
        return Verdict::End(Event::Stopped, why.into());
    }
    if matches!(update.node_state, NodeState::Retired | NodeState::Enrolling) {
        return Verdict::End(Event::Stopped, format!("the node is {}", update.node_state));
    }
    if update.runs.as_deref() == Some(&update.wanted) {
        return Verdict::End(Event::Updated, String::new());
    }
    // What it was told now could be over before it hears it.
    if update.node_health == NodeHealth::Silent {
        return Verdict::Nothing;
    }
    match found {
        Some(binary) => Verdict::Order(binary),
        None => Verdict::End(Event::Failed, "the version is no longer available for its platform".into()),
    }
}

fn judge(seen: &Snapshot, patience: Duration) -> Verdict {
    let failed = |why: String| Verdict::End(Event::Failed, why);
    let waited = Duration::try_from(seen.now.duration_since(seen.update.state_since)).unwrap_or_default();
    match seen.told.as_ref().and_then(|it| it.outcome.as_ref()) {
        Some(Outcome::Done { result: Done::Updated { version } }) if *version == seen.update.wanted => {
            Verdict::End(Event::Updated, String::new())
        }
        Some(Outcome::Done { result }) => failed(format!("the host sent an unexpected report: {result:?}")),
        Some(Outcome::Failed { code, detail, .. }) if code == "rolled_back" => {
            Verdict::End(Event::RolledBack, detail.clone())
        }
        Some(Outcome::Failed { code, detail, .. }) => failed(format!("{code}: {detail}")),
        Some(Outcome::Refused { reason }) => failed(format!("the host rejected the task: {}", reason.name())),
        // It may have begun at the last moment, and then takes its time to prove itself.
        None if waited >= patience => failed("the host did not report in time, see `nodes.update_minutes`".into()),
        None => Verdict::Wait(LOOK_AGAIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::id::{AgentUpdateId, NodeId, PoolId};

    fn update(state: AgentUpdateState) -> Update {
        Update {
            id: AgentUpdateId::generate(),
            number: 3,
            node: NodeId::generate(),
            pool: PoolId::generate(),
            wanted: "0.2.0".into(),
            is_called_off: false,
            state,
            version: 1,
            state_since: Timestamp::from_second(0).unwrap(),
            node_state: NodeState::Ready,
            node_health: NodeHealth::Ok,
            runs: Some("0.1.0".into()),
            target: None,
            is_doomed: false,
        }
    }

    fn binary() -> Binary {
        Binary { target: "x86_64".into(), sha256: "ab".into() }
    }

    fn after(second: i64, outcome: Option<Outcome>) -> Verdict {
        let told = OrderStatus { id: Uuid::nil(), node: NodeId::generate(), version: 3, is_expired: false, outcome };
        let now = Timestamp::from_second(second).unwrap();
        judge(&Snapshot { update: update(AgentUpdateState::Updating), told: Some(told), now }, Duration::from_secs(60))
    }

    #[test]
    fn a_node_is_ordered_to_update_when_nothing_speaks_against_it() {
        let waiting = || update(AgentUpdateState::Waiting);
        assert_eq!(begin(&waiting(), Some(binary())), Verdict::Order(binary()));
        let silent = Update { node_health: NodeHealth::Silent, ..waiting() };
        assert_eq!(begin(&silent, Some(binary())), Verdict::Nothing);
        let there = Update { runs: Some("0.2.0".into()), ..waiting() };
        assert_eq!(begin(&there, None), Verdict::End(Event::Updated, String::new()));
        for stopped in [
            Update { is_doomed: true, ..waiting() },
            Update { is_called_off: true, ..silent },
            Update { node_state: NodeState::Retired, ..waiting() },
        ] {
            assert!(matches!(begin(&stopped, Some(binary())), Verdict::End(Event::Stopped, _)), "{stopped:?}");
        }
        assert!(matches!(begin(&waiting(), None), Verdict::End(Event::Failed, _)), "no longer served");
    }

    #[test]
    fn update_ends_with_the_report_of_its_host_or_with_silence() {
        let done = |version: &str| Some(Outcome::Done { result: Done::Updated { version: version.into() } });
        assert_eq!(after(1, done("0.2.0")), Verdict::End(Event::Updated, String::new()));
        assert!(matches!(after(1, done("0.1.0")), Verdict::End(Event::Failed, _)), "it says another version");
        let failed = |code: &str| {
            let (step, code, detail) = ("prove".into(), code.into(), "no".into());
            Some(Outcome::Failed { step, code, detail, retryable: false })
        };
        assert_eq!(after(1, failed("rolled_back")), Verdict::End(Event::RolledBack, "no".into()));
        assert_eq!(after(1, failed("bad_checksum")), Verdict::End(Event::Failed, "bad_checksum: no".into()));
        assert_eq!(after(59, None), Verdict::Wait(LOOK_AGAIN));
        assert!(matches!(after(60, None), Verdict::End(Event::Failed, _)));
    }
}
