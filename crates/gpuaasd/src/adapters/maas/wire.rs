//! What MAAS sends, as far as it matters here. Fields that are not named are
//! skipped; statuses that have no part in a hand-over are `Other`.

use serde::Deserialize;

use platform::ports::metal::{MetalMachine, MetalStatus, Power};

#[derive(Deserialize)]
pub struct Machine {
    system_id: String,
    #[serde(default)]
    hostname: String,
    status: i64,
    #[serde(default)]
    status_name: String,
    #[serde(default)]
    status_message: Option<String>,
    #[serde(default)]
    power_state: String,
    #[serde(default)]
    pool: Option<Pool>,
    #[serde(default)]
    tag_names: Vec<String>,
}

#[derive(Deserialize)]
struct Pool {
    name: String,
}

#[derive(Deserialize)]
pub struct PowerState {
    pub state: String,
}

// bound: what MAAS says is kept with the machine and shown to people
const MAX_TEXT: usize = 200;

impl From<Machine> for MetalMachine {
    fn from(it: Machine) -> Self {
        let message = it.status_message.filter(|it| !it.is_empty()).map(|it| format!(": {it}")).unwrap_or_default();
        MetalMachine {
            status: status(it.status),
            status_text: plain(&format!("{}{message}", it.status_name), MAX_TEXT),
            power: power(&it.power_state),
            system_id: it.system_id,
            hostname: it.hostname,
            pool: it.pool.map(|it| it.name),
            tags: it.tag_names,
        }
    }
}

/// The numbers of the API, which stay where the words may be reworded.
fn status(number: i64) -> MetalStatus {
    match number {
        4 => MetalStatus::Ready,
        6 => MetalStatus::Installed,
        8 => MetalStatus::Broken,
        9 => MetalStatus::Installing,
        10 => MetalStatus::Allocated,
        11 => MetalStatus::FailedInstall,
        12 => MetalStatus::Releasing,
        13 => MetalStatus::FailedReleasing,
        14 => MetalStatus::DiskErasing,
        15 => MetalStatus::FailedDiskErasing,
        _ => MetalStatus::Other,
    }
}

pub fn power(word: &str) -> Power {
    match word {
        "on" => Power::On,
        "off" => Power::Off,
        _ => Power::Unknown,
    }
}

/// A text from outside, fit to be shown: one line, bounded.
pub fn plain(text: &str, most: usize) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).take(most).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_read_without_what_does_not_matter() {
        let text = r#"{"system_id": "a1b2c3", "hostname": "node-1", "status": 14, "status_name": "Disk erasing",
            "status_message": "Wiping\nsda", "power_state": "on", "pool": {"id": 1, "name": "gpu"}, "tag_names": ["h200"],
            "cpu_count": 8, "owner": null}"#;
        let machine: MetalMachine = serde_json::from_str::<Machine>(text).unwrap().into();
        assert_eq!((machine.status, machine.power), (MetalStatus::DiskErasing, Power::On));
        assert_eq!(machine.status_text, "Disk erasing: Wiping sda");
        assert_eq!((machine.pool.as_deref(), machine.tags.len()), (Some("gpu"), 1));
        let other: MetalMachine =
            serde_json::from_str::<Machine>(r#"{"system_id": "x", "status": 21}"#).unwrap().into();
        assert_eq!((other.status, other.power), (MetalStatus::Other, Power::Unknown));
    }
}
