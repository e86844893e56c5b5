//! Drives machines: looks at MAAS, asks for at most one thing, looks at the
//! answer, and writes the next intent.

use std::{sync::Arc, time::Duration};

use contract::{
    Timestamp,
    enrollment_tokens::EnrollmentTokenStatus,
    id::NodeId,
    machines::{MachineDesired, MachinePowerAction, MachineState},
    providers::ProviderState,
};
use kernel::{
    Tx, clock,
    lifecycle::{Lifecycle, TransitionError, transition},
    secrets::{Keyring, Secret, SecretsError},
    work::{self, Next, Reconciler},
};
use uuid::Uuid;

use super::{
    decide::{self, Call, Facts, NodeNeed, ProviderView, Verdict},
    lifecycle::{Event, MachineLifecycle},
    power::{self, Powered},
    store::{self, StoredMachine},
    user_data::{self, FirstStart},
};
use crate::nodes::{LossCause, LossError};
use crate::{
    ca::Ca,
    enrollment_tokens,
    nodes::{self, Leaving, Occupancy},
    providers::{self, Supply},
};
use platform::{
    policies::{Policies, settings},
    ports::metal::{
        Install, MachineRequirements, MetalConnector, MetalError, MetalFilter, MetalMachine, MetalProvider,
        MetalStatus, Power,
    },
};

pub struct MachineReconciler {
    pub connector: Arc<dyn MetalConnector>,
    pub keyring: Arc<Keyring>,
    pub policies: Policies,
    pub ca: Ca,
    /// The address that agents are given.
    pub node_url: String,
}

pub struct Snapshot {
    held: StoredMachine,
    supply: Supply,
    token: Option<Secret>,
    /// The node that the token of its install made.
    enrolled: Option<NodeId>,
    node: NodeNeed,
    occupancy: Option<Occupancy>,
    now: Timestamp,
}

pub struct Observation {
    look: ProviderView,
    called: Option<Call>,
    /// Why MAAS refused the call.
    refused: Option<String>,
    /// What came of an operator's wish about its power.
    powered: Option<Powered>,
}

