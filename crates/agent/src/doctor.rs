//! Whether a host is fit to serve, and what to do where it is not.

use crate::VERSION;
use crate::config::Config;
use crate::link::{Endpoint, Link, LinkError};
use crate::linux::GpuSource;
use crate::state::{StateError, StateFolder};
use protocol::{PollAnswer, paths};
use std::path::Path;
use std::time::Duration;
use trust::{ControlClock, Trust};

const LEAST_DISK: u64 = 1 << 30; // bound: journal, an update and a home
const REACH_LIMIT: Duration = Duration::from_secs(10); // bound: a person waits for it

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// Works, but not as it should.
    Warning,
    /// Must be fixed before the host can serve.
    Broken,
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub what: &'static str,
    pub verdict: Verdict,
    pub seen: String,
    pub advice: String,
}

impl Finding {
    pub(crate) fn good(what: &'static str, seen: impl Into<String>) -> Self {
        Self { what, verdict: Verdict::Good, seen: seen.into(), advice: String::new() }
    }

    pub(crate) fn new(what: &'static str, verdict: Verdict, seen: impl Into<String>, advice: &str) -> Self {
        Self { what, verdict, seen: seen.into(), advice: advice.to_owned() }
    }
}

/// Looks at everything; changes nothing.
pub async fn examine(folder: &Path, config: &Config) -> Vec<Finding> {
    let mut findings = vec![
        Finding::good("agent", format!("gpuaas-node {VERSION} for {}", crate::TARGET)),
        root(),
        program("useradd", "install the package passwd (Debian, Ubuntu) or shadow-utils"),
        program("userdel", "install the package passwd (Debian, Ubuntu) or shadow-utils"),
        program("sshd", "install openssh-server to allow logins"),
        disk(folder),
        wipe(config),
    ];
    findings.extend(crate::workloads::login::outlook::examine(config).await);
    findings.extend(gpus(config));
    findings.extend(enrollment(folder).await);
    findings
}

fn root() -> Finding {
    if nix::unistd::geteuid().is_root() {
        return Finding::good("root", "running as root");
    }
    Finding::new("root", Verdict::Broken, "not running as root", "run it as root: it creates and deletes users")
}

fn program(name: &'static str, advice: &str) -> Finding {
    let folders = ["/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    match folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists()) {
        Some(path) => Finding::good(name, path.display().to_string()),
        None => Finding::new(name, Verdict::Broken, "not found", advice),
    }
}

fn disk(folder: &Path) -> Finding {
    let place = folder.ancestors().find(|place| place.exists()).unwrap_or(Path::new("/"));
    match nix::sys::statvfs::statvfs(place) {
        Ok(found) => {
            let free = found.blocks_available() * found.fragment_size();
            let seen = format!("{} GiB free at {}", free >> 30, place.display());
            if free >= LEAST_DISK {
                Finding::good("disk", seen)
            } else {
                Finding::new(
                    "disk",
                    Verdict::Broken,
                    seen,
                    "free up at least 1 GiB: tasks are refused when the disk is full",
                )
            }
        }
        Err(error) => Finding::new("disk", Verdict::Broken, error.to_string(), "make the data directory readable"),
    }
}

fn wipe(config: &Config) -> Finding {
    let advice = "set wipe_script in agent.toml, or attest every wipe manually";
    match &config.wipe_script {
        None => Finding::new("wipe script", Verdict::Warning, "not set", advice),
        Some(path) if path.is_file() => Finding::good("wipe script", path.display().to_string()),
        Some(path) => Finding::new("wipe script", Verdict::Broken, format!("{} is missing", path.display()), advice),
    }
}

fn gpus(config: &Config) -> Vec<Finding> {
    let source = GpuSource::find(config);
    let list = source.list();
    match &source {
        GpuSource::None(reason) => {
            let advice = "install the NVIDIA driver, or ignore this on a host without GPUs";
            vec![Finding::new("driver", Verdict::Warning, format!("NVML: {reason}"), advice)]
        }
        GpuSource::Pretended(_) => {
            let advice = "remove simulated_gpus from agent.toml before production use";
            vec![Finding::new("gpus", Verdict::Warning, format!("{} simulated", list.len()), advice)]
        }
        GpuSource::Nvidia(nvidia) => {
            let mut findings = vec![Finding::good("driver", source.driver_version().unwrap_or_default())];
            if list.is_empty() {
                let advice = "check dmesg and nvidia-smi: the driver is running but finds no GPU";
                findings.push(Finding::new("gpus", Verdict::Broken, "none", advice));
            }
            for gpu in list {
                let gib = gpu.memory_bytes >> 30;
                let seen = format!("{} {} at {}, {gib} GiB", gpu.model, gpu.uuid, gpu.pci);
                let wanted = protocol::GpuRef { uuid: gpu.uuid, pci: gpu.pci };
                findings.push(match nvidia.test(&wanted) {
                    Ok(()) => Finding::good("gpu", seen),
                    Err(reason) => Finding::new(
                        "gpu",
                        Verdict::Broken,
                        format!("{seen}: {reason}"),
                        "check the GPU with nvidia-smi",
                    ),
                });
            }
            findings.extend(device_files());
            findings
        }
    }
}

