//! The agent replaces itself: fetched, checked, tried, switched by a rename and
//! started by `exec`. Until the new one has reached the control plane, a guard
//! stands by to bring the old one back.

mod guard;

pub use guard::{Guard, MAX_STARTS, PROVE_WITHIN, StartOutcome};

use crate::link::{Endpoint, Link};
use crate::state::{StateFolder, replace};
use crate::steps::{Failure, Result, Steps};
use crate::{TARGET, VERSION};
use protocol::agent_binary::{AgentBinary, sha256_hex};
use protocol::limits::MAX_AGENT_BYTES;
use protocol::{Done, Task, Verb, paths};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;
use trust::{ControlClock, Trust};

const FETCH_LIMIT: Duration = Duration::from_secs(300); // bound: a binary over a thin line
const TRY_LIMIT: Duration = Duration::from_secs(10); // bound: printing a version is instant

/// Replaces the binary that this process was started from.
pub struct Updater {
    folder: StateFolder,
    binary: PathBuf,
    /// Canceled when the process must start itself anew.
    restart: CancellationToken,
}

impl Updater {
    pub fn new(folder: StateFolder, binary: PathBuf, restart: CancellationToken) -> Self {
        Self { folder, binary, restart }
    }

    /// None when the new agent is in place and will report for itself.
    pub async fn ensure(&self, steps: &mut Steps, task: &Task) -> Result<Option<Done>> {
        let Verb::EnsureAgent { version, target, sha256, signature } = &task.verb else {
            return Err(Failure::lasting("unsupported", "not a task about the agent"));
        };
        steps.enter("compare");
        if version == VERSION {
            return Ok(Some(Done::Updated { version: VERSION.into() }));
        }
        if target != TARGET {
            return Err(Failure::lasting("wrong_target", format!("this host requires {TARGET}")));
        }
        let binary = AgentBinary { version, target, sha256 };
        let identity = self.folder.identity().map_err(|error| Failure::lasting("install", error.to_string()))?;
        if !is_plain(version) || !binary.is_signed_by(&identity.task_keys, signature) {
            return Err(Failure::lasting(
                "bad_agent_signature",
                "this version, target and checksum are not signed by a task key",
            ));
        }
        steps.enter("download");
        let bytes = self.download(version, target).await?;
        if sha256_hex(&bytes) != *sha256 {
            return Err(Failure::passing("bad_checksum", "the download does not match the announced checksum"));
        }
        steps.enter("try");
        let new = self.binary.with_extension("new");
        replace(&new, &bytes, 0o755).map_err(|error| Failure::passing("install", error.to_string()))?;
        try_out(&new, version).await?;
        steps.enter("install");
        Guard::install(&self.folder, &self.binary, &new, task)
            .map_err(|error| Failure::passing("install", error.to_string()))?;
        self.restart.cancel();
        Ok(None)
    }

    async fn download(&self, version: &str, target: &str) -> Result<bytes::Bytes> {
        let failed = |error: &dyn std::fmt::Display| Failure::passing("download", error.to_string());
        // Read from the folder: the certificate may have been renewed since the start.
        let identity = self.folder.identity().map_err(|error| failed(&error))?;
        let clock = ControlClock::default();
        let trust = Trust::in_roots(&identity.roots).map_err(|error| failed(&error))?;
        let tls = trust.identified(&identity.pair, &clock).map_err(|error| failed(&error))?;
        let mut link = Link::new(Endpoint::parse(&identity.url).map_err(|error| failed(&error))?, tls);
        let path = paths::agent(version, target);
        let fetched = link.fetch(&path, MAX_AGENT_BYTES, FETCH_LIMIT).await;
        fetched.map(|(_, bytes)| bytes).map_err(|error| failed(&error))
    }
}

/// A version becomes part of an address and of messages.
fn is_plain(version: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
    !version.is_empty() && version.len() <= 64 && version.chars().all(plain) && !version.starts_with('.')
}

/// A binary that cannot say its version would not start either.
async fn try_out(binary: &std::path::Path, version: &str) -> Result<()> {
    let failed = |detail: String| Failure::lasting("install", format!("the new agent does not start: {detail}"));
    let mut command = Command::new(binary);
    command.arg("--version").stdin(Stdio::null()).env_clear().kill_on_drop(true);
    let output = tokio::time::timeout(TRY_LIMIT, command.output()).await;
    let output = output.map_err(|_| failed("no response".into()))?.map_err(|error| failed(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.split_whitespace().any(|word| word == version) {
        return Ok(());
    }
    Err(failed(format!("{} with the output {:?}", output.status, said.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_cannot_leave_its_folder() {
        assert!(is_plain("1.2.3-rc.1+b7"));
        for wrong in ["", "../1", "1/2", ".1", "1 2", &"1".repeat(65)] {
            assert!(!is_plain(wrong), "{wrong}");
        }
    }
}
