//! Judging what a host says it is made of. Pure: what is known on one side,
//! what is reported on the other.

use std::collections::{BTreeSet, HashMap, HashSet};

use contract::nodes::NodeState;
use protocol::{Gpu, Inventory, limits::MAX_GPUS_PER_NODE};

/// A slot as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSlot {
    pub gpu_uuid: String,
    pub pci: String,
    pub model: String,
    pub memory_bytes: i64,
    pub is_missing: bool,
}

/// Why an inventory cannot be true.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Implausibility {
    #[error("{count} GPUs, which is more than a host can have")]
    TooMany { count: usize },
    #[error("{what} {value} is reported twice")]
    Twice { what: &'static str, value: String },
    #[error("{what} `{value}` is not valid")]
    Impossible { what: &'static str, value: String },
    #[error("GPU {uuid} is new; hardware may only change during maintenance")]
    New { uuid: String },
    #[error("the {what} of GPU {uuid} changed from {from} to {to}; hardware may only change during maintenance")]
    Changed { uuid: String, what: &'static str, from: String, to: String },
    #[error("GPU {uuid} belongs to another node")]
    Elsewhere { uuid: String },
}

/// Whether hardware may differ from what is known: before the first use, and
/// while nobody can be on the host.
pub fn may_change(state: NodeState) -> bool {
    match state {
        NodeState::Enrolling | NodeState::Maintenance | NodeState::Sanitizing => true,
        NodeState::Ready | NodeState::Cordoned | NodeState::Draining | NodeState::Failed | NodeState::Retired => false,
    }
}

// bound: NVML and the kernel write far shorter ones
const LONGEST_NAME: usize = 128;
// bound: four times what one host can hold at a time; former GPUs are remembered
const MAX_REMEMBERED: usize = 4 * MAX_GPUS_PER_NODE;

/// Finds what contradicts itself or what is known.
pub fn judge(known: &[KnownSlot], state: NodeState, reported: &Inventory) -> Result<(), Implausibility> {
    if reported.gpus.len() > MAX_GPUS_PER_NODE {
        return Err(Implausibility::TooMany { count: reported.gpus.len() });
    }
    for gpu in &reported.gpus {
        possible("UUID", &gpu.uuid)?;
        possible("PCI address", &gpu.pci)?;
        possible("model", &gpu.model)?;
    }
    once("UUID", reported.gpus.iter().map(|it| it.uuid.clone()))?;
    once("PCI address", reported.gpus.iter().map(|it| it.pci.to_ascii_lowercase()))?;
    once("index", reported.gpus.iter().map(|it| it.index.to_string()))?;
    let by_uuid: HashMap<&str, &KnownSlot> = known.iter().map(|it| (it.gpu_uuid.as_str(), it)).collect();
    let all: BTreeSet<&str> = by_uuid.keys().copied().chain(reported.gpus.iter().map(|it| it.uuid.as_str())).collect();
    if all.len() > MAX_REMEMBERED {
        return Err(Implausibility::TooMany { count: all.len() });
    }
    if may_change(state) {
        return Ok(());
    }
    reported.gpus.iter().try_for_each(|gpu| match by_uuid.get(gpu.uuid.as_str()) {
        None => Err(Implausibility::New { uuid: gpu.uuid.clone() }),
        Some(before) => unchanged(before, gpu),
    })
}

fn unchanged(before: &KnownSlot, gpu: &Gpu) -> Result<(), Implausibility> {
    let changed = |what, from: &str, to: &str| {
        Err(Implausibility::Changed { uuid: gpu.uuid.clone(), what, from: from.to_owned(), to: to.to_owned() })
    };
    if !before.pci.eq_ignore_ascii_case(&gpu.pci) {
        return changed("PCI address", &before.pci, &gpu.pci);
    }
    if before.model != gpu.model {
        return changed("model", &before.model, &gpu.model);
    }
    if u64::try_from(before.memory_bytes).ok() != Some(gpu.memory_bytes) {
        return changed("memory", &before.memory_bytes.to_string(), &gpu.memory_bytes.to_string());
    }
    Ok(())
}

fn possible(what: &'static str, value: &str) -> Result<(), Implausibility> {
    let is_fine =
        !value.is_empty() && value.len() <= LONGEST_NAME && value.chars().all(|it| it.is_ascii_graphic() || it == ' ');
    if is_fine {
        Ok(())
    } else {
        Err(Implausibility::Impossible {
            what,
            value: value.chars().take(LONGEST_NAME).filter(|it| !it.is_control()).collect(),
        })
    }
}

fn once(what: &'static str, values: impl Iterator<Item = String>) -> Result<(), Implausibility> {
    let mut seen = HashSet::new();
    for value in values {
        if !seen.insert(value.clone()) {
            return Err(Implausibility::Twice { what, value });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use protocol::DriverKind;

    use super::*;

    fn gpu(index: u32) -> Gpu {
        Gpu {
            index,
            uuid: format!("GPU-{index}"),
            pci: format!("0000:0{index}:00.0"),
            model: "H200".into(),
            memory_bytes: 7,
            numa: None,
            fabric: None,
            nvme: vec![],
            driver_version: None,
            ecc: None,
            mig: None,
        }
    }

    fn inventory(gpus: Vec<Gpu>) -> Inventory {
        Inventory {
            hostname: "h".into(),
            machine_id: "m".into(),
            os: "o".into(),
            kernel: "k".into(),
            agent_version: "1".into(),
            agent_target: None,
            driver: DriverKind::Sim,
            cpus: 1,
            memory_bytes: 1,
            gpus,
            fabric_domain: None,
            wipe_script: false,
            isolates_vms: false,
        }
    }

    fn known(indices: &[u32]) -> Vec<KnownSlot> {
        let known = |index: &u32| {
            let Gpu { uuid, pci, model, .. } = gpu(*index);
            KnownSlot { gpu_uuid: uuid, pci, model, memory_bytes: 7, is_missing: false }
        };
        indices.iter().map(known).collect()
    }

    #[test]
    fn inventory_that_matches_the_record_is_believed() {
        let report = inventory(vec![gpu(0), gpu(1)]);
        assert_eq!(judge(&known(&[0, 1]), NodeState::Ready, &report), Ok(()));
        assert_eq!(judge(&known(&[0, 1, 2]), NodeState::Ready, &report), Ok(()), "fewer is a defect, not a lie");
    }

    #[test]
    fn more_gpus_or_others_are_believed_in_maintenance_only() {
        let report = inventory(vec![gpu(0), gpu(1)]);
        for state in [NodeState::Ready, NodeState::Cordoned, NodeState::Draining, NodeState::Failed] {
            assert_eq!(
                judge(&known(&[0]), state, &report),
                Err(Implausibility::New { uuid: "GPU-1".into() }),
                "{state}"
            );
        }
        for state in [NodeState::Enrolling, NodeState::Maintenance, NodeState::Sanitizing] {
            assert_eq!(judge(&known(&[0]), state, &report), Ok(()), "{state}");
        }
    }

    #[test]
    fn a_gpu_that_moved_or_grew_is_not_believed() {
        for change in [
            |it: &mut Gpu| it.pci = "0000:09:00.0".into(),
            |it: &mut Gpu| it.model = "H100".into(),
            |it: &mut Gpu| it.memory_bytes = 8,
        ] {
            let mut other = gpu(0);
            change(&mut other);
            let judged = judge(&known(&[0]), NodeState::Ready, &inventory(vec![other]));
            assert!(matches!(judged, Err(Implausibility::Changed { .. })), "{judged:?}");
        }
    }

    #[test]
    fn duplicate_gpu_is_refused_in_any_state() {
        for change in [
            |it: &mut Gpu| it.uuid = "GPU-0".into(),
            |it: &mut Gpu| it.pci = "0000:00:00.0".into(),
            |it: &mut Gpu| it.index = 0,
        ] {
            let mut twin = gpu(1);
            change(&mut twin);
            let judged = judge(&[], NodeState::Enrolling, &inventory(vec![gpu(0), twin]));
            assert!(matches!(judged, Err(Implausibility::Twice { .. })), "{judged:?}");
        }
    }

    #[test]
    fn impossible_hosts_are_refused() {
        let many = inventory((0..65).map(gpu).collect());
        assert_eq!(judge(&[], NodeState::Enrolling, &many), Err(Implausibility::TooMany { count: 65 }));
        for bad in ["", "a\nb", &"x".repeat(129)] {
            let odd = Gpu { uuid: bad.into(), ..gpu(0) };
            assert!(judge(&[], NodeState::Enrolling, &inventory(vec![odd])).is_err(), "{bad:?}");
        }
    }
}