/// With this setting any program may open device files again that a slice closed.
fn device_files() -> Option<Finding> {
    let parameters = std::fs::read_to_string("/proc/driver/nvidia/params").ok()?;
    let is_reset = parameters.lines().any(|line| line.trim() == "ModifyDeviceFiles: 1");
    let advice = "set the option NVreg_ModifyDeviceFiles=0 for the nvidia module and reload it: \
                  otherwise driver programs reopen every GPU to all users until the agent's next check";
    Some(if is_reset {
        Finding::new("device files", Verdict::Warning, "the driver resets device file permissions", advice)
    } else {
        Finding::good("device files", "device file permissions are preserved")
    })
}

async fn enrollment(folder: &Path) -> Vec<Finding> {
    // Looking must not make the folder.
    let known = if folder.exists() { StateFolder::open(folder) } else { Err(StateError::NotEnrolled) };
    let identity = match known.and_then(|folder| folder.identity()) {
        Ok(identity) => identity,
        Err(StateError::NotEnrolled) => {
            let advice = "run gpuaas-node enroll with an enrollment token";
            return vec![Finding::new("enrollment", Verdict::Warning, "not enrolled", advice)];
        }
        Err(error) => return vec![Finding::new("enrollment", Verdict::Broken, error.to_string(), "enroll again")],
    };
    let mut findings = vec![Finding::good("enrollment", format!("{} at {}", identity.node_id, identity.url))];
    let clock = ControlClock::default();
    let reach = async {
        let trust = Trust::in_roots(&identity.roots).map_err(|error| LinkError::Garbled(error.to_string()))?;
        let tls = trust.identified(&identity.pair, &clock).map_err(|error| LinkError::Garbled(error.to_string()))?;
        let mut link = Link::new(Endpoint::parse(&identity.url)?, tls);
        // An empty message is refused by anybody who understands it, which is an answer.
        link.post::<_, PollAnswer>(paths::POLL, &serde_json::json!({}), REACH_LIMIT).await
    };
    findings.push(match reach.await {
        Ok(_) => Finding::good("control plane", "reachable"),
        Err(LinkError::Refused { problem, .. }) if is_about_us(&problem.code) => {
            let advice = "enroll again with a new token";
            Finding::new("control plane", Verdict::Broken, format!("refused: {}", problem.code), advice)
        }
        Err(LinkError::Refused { status, .. }) => {
            Finding::good("control plane", format!("reachable (status {status})"))
        }
        Err(error) => {
            let advice = "allow outgoing connections to that address, and check DNS and this host's clock";
            Finding::new("control plane", Verdict::Broken, error.to_string(), advice)
        }
    });
    findings.push(certificate(&identity));
    findings
}

fn is_about_us(code: &str) -> bool {
    [protocol::codes::CERTIFICATE_REVOKED, protocol::codes::UNKNOWN_NODE].contains(&code)
}

fn certificate(identity: &crate::identity::Identity) -> Finding {
    let (from, until) = match identity.pair.lifetime() {
        Ok(life) => life,
        Err(error) => return Finding::new("certificate", Verdict::Broken, error.to_string(), "enroll again"),
    };
    // The one place where the host's clock is looked at: to judge the clock itself.
    let now = rustls::pki_types::UnixTime::now().as_secs();
    let at = |moment: jiff::Timestamp| u64::try_from(moment.as_second()).unwrap_or(0);
    if now < at(from) {
        let advice = "synchronize this host's clock, for example with chrony or systemd-timesyncd";
        return Finding::new(
            "clock",
            Verdict::Broken,
            format!("the clock is before the certificate's start, {from}"),
            advice,
        );
    }
    if now > at(until) {
        let advice = "start the agent to renew it, check this host's clock, or enroll again";
        return Finding::new("certificate", Verdict::Broken, format!("expired {until}"), advice);
    }
    Finding::good("certificate", format!("valid until {until}"))
}

/// Whether something must be fixed.
pub fn is_broken(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.verdict == Verdict::Broken)
}
