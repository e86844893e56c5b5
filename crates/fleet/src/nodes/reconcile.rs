//! Empties nodes that are drained, and sees to it that nodes are wiped before
//! they serve another organization.

use std::time::Duration;

use contract::{Timestamp, id::MachineId, nodes::NodeState};
use kernel::{
    Tx, clock,
    lifecycle::{Lifecycle, transition},
    work::{self, Next, Reconciler},
};
use protocol::{Outcome, Verb};
use uuid::Uuid;

use super::occupants::{LossError, Occupants};
use super::{
    changes, health,
    lifecycle::{Event, NodeLifecycle},
    loss::LossCause,
    store::{self, NodeFacts, slots},
};
use crate::{
    machines,
    tasks::{self, Evidence, Order, OrderStatus, TaskSigner},
};
use platform::policies::{Policies, settings};

pub struct NodeReconciler {
    pub signer: TaskSigner,
    pub policies: Policies,
}

pub struct Snapshot {
    known: NodeFacts,
    held: i64,
    /// The machine of a provider that it runs on: it is installed anew.
    machine: Option<MachineId>,
    /// The newest order to wipe itself that the node got since it must be wiped.
    wiping: Option<OrderStatus>,
    now: Timestamp,
}

#[derive(Debug, PartialEq)]
pub enum Verdict {
    Nothing,
    Wait(Duration),
    Drained,
    ReleaseRest,
    OrderWipe {
        version: i64,
    },
    Sanitized,
    /// Its provider erases it and installs it anew.
    Reimage(MachineId),
    /// Nobody wipes it but a person: what was on it must not speak for it.
    AwaitPerson,
    Fail(String),
}

// bound: how often a drained node is looked at while its last work ends; releases wake it too
const LOOK_AGAIN: Duration = Duration::from_secs(5);

impl Reconciler for NodeReconciler {
    const KIND: &'static str = NodeLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::DATABASE;
    type Snapshot = Snapshot;
    type Observation = ();
    type Verdict = Verdict;
    type Error = LossError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, LossError> {
        let Some(known) = store::known(tx, id.into()).await? else { return Ok(None) };
        let orders = tasks::latest(tx, NodeLifecycle::NAME, &[id]).await?.remove(&id).unwrap_or_default();
        let wiping = orders.into_iter().find(|it| it.version >= known.version);
        let held = slots::held(tx, known.id).await?;
        let machine = machines::serving(tx, known.id).await?;
        Ok(Some(Snapshot { held, machine, wiping, now: clock::now(tx).await?, known }))
    }

    async fn act(&self, _: &Snapshot) -> Result<(), LossError> {
        Ok(())
    }

