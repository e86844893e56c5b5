//! What hosts are asked to do for an allocation in each state.

use contract::{allocations::AllocationState, id::NodeId, skus::Shape};
use protocol::{GpuRef, Isolation, Login, Verb};

use super::visits::Visit;

/// The verb that a node has to fulfil while the allocation is in its state;
/// none where nothing is asked of hosts.
pub fn verb(visit: &Visit, node: NodeId) -> Option<Verb> {
    let gpus = || -> Vec<GpuRef> {
        visit.held_on(node).map(|it| GpuRef { uuid: it.gpu_uuid.clone(), pci: it.pci.clone() }).collect()
    };
    let user = || visit.login.clone();
    match visit.state {
        AllocationState::Provisioning | AllocationState::Starting => Some(Verb::EnsureAllocation {
            shape: shape(visit.shape),
            gpus: gpus(),
            login: Login { user: user(), keys: visit.ssh_keys.clone() },
            self_test: true,
        }),
        AllocationState::Active => Some(Verb::EnsureKeys { user: user(), keys: visit.ssh_keys.clone() }),
        AllocationState::Stopping => Some(Verb::EnsureStopped { user: user(), gpus: gpus() }),
        AllocationState::Releasing => {
            let isolation = visit.held_on(node).next().map(|it| it.isolation)?;
            Some(Verb::EnsureGone { user: user(), gpus: gpus(), isolation: how(isolation) })
        }
        AllocationState::Requested
        | AllocationState::Stopped
        | AllocationState::Released
        | AllocationState::Failed
        | AllocationState::ReleaseFailed => None,
    }
}

/// The name of the verb that [`verb`] gives in a state.
pub fn verb_name(state: AllocationState) -> Option<&'static str> {
    match state {
        AllocationState::Provisioning | AllocationState::Starting => Some("ensure_allocation"),
        AllocationState::Active => Some("ensure_keys"),
        AllocationState::Stopping => Some("ensure_stopped"),
        AllocationState::Releasing => Some("ensure_gone"),
        AllocationState::Requested
        | AllocationState::Stopped
        | AllocationState::Released
        | AllocationState::Failed
        | AllocationState::ReleaseFailed => None,
    }
}

fn shape(shape: Shape) -> protocol::Shape {
    match shape {
        Shape::Baremetal => protocol::Shape::Baremetal,
        Shape::GpuSlice => protocol::Shape::GpuSlice,
        Shape::MigSlice => protocol::Shape::MigSlice,
        Shape::Container => protocol::Shape::Container,
    }
}

fn how(isolation: contract::pools::Isolation) -> Isolation {
    match isolation {
        contract::pools::Isolation::UserRevoke => Isolation::UserRevoke,
        contract::pools::Isolation::FullReimage => Isolation::FullReimage,
    }
}
