//! What a host says it is made of. The control plane believes none of it unseen.

use crate::agent_binary::sha256_hex;
use crate::canonical;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    pub hostname: String,
    pub machine_id: String,
    pub os: String,
    pub kernel: String,
    pub agent_version: String,
    /// The platform that the agent was built for; older agents do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_target: Option<String>,
    pub driver: DriverKind,
    pub cpus: u32,
    pub memory_bytes: u64,
    pub gpus: Vec<Gpu>,
    #[serde(default)]
    pub fabric_domain: Option<String>,
    /// Whether the host can clean itself with a script of its operator.
    pub wipe_script: bool,
    /// Whether the host keeps organizations apart by virtual machines.
    #[serde(default)]
    pub isolates_vms: bool,
}

impl Inventory {
    /// SHA-256 of the canonical form, in hexadecimal; the same host gives the same.
    pub fn hash(&self) -> String {
        let bytes = canonical::encode(self).expect("an inventory holds texts and integers only");
        sha256_hex(&bytes)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverKind {
    Linux,
    Sim,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    pub index: u32,
    pub uuid: String,
    pub pci: String,
    pub model: String,
    pub memory_bytes: u64,
    /// Unknown on virtual machines that do not tell.
    #[serde(default)]
    pub numa: Option<u32>,
    /// The network device that is closest.
    #[serde(default)]
    pub fabric: Option<String>,
    /// The disks that are closest.
    #[serde(default)]
    pub nvme: Vec<String>,
    #[serde(default)]
    pub driver_version: Option<String>,
    #[serde(default)]
    pub ecc: Option<bool>,
    #[serde(default)]
    pub mig: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory() -> Inventory {
        Inventory {
            hostname: "host".into(),
            machine_id: "m".into(),
            os: "Debian 12".into(),
            kernel: "6.1".into(),
            agent_version: "0.1.0".into(),
            agent_target: None,
            driver: DriverKind::Linux,
            cpus: 2,
            memory_bytes: 1,
            gpus: vec![],
            fabric_domain: None,
            wipe_script: false,
            isolates_vms: false,
        }
    }

    #[test]
    fn the_hash_follows_the_content() {
        let first = inventory();
        assert_eq!(first.hash(), inventory().hash());
        assert_ne!(first.hash(), Inventory { cpus: 3, ..inventory() }.hash());
        let text = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::from_str::<Inventory>(&text).unwrap().hash(), first.hash());
    }
}