    fn decide(&self, seen: &Snapshot, (): ()) -> Verdict {
        let attempts = i64::try_from(self.policies.number(settings::NODE_SANITIZE_ATTEMPTS)).unwrap_or(i64::MAX);
        match seen.known.state {
            NodeState::Draining => drain(seen),
            NodeState::Sanitizing => sanitize(seen, attempts),
            NodeState::Enrolling
            | NodeState::Ready
            | NodeState::Cordoned
            | NodeState::Maintenance
            | NodeState::Failed
            | NodeState::Retired => Verdict::Nothing,
        }
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, verdict: Verdict) -> Result<Next, LossError> {
        let known = &seen.known;
        match verdict {
            Verdict::Nothing => Ok(Next::Done),
            Verdict::Wait(left) => Ok(Next::After(left)),
            Verdict::Drained => {
                store::set_deadline(tx, known.id, None).await?;
                transition::<NodeLifecycle>(tx, known.versioned(), Event::Drained, "").await?;
                Ok(Next::Done)
            }
            Verdict::ReleaseRest => {
                tx.hook::<dyn Occupants>().release_on_node(tx, known.id).await?;
                Ok(Next::After(LOOK_AGAIN))
            }
            Verdict::OrderWipe { version } => {
                let lifetime = settings::minutes(self.policies.number(settings::NODE_SANITIZE_MINUTES));
                let order = Order {
                    node: known.id,
                    kind: NodeLifecycle::NAME,
                    subject: known.id.uuid(),
                    resource: known.id.to_string(),
                    version,
                    verb: Verb::EnsureSanitized {},
                    lifetime,
                };
                tasks::order(tx, &self.signer, seen.now, order).await.map_err(sqlx::Error::from)?;
                // The report wakes it earlier.
                Ok(Next::After(lifetime))
            }
            Verdict::Sanitized => {
                changes::sanitized(tx, known, "the host was sanitized").await?;
                Ok(Next::Done)
            }
            Verdict::Reimage(machine) => {
                work::wake(tx, machines::lifecycle::MachineLifecycle::NAME, machine.uuid());
                Ok(Next::After(LOOK_AGAIN))
            }
            Verdict::AwaitPerson => {
                changes::revoke_certificates(tx, known.id).await?;
                health::shut_out(tx, known.id).await?;
                Ok(Next::Done)
            }
            Verdict::Fail(detail) => {
                health::give_up(tx, known, &LossCause::NotSanitized { detail }).await?;
                Ok(Next::Done)
            }
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::driven(tx, limit).await
    }
}

fn drain(seen: &Snapshot) -> Verdict {
    if seen.held == 0 {
        return Verdict::Drained;
    }
    let left = seen.known.drain_deadline_at.map(|at| at.duration_since(seen.now));
    match left.map(Duration::try_from) {
        Some(Ok(left)) if !left.is_zero() => Verdict::Wait(left.min(LOOK_AGAIN)),
        _ => Verdict::ReleaseRest,
    }
}

fn sanitize(seen: &Snapshot, attempts: i64) -> Verdict {
    let known = &seen.known;
    if seen.held > 0 {
        return Verdict::Wait(LOOK_AGAIN);
    }
    if let Some(machine) = seen.machine {
        return Verdict::Reimage(machine);
    }
    if !known.wipes_itself {
        return Verdict::AwaitPerson;
    }
    // Each order is fenced by a version of its own, counted from the state's.
    let Some(last) = &seen.wiping else { return Verdict::OrderWipe { version: known.version } };
    let used = last.version - known.version + 1;
    let again = |why: String| {
        if used < attempts { Verdict::OrderWipe { version: last.version + 1 } } else { Verdict::Fail(why) }
    };
    match &last.outcome {
        Some(Outcome::Done { result }) => match Evidence::Gone.in_report(result) {
            Ok(()) => Verdict::Sanitized,
            Err(missing) if missing.is_retryable() => again(format!("the host is not sanitized: {missing}")),
            Err(missing) => Verdict::Fail(format!("sanitizing the host failed: {missing}")),
        },
        Some(Outcome::Failed { code, detail, retryable: false, .. }) => {
            Verdict::Fail(format!("sanitizing the host failed: {code}: {detail}"))
        }
        Some(Outcome::Failed { code, detail, .. }) => again(format!("sanitizing the host failed: {code}: {detail}")),
        Some(Outcome::Refused { reason }) => {
            again(format!("the host rejected the task to sanitize itself: {}", reason.name()))
        }
        None if last.is_expired => again("the host was not sanitized in time".into()),
        None => Verdict::Wait(LOOK_AGAIN),
    }
}

#[cfg(test)]
mod tests {
    use contract::{id::NodeId, nodes::NodeHealth};
    use protocol::{Done, Refusal};

    use super::*;

    fn seen(state: NodeState, held: i64) -> Snapshot {
        let known = NodeFacts {
            region: contract::id::RegionId::generate(),
            id: NodeId::generate(),
            state,
            version: 7,
            health: NodeHealth::Ok,
            degraded: None,
            inventory_hash: None,
            drain_deadline_at: Some(Timestamp::from_second(100).unwrap()),
            wipes_itself: true,
            is_simulated: false,
        };
        Snapshot { known, held, machine: None, wiping: None, now: Timestamp::from_second(0).unwrap() }
    }

