//! The operator's own script that cleans a whole host.

use super::command::{run_with_input, tool};
use crate::driver::{Failure, Result};
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(3540); // bound: just under the task's own, to be able to tell

pub(crate) async fn run(script: Option<&Path>) -> Result<()> {
    let Some(script) = script else {
        let advice = "set wipe_script in agent.toml, or attest the wipe by hand";
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
