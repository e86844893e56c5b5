//! What a host is made of and how busy it is, as the kernel tells.

use crate::config::Config;
use crate::workloads::login;
use crate::{TARGET, VERSION, locked};
use protocol::limits::bounded_text;
use protocol::{DriverKind, Gpu, HostSample, Inventory, Limits};
use std::sync::Mutex;

#[derive(Default)]
pub(crate) struct Machine {
    /// Busy and total ticks when last looked.
    ticks: Mutex<Option<(u64, u64)>>,
}

impl Machine {
    pub fn inventory(&self, config: &Config, gpus: Vec<Gpu>) -> Inventory {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Inventory {
            hostname: hostname(),
            machine_id: machine_id(),
            os: os_name(&read("/etc/os-release")),
            kernel: read("/proc/sys/kernel/osrelease"),
            agent_version: VERSION.into(),
            agent_target: Some(TARGET.into()),
            driver: DriverKind::Linux,
            cpus: cpus.try_into().unwrap_or(u32::MAX),
            memory_bytes: memory(&read("/proc/meminfo"), "MemTotal:"),
            gpus,
            fabric_domain: config.fabric_domain.clone(),
            wipe_script: config.wipe_script.is_some(),
            // Logins are users of one kernel.
            isolates_vms: false,
        }
    }

    /// What a login gets of this host where its task does not say.
    pub fn share(&self, gpus: usize, of_gpus: usize) -> Limits {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let memory_bytes = memory(&read("/proc/meminfo"), "MemTotal:");
        login::share(cpus.try_into().unwrap_or(u32::MAX), memory_bytes, gpus, of_gpus)
    }

    pub fn sample(&self) -> Option<HostSample> {
        let now = ticks(&read("/proc/stat"))?;
        let before = locked(&self.ticks).replace(now).unwrap_or((0, 0));
        let (busy, total) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
        let cpu_percent = (busy * 100).checked_div(total).unwrap_or(0).min(100);
        let meminfo = read("/proc/meminfo");
        let used = memory(&meminfo, "MemTotal:").saturating_sub(memory(&meminfo, "MemAvailable:"));
        Some(HostSample { cpu_percent: cpu_percent.try_into().unwrap_or(100), memory_used_bytes: used })
    }
}

pub(crate) fn hostname() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The system's own id, or the board's where the system has none.
fn machine_id() -> String {
    let ids = ["/etc/machine-id", "/sys/class/dmi/id/product_uuid"].map(read);
    ids.into_iter().find(|id| !id.is_empty()).unwrap_or_default()
}

fn read(path: &str) -> String {
    bounded_text(std::fs::read_to_string(path).unwrap_or_default().trim())
}

fn os_name(release: &str) -> String {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("unknown").trim_matches('"').to_owned()
}

fn memory(meminfo: &str, field: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    let kibibytes: u64 = line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0);
    kibibytes * 1024
}

fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let values: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let total: u64 = values.iter().take(8).sum();
    // Idle and waiting for disks.
    let idle = values.get(3)? + values.get(4)?;
    Some((total - idle, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_tables_are_read() {
        assert_eq!(ticks("cpu  10 0 10 70 10 0 0 0 5 0\ncpu0 1"), Some((20, 100)));
        assert_eq!(memory("MemTotal:  2 kB\nMemAvailable: 1 kB\n", "MemAvailable:"), 1024);
        assert_eq!(os_name("ID=debian\nPRETTY_NAME=\"Debian 12\"\n"), "Debian 12");
        assert_eq!(os_name(""), "unknown");
    }

    #[test]
    fn this_host_has_memory_and_processors() {
        let machine = Machine::default();
        let inventory = machine.inventory(&Config::default(), vec![]);
        assert!(inventory.memory_bytes > 0 && inventory.cpus > 0 && !inventory.kernel.is_empty());
        assert!(machine.sample().unwrap().cpu_percent <= 100);
    }
}
