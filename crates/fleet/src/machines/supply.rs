//! What follows from a provider's list: machines become known, are wanted, and
//! those that MAAS holds for us without our knowing are given back.

use std::collections::{BTreeMap, HashSet};

use contract::{
    id::ProviderId,
    machines::{MachineDesired, MachineDiscovered, MachineState},
};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, TransitionError, transition},
    work,
};

use super::{
    lifecycle::{Event, MachineLifecycle},
    store::{self, New, StoredMachine},
};
use crate::providers::Supply;
use platform::{
    events::emit,
    ports::metal::{MetalMachine, MetalStatus},
};

/// What a provider said it has.
pub struct Listed {
    /// Those that fit what the provider is used for.
    pub fitting: Vec<MetalMachine>,
    /// Those that MAAS holds under the provider's name.
    pub held: Vec<MetalMachine>,
}

/// Makes machines known, and has those released that are held but should not be.
pub async fn take_in(tx: &mut Tx, supply: &Supply, listed: &Listed) -> Result<(), TransitionError> {
    let known: BTreeMap<String, StoredMachine> = by_system_id(tx, supply.provider.id).await?;
    let fresh = listed.fitting.iter().filter(|it| it.status == MetalStatus::Ready).chain(&listed.held);
    for machine in fresh.filter(|it| !known.contains_key(&it.system_id)) {
        let new = New {
            provider: supply.provider.id,
            pool: supply.provider.pool_id,
            system_id: &machine.system_id,
            hostname: &machine.hostname,
            observed: &machine.status_text,
        };
        if let Some(added) = store::insert(tx, &new).await? {
            let (id, provider_id) = (added.machine.id, supply.provider.id);
            emit(tx, None, id, &MachineDiscovered { id, provider_id, system_id: machine.system_id.clone() });
        }
    }
    let known = by_system_id(tx, supply.provider.id).await?;
    for machine in &listed.held {
        let Some(stray) = known.get(&machine.system_id).filter(|it| should_be_free(it.state)) else { continue };
        // Already on its way back.
        if matches!(machine.status, MetalStatus::Ready | MetalStatus::Releasing) {
            continue;
        }
        let why = format!("it is allocated to this platform in MAAS, with status {}", machine.status_text);
        store::begin_release(tx, stray.machine.id, None, true).await?;
        transition::<MachineLifecycle>(tx, stray.versioned(), Event::StrayFound, &why).await?;
    }
    Ok(())
}

fn should_be_free(state: MachineState) -> bool {
    match state {
        MachineState::Discovered | MachineState::Erased | MachineState::Retired => true,
        MachineState::Acquiring
        | MachineState::Deploying
        | MachineState::Enrolling
        | MachineState::InService
        | MachineState::Releasing
        | MachineState::Failed => false,
    }
}

/// Wants machines that are free, up to the provider's limit.
pub async fn want(tx: &mut Tx, supply: &Supply, listed: &Listed) -> Result<(), TransitionError> {
    let all = store::lock_all(tx, supply.provider.id).await?;
    let counted = all.iter().filter(|it| !should_be_free(it.state)).count();
    let room = usize::try_from(supply.provider.max_machines).unwrap_or(usize::MAX).saturating_sub(counted);
    let ready = listed.fitting.iter().filter(|it| it.status == MetalStatus::Ready);
    let ready: HashSet<&str> = ready.map(|it| it.system_id.as_str()).collect();
    let wanted = all.iter().filter(|it| {
        matches!(it.state, MachineState::Discovered | MachineState::Erased)
            && it.desired == MachineDesired::Serve
            && ready.contains(it.machine.system_id.as_str())
    });
    for machine in wanted.take(room) {
        store::begin(tx, machine.machine.id).await?;
        transition::<MachineLifecycle>(tx, machine.versioned(), Event::AcquireRequested, "").await?;
    }
    Ok(())
}

/// Asks for every machine of a provider to retire; whether all of them have.
pub async fn retire_all(tx: &mut Tx, provider: ProviderId) -> sqlx::Result<bool> {
    let mut is_done = true;
    for held in store::lock_all(tx, provider).await? {
        if held.state == MachineState::Retired {
            continue;
        }
        is_done = false;
        if held.desired != MachineDesired::Retire {
            store::desire(tx, held.machine.id, MachineDesired::Retire).await?;
            work::wake(tx, MachineLifecycle::NAME, held.machine.id.uuid());
        }
    }
    Ok(is_done)
}

async fn by_system_id(tx: &mut Tx, provider: ProviderId) -> sqlx::Result<BTreeMap<String, StoredMachine>> {
    let all = store::lock_all(tx, provider).await?;
    Ok(all.into_iter().map(|it| (it.machine.system_id.clone(), it)).collect())
}
