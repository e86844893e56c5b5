//! What hosts are asked to do for an allocation in each state.

use contract::{allocations::AllocationState, id::NodeId, skus::SkuLimits};
use protocol::{GpuRef, Isolation, Login, LoginSpec, Verb, WantedLimits, WorkloadRef, WorkloadSpec};

use super::visits::Visit;

/// Whether hosts are sent keys in a state.
pub fn sends_keys(state: AllocationState) -> bool {
    match state {
        AllocationState::Provisioning | AllocationState::Starting | AllocationState::Active => true,
        AllocationState::Requested
        | AllocationState::Stopping
        | AllocationState::Stopped
        | AllocationState::Releasing
        | AllocationState::Released
        | AllocationState::Failed
        | AllocationState::ReleaseFailed => false,
    }
}

/// The verb that a node has to fulfill while the allocation is in its state, with
/// the keys that it lets in; none where nothing is asked of hosts.
pub fn verb(visit: &Visit, node: NodeId, keys: &[String]) -> Option<Verb> {
    let gpus = || -> Vec<GpuRef> {
        visit.held_on(node).map(|it| GpuRef { uuid: it.gpu_uuid.clone(), pci: it.pci.clone() }).collect()
    };
    let workload = || WorkloadRef::login(visit.shape, &visit.login);
    match visit.state {
        AllocationState::Provisioning | AllocationState::Starting => {
            let spec = LoginSpec {
                shape: visit.shape,
                limits: limits(visit.limits, gpus().len()),
                gpus: gpus(),
                login: Login { user: visit.login.clone(), keys: keys.to_vec() },
                self_test: true,
            };
            Some(Verb::EnsureAllocation { workload: WorkloadSpec::Login(spec) })
        }
        AllocationState::Active => Some(Verb::EnsureKeys { workload: workload(), keys: keys.to_vec() }),
        AllocationState::Stopping => Some(Verb::EnsureStopped { workload: workload(), gpus: gpus() }),
        AllocationState::Releasing => {
            let isolation = visit.held_on(node).next().map(|it| it.isolation)?;
            Some(Verb::EnsureGone { workload: workload(), gpus: gpus(), isolation: how(isolation) })
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

/// What the SKU says for that many GPUs; the host knows the rest.
fn limits(of: SkuLimits, gpus: usize) -> Option<WantedLimits> {
    if of == SkuLimits::default() {
        return None;
    }
    let gpus = gpus.max(1) as u64;
    // Bounds of the contract times a host's GPUs fit; what does not would be more than any host has.
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Some(WantedLimits {
        cpu_millis: of.cpus_per_gpu.map(|it| narrow(it.get() * 1000 * gpus)),
        memory_bytes: of.memory_gib_per_gpu.map(|it| (it.get() << 30) * gpus),
        tasks: of.tasks_per_gpu.map(|it| narrow(it.get() * gpus)),
        open_files: of.open_files.map(|it| narrow(it.get())),
    })
}

fn how(isolation: contract::pools::Isolation) -> Isolation {
    match isolation {
        contract::pools::Isolation::UserRevoke => Isolation::UserRevoke,
        contract::pools::Isolation::FullReimage => Isolation::FullReimage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_sku_grow_with_the_gpus() {
        let said = r#"{ "cpus_per_gpu": 8, "memory_gib_per_gpu": 96, "open_files": 4096 }"#;
        let limits = limits(serde_json::from_str(said).unwrap(), 4).unwrap();
        assert_eq!((limits.cpu_millis, limits.memory_bytes), (Some(32_000), Some(384 << 30)));
        assert_eq!((limits.tasks, limits.open_files), (None, Some(4096)), "what is not said is the host's to say");
        assert_eq!(super::limits(SkuLimits::default(), 4), None);
    }
}