impl Observation {
    fn look(look: ProviderView) -> Self {
        Observation { look, called: None, refused: None, powered: None }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error(transparent)]
    Metal(#[from] MetalError),
    #[error(
        "a sealed secret of the machine or its provider cannot be decrypted: configure the key that sealed it (`secrets.keys`)"
    )]
    Sealed(#[from] SecretsError),
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error("the allocations on the node could not be ended")]
    Loss(#[from] LossError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

impl Reconciler for MachineReconciler {
    const KIND: &'static str = MachineLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::MACHINES;
    type Snapshot = Snapshot;
    type Observation = Observation;
    type Verdict = (Verdict, Observation);
    type Error = MachineError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, MachineError> {
        let Some(held) = store::get(tx, id.into()).await? else { return Ok(None) };
        let Some(supply) = providers::supply(tx, held.machine.provider_id.uuid()).await? else { return Ok(None) };
        let enrolled = match held.token_id {
            Some(token) => enrollment_tokens::made(tx, token).await?,
            None => None,
        };
        let (node, occupancy) = match held.machine.node_id {
            Some(node) => (node_need(nodes::leaving(tx, node).await?, held.desired), nodes::occupancy(tx, node).await?),
            None => (NodeNeed::Nothing, None),
        };
        let token = held.open_token(&self.keyring)?;
        Ok(Some(Snapshot { token, enrolled, node, occupancy, now: clock::now(tx).await?, supply, held }))
    }

    async fn act(&self, seen: &Snapshot) -> Result<Observation, MachineError> {
        let facts = self.facts(seen);
        let mut found = match decide::must_look(&facts) {
            false => Observation::look(ProviderView::Unknown),
            true => match self.look_and_call(seen, &facts).await {
                Ok(found) => found,
                // What serves goes on serving while MAAS is away; the provider shows the error.
                Err(_) if facts.state == MachineState::InService => Observation::look(ProviderView::Unknown),
                Err(error) => return Err(error),
            },
        };
        found.powered = self.power(seen).await?;
        Ok(found)
    }

    fn decide(&self, seen: &Snapshot, found: Observation) -> (Verdict, Observation) {
        let facts = self.facts(seen);
        (decide::decide(&facts, &found.look, found.called, found.refused.as_deref()), found)
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, (verdict, found): Self::Verdict) -> Result<Next, MachineError> {
        let id = seen.held.machine.id;
        if let Some(said) = said(&found.look) {
            store::observe(tx, id, &said, power_in(&found.look)).await?;
        }
        if let (Some(wish), Some(powered)) = (seen.held.wish, &found.powered) {
            store::powered(tx, id, wish, powered).await?;
        }
        if seen.held.state == MachineState::Releasing {
            let has_asked = matches!(found.called, Some(Call::Release | Call::Allocate));
            let erasing = decide::erasing_seen(&self.facts(&seen), &found.look);
            store::note_release(tx, id, has_asked, erasing).await?;
        }
        match verdict {
            Verdict::Nothing => Ok(Next::Done),
            Verdict::Wait => Ok(Next::After(self.seconds(settings::MACHINE_POLL_SECONDS))),
            Verdict::Rest => Ok(Next::After(self.seconds(settings::MACHINE_LOOK_SECONDS))),
            Verdict::EmptyNode => {
                if let Some(node) = seen.held.machine.node_id {
                    nodes::place_nothing_new(tx, node, "the retirement of its machine was requested").await?;
                }
                Ok(Next::After(self.seconds(settings::MACHINE_LOOK_SECONDS)))
            }
            Verdict::Freed => self.freed(tx, &seen).await,
            Verdict::Move(event, why) => self.moved(tx, &seen, event, &why).await,
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::driven(tx, limit).await
    }
}

impl MachineReconciler {
    fn seconds(&self, key: settings::NumberKey) -> Duration {
        settings::seconds(self.policies.number(key))
    }

    fn facts(&self, seen: &Snapshot) -> Facts {
        let minutes = |key| settings::minutes(self.policies.number(key));
        let patience = match seen.held.state {
            MachineState::Deploying => Some(minutes(settings::MACHINE_DEPLOY_MINUTES)),
            MachineState::Enrolling => Some(minutes(settings::MACHINE_ENROLL_MINUTES)),
            MachineState::Releasing => Some(minutes(settings::MACHINE_ERASE_MINUTES)),
            MachineState::Discovered
            | MachineState::Acquiring
            | MachineState::InService
            | MachineState::Erased
            | MachineState::Failed
            | MachineState::Retired => None,
        };
        let waited = Duration::try_from(seen.now.duration_since(seen.held.machine.state_since)).unwrap_or_default();
        Facts {
            state: seen.held.state,
            desired: seen.held.desired,
            attempts: seen.held.machine.attempts,
            release_attempts: seen.held.release_attempts,
            most_attempts: i32::try_from(self.policies.number(settings::MACHINE_ATTEMPTS)).unwrap_or(i32::MAX),
            is_dirty: seen.held.is_dirty,
            erasing_seen: seen.held.erasing_seen,
            is_compensating: seen.held.machine.reason.is_some(),
            is_late: patience.is_some_and(|it| waited >= it),
            is_enrolled: seen.enrolled.is_some(),
            node: seen.node,
        }
    }

    /// Looks, does the one thing that the look asks for, and shows what became of it.
    async fn look_and_call(&self, seen: &Snapshot, facts: &Facts) -> Result<Observation, MachineError> {
        let metal = self.connector.connect(&seen.supply.access(&self.keyring)?)?;
        let look = look(&*metal, seen).await?;
        let Some(call) = decide::call(facts, &look) else { return Ok(Observation::look(look)) };
        let called = |look, refused| Ok(Observation { look, called: Some(call), refused, powered: None });
        match self.ask(&*metal, seen, call).await {
            Ok(Some(machine)) => called(ProviderView::Ours(machine), None),
            Ok(None) => called(look, None),
            Err(error @ (MetalError::Conflict { .. } | MetalError::BadRequest { .. } | MetalError::NotFound)) => {
                called(look, Some(error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Does what an operator wants of the power, if it still may be.
    async fn power(&self, seen: &Snapshot) -> Result<Option<Powered>, MachineError> {
        let Some(wish) = seen.held.wish else { return Ok(None) };
        let over = |error: &str| Powered { power: None, error: Some(error.to_owned()), is_over: true };
        if let Some(why) = power::refusal(seen.held.state, wish, seen.occupancy) {
            return Ok(Some(over(&why)));
        }
        let again = |error: MetalError| Powered { power: None, error: Some(error.to_string()), is_over: false };
        let metal = match self.connector.connect(&seen.supply.access(&self.keyring)?) {
            Ok(metal) => metal,
            Err(error) => return Ok(Some(again(error))),
        };
        // What we do not hold is only looked at.
        if wish.action != MachinePowerAction::Query {
            match look(&*metal, seen).await {
                Ok(ProviderView::Ours(_)) => (),
                Ok(_) => {
                    return Ok(Some(over(
                        "the machine is not allocated to this platform in MAAS; its power was not changed",
                    )));
                }
                Err(error) => return Ok(Some(again(error))),
            }
        }
        Ok(Some(power::carry_out(&*metal, &seen.held.machine.system_id, wish.action).await))
    }

    async fn ask(
        &self,
        metal: &dyn MetalProvider,
        seen: &Snapshot,
        call: Call,
    ) -> Result<Option<MetalMachine>, MetalError> {
        let system_id = seen.held.machine.system_id.as_str();
        let holder = seen.supply.holder();
        match call {
            Call::Allocate => {
                let wish = MachineRequirements {
                    system_id: Some(system_id.to_owned()),
                    holder,
                    ..MachineRequirements::default()
                };
                let taken = metal.allocate(&wish).await?;
                Ok((taken.system_id == system_id).then_some(taken))
            }
            Call::Install => {
                let Some(token) = &seen.token else {
                    return Err(MetalError::BadRequest { detail: "its agent has no enrollment token".into() });
                };
                let authority = self.ca.authority();
                let user_data = user_data::script(&FirstStart {
                    node_url: &self.node_url,
                    ca_fingerprint: authority.root_fingerprint(),
                    token,
                    agent: seen.supply.provider.agent.as_ref(),
                });
                let install = Install { series: seen.supply.provider.series.to_string(), user_data, holder };
                metal.install(system_id, &install).await.map(Some)
            }
            Call::Release => {
                let comment = format!("released by the control plane as {}", seen.held.machine.id);
                metal.release(system_id, seen.supply.erase(), &comment).await.map(Some)
            }
            Call::PowerOn => metal.power_on(system_id).await.map(|()| None),
        }
    }

    async fn moved(&self, tx: &mut Tx, seen: &Snapshot, event: Event, why: &str) -> Result<Next, MachineError> {
        let (id, node) = (seen.held.machine.id, seen.held.machine.node_id);
        if self.enrolled_meanwhile(tx, seen, event, why).await? {
            return Ok(Next::After(Duration::ZERO));
        }
        match event {
            Event::Acquired => self.prepare_deployment(tx, seen).await?,
            Event::Enrolled => {
                let node = seen.enrolled.expect("decided by it");
                store::serve_as(tx, id, node).await?;
                nodes::reimaged(tx, node, "erased and reinstalled by MAAS").await?;
            }
            Event::DeployFailed | Event::EnrollTimedOut => {
                store::begin_release(tx, id, Some(why), true).await?;
            }
            Event::StrayFound => store::begin_release(tx, id, None, true).await?,
            Event::ReleaseRequested => {
                store::begin_release(tx, id, None, false).await?;
                if seen.node == NodeNeed::Leave {
                    store::desire(tx, id, MachineDesired::Retire).await?;
                }
                if let Some(node) = node {
                    // What was on it must not speak for it any more.
                    nodes::revoke_certificates(tx, node).await?;
                    if seen.node == NodeNeed::Leave {
                        nodes::leave(tx, node, "its machine is being retired").await?;
                    }
                }
            }
            Event::Lost | Event::ReleaseFailed => self.give_up(tx, seen, why).await?,
            Event::AcquireLost => store::forgive(tx, id).await?,
            Event::AcquireRequested
            | Event::Deployed
            | Event::Erased
            | Event::Compensated
            | Event::RetryRequested
            | Event::Retired => (),
        }
        transition::<MachineLifecycle>(tx, seen.held.versioned(), event, why).await?;
        Ok(Next::Done)
    }

    /// Ends the token of a hand-over that is broken off. A host that showed it
    /// a moment ago is looked at again if it may still come into service;
    /// otherwise its node fails with the machine. Whether to look again.
    async fn enrolled_meanwhile(
        &self,
        tx: &mut Tx,
        seen: &Snapshot,
        event: Event,
        why: &str,
    ) -> Result<bool, MachineError> {
        let is_broken_off = match event {
            Event::DeployFailed | Event::EnrollTimedOut | Event::ReleaseRequested | Event::Lost => true,
            Event::AcquireRequested
            | Event::Acquired
            | Event::AcquireLost
            | Event::Deployed
            | Event::Enrolled
            | Event::StrayFound
            | Event::Erased
            | Event::Compensated
            | Event::ReleaseFailed
            | Event::RetryRequested
            | Event::Retired => false,
        };
        let is_on_its_way = matches!(seen.held.state, MachineState::Deploying | MachineState::Enrolling);
        let Some(token) = seen.held.token_id.filter(|_| is_broken_off && is_on_its_way) else { return Ok(false) };
        if enrollment_tokens::revoke_unused(tx, token).await? != Some(EnrollmentTokenStatus::Used) {
            return Ok(false);
        }
        if event == Event::EnrollTimedOut {
            return Ok(true);
        }
        enrollment_tokens::revoke(tx, token).await?;
        if let Some(node) = enrollment_tokens::made(tx, token).await? {
            store::set_node(tx, seen.held.machine.id, node).await?;
            nodes::revoke_certificates(tx, node).await?;
            nodes::fail(tx, node, &LossCause::MachineReturned { detail: why.to_owned() }).await?;
        }
        Ok(false)
    }

    /// The intent to install: the token is there before MAAS is asked.
    async fn prepare_deployment(&self, tx: &mut Tx, seen: &Snapshot) -> Result<(), MachineError> {
        let minutes = |key| self.policies.number(key);
        let lifetime =
            settings::minutes(minutes(settings::MACHINE_DEPLOY_MINUTES) + minutes(settings::MACHINE_ENROLL_MINUTES));
        let expires_at = clock::now(tx).await? + lifetime;
        let minted = enrollment_tokens::mint(tx, seen.held.machine.pool_id, expires_at).await?;
        let (token, secret) = minted.ok_or(sqlx::Error::RowNotFound)?;
        let (token, secret) = (token.id, Secret::from(secret));
        store::set_token(tx, &self.keyring, seen.held.machine.id, (token, &secret)).await?;
        Ok(())
    }

    /// Free and erased: what comes next depends on what is wanted of it.
    async fn freed(&self, tx: &mut Tx, seen: &Snapshot) -> Result<Next, MachineError> {
        let facts = self.facts(seen);
        let id = seen.held.machine.id;
        store::clean(tx, id).await?;
        let is_wanted = facts.desired == MachineDesired::Serve && seen.supply.state == ProviderState::Active;
        if is_wanted && facts.is_compensating && facts.attempts >= facts.most_attempts {
            let why = seen.held.machine.reason.clone().unwrap_or_default();
            self.fail_node(tx, seen, &why).await?;
            tracing::error!(machine = %id, why, "a machine could not be handed over; see docs/runbooks/maas-machine-failed.md");
            transition::<MachineLifecycle>(tx, seen.held.versioned(), Event::Compensated, &why).await?;
            return Ok(Next::Done);
        }
        let erased = transition::<MachineLifecycle>(tx, seen.held.versioned(), Event::Erased, "").await?;
        // One that counts already keeps its place; for others the provider looks for room.
        if is_wanted && (seen.held.machine.node_id.is_some() || facts.attempts > 0) {
            store::begin(tx, id).await?;
            transition::<MachineLifecycle>(tx, erased, Event::AcquireRequested, "").await?;
        } else if is_wanted {
            work::wake(tx, providers::lifecycle::ProviderLifecycle::NAME, seen.supply.provider.id.uuid());
        } else if facts.desired == MachineDesired::Retire {
            transition::<MachineLifecycle>(tx, erased, Event::Retired, "").await?;
        }
        Ok(Next::Done)
    }

    async fn give_up(&self, tx: &mut Tx, seen: &Snapshot, why: &str) -> Result<(), MachineError> {
        store::set_reason(tx, seen.held.machine.id, why).await?;
        tracing::error!(machine = %seen.held.machine.id, why, "a machine failed; see docs/runbooks/maas-machine-failed.md");
        self.fail_node(tx, seen, why).await
    }

    async fn fail_node(&self, tx: &mut Tx, seen: &Snapshot, why: &str) -> Result<(), MachineError> {
        if let Some(node) = seen.held.machine.node_id {
            nodes::revoke_certificates(tx, node).await?;
            nodes::fail(tx, node, &LossCause::MachineFailed { detail: why.to_owned() }).await?;
        }
        Ok(())
    }
}

async fn look(metal: &dyn MetalProvider, seen: &Snapshot) -> Result<ProviderView, MetalError> {
    let system_id = seen.held.machine.system_id.as_str();
    let Some(machine) = metal.get(system_id).await? else { return Ok(ProviderView::Gone) };
    if machine.status == MetalStatus::Ready {
        return Ok(ProviderView::Free);
    }
    let mine = MetalFilter {
        system_id: Some(system_id.to_owned()),
        holder: Some(seen.supply.holder()),
        ..MetalFilter::default()
    };
    let is_mine = metal.list(&mine).await?.iter().any(|it| it.system_id == system_id);
    Ok(if is_mine { ProviderView::Ours(machine) } else { ProviderView::Foreign(machine) })
}

fn said(look: &ProviderView) -> Option<String> {
    match look {
        ProviderView::Unknown => None,
        ProviderView::Gone => Some("unknown".into()),
        ProviderView::Free => Some("Ready".into()),
        ProviderView::Ours(it) | ProviderView::Foreign(it) => Some(it.status_text.clone()),
    }
}

fn power_in(look: &ProviderView) -> Option<Power> {
    match look {
        ProviderView::Unknown | ProviderView::Gone | ProviderView::Free => None,
        ProviderView::Ours(it) | ProviderView::Foreign(it) => Some(it.power),
    }
}

fn node_need(leaving: Leaving, desired: MachineDesired) -> NodeNeed {
    match (leaving, desired) {
        (Leaving::Retired, _) | (Leaving::Empty, MachineDesired::Retire) => NodeNeed::Leave,
        (Leaving::Sanitizing, MachineDesired::Retire) => NodeNeed::Leave,
        (Leaving::Sanitizing, MachineDesired::Serve) => NodeNeed::Reimage,
        (Leaving::Held, MachineDesired::Retire) => NodeNeed::Empty,
        (Leaving::Held | Leaving::Empty, MachineDesired::Serve) => NodeNeed::Nothing,
    }
}
