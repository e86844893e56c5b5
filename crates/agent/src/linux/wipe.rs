//! The operator's own script that cleans a whole host.

use super::command::{run_with_input, tool};
use crate::steps::{Failure, Result};
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(3540); // bound: just under the task's own, to be able to tell

pub(crate) async fn run(script: Option<&Path>) -> Result<()> {
    let Some(script) = script else {
        let advice = "set wipe_script in agent.toml, or attest the wipe manually";
        return Err(Failure::lasting("no_wipe_script", advice));
    };
    let ended = run_with_input(tool(&script.to_string_lossy(), &[]), b"", LIMIT).await;
    let ended = ended.map_err(|said| Failure::passing("wipe_script", said))?;
    if ended.is_success() {
        return Ok(());
    }
    let code = ended.code.map_or("a signal".to_owned(), |code| format!("code {code}"));
    Err(Failure::passing("wipe_script", format!("ended with {code}; {}", ended.said)))
}

/// Fails where something still uses the GPUs, whoever it belongs to.
pub(crate) fn check_idle(gpu_processes_left: u32) -> Result<()> {
    match gpu_processes_left {
        0 => Ok(()),
        left => Err(Failure::passing("not_clean", format!("after the wipe, {left} processes still use the GPUs"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_whose_gpus_are_in_use_is_not_clean() {
        assert!(check_idle(0).is_ok());
        let failure = check_idle(2).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.retryable), ("not_clean", true));
        assert!(failure.detail.contains("2 processes"), "{}", failure.detail);
    }
}