    fn told(version: i64, outcome: Option<Outcome>) -> Option<OrderStatus> {
        let node = NodeId::generate();
        Some(OrderStatus { id: Uuid::nil(), node, version, is_expired: false, outcome })
    }

    fn wiped(gpu_processes_left: u32, removed: bool) -> Option<Outcome> {
        let result = Done::Evidence {
            stages: Vec::new(),
            processes_killed: 0,
            home_removed: removed,
            user_removed: removed,
            gpu_processes_left,
        };
        Some(Outcome::Done { result })
    }

    #[test]
    fn a_drain_waits_until_its_deadline_and_then_releases() {
        assert_eq!(drain(&seen(NodeState::Draining, 0)), Verdict::Drained);
        assert_eq!(drain(&seen(NodeState::Draining, 2)), Verdict::Wait(LOOK_AGAIN));
        let late = Snapshot { now: Timestamp::from_second(100).unwrap(), ..seen(NodeState::Draining, 2) };
        assert_eq!(drain(&late), Verdict::ReleaseRest);
    }

    #[test]
    fn a_host_wipes_itself_a_bounded_number_of_times() {
        let mut it = seen(NodeState::Sanitizing, 0);
        assert_eq!(sanitize(&it, 2), Verdict::OrderWipe { version: 7 });
        it.wiping = told(7, None);
        assert_eq!(sanitize(&it, 2), Verdict::Wait(LOOK_AGAIN));
        let failed =
            Outcome::Failed { step: "wipe".into(), code: "wipe_script".into(), detail: "1".into(), retryable: true };
        it.wiping = told(7, Some(failed.clone()));
        assert_eq!(sanitize(&it, 2), Verdict::OrderWipe { version: 8 });
        it.wiping = told(8, Some(failed));
        assert!(matches!(sanitize(&it, 2), Verdict::Fail(_)));
        it.wiping = told(8, Some(Outcome::Refused { reason: Refusal::Expired }));
        assert!(matches!(sanitize(&it, 2), Verdict::Fail(_)));
        it.wiping = told(8, wiped(0, true));
        assert_eq!(sanitize(&it, 2), Verdict::Sanitized);
    }

    #[test]
    fn a_host_is_wiped_on_evidence_and_fails_without() {
        let mut it = seen(NodeState::Sanitizing, 0);
        for left in [wiped(1, true), wiped(0, false)] {
            it.wiping = told(7, left.clone());
            assert_eq!(sanitize(&it, 2), Verdict::OrderWipe { version: 8 }, "{left:?}");
            it.wiping = told(8, left);
            assert!(matches!(sanitize(&it, 2), Verdict::Fail(_)));
        }
        it.wiping = told(7, Some(Outcome::Done { result: Done::Keys { count: 0 } }));
        assert!(matches!(sanitize(&it, 2), Verdict::Fail(_)), "another kind of report is no evidence");
    }

    #[test]
    fn a_machine_of_a_provider_is_installed_again_even_if_it_could_wipe_itself() {
        let machine = MachineId::generate();
        let mut it = seen(NodeState::Sanitizing, 0);
        it.machine = Some(machine);
        assert_eq!(sanitize(&it, 2), Verdict::Reimage(machine));
        it.held = 1;
        assert_eq!(sanitize(&it, 2), Verdict::Wait(LOOK_AGAIN));
    }

    #[test]
    fn a_host_that_cannot_wipe_itself_waits_for_a_person_and_an_occupied_one_for_its_tenant() {
        let mut it = seen(NodeState::Sanitizing, 0);
        it.known.wipes_itself = false;
        assert_eq!(sanitize(&it, 2), Verdict::AwaitPerson);
        it.held = 1;
        assert_eq!(sanitize(&it, 2), Verdict::Wait(LOOK_AGAIN));
    }
}
