//! Running the host's own tools: a fixed environment, no terminal, a time limit,
//! and never a shell around what came from elsewhere.

use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

const LIMIT: Duration = Duration::from_secs(30); // bound: these tools edit a file and end
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A tool's end: its code, or none when a signal ended it, and what it said.
pub(crate) struct ToolExit {
    pub code: Option<i32>,
    /// For people: what went wrong where it said so, otherwise what it printed.
    pub said: String,
    pub printed: String,
}

impl ToolExit {
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// The tool with a clean environment; killed when nobody waits for it any more.
pub(crate) fn tool(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH).env("LC_ALL", "C").current_dir("/").kill_on_drop(true);
    command
}

pub(crate) async fn run(command: Command) -> Result<ToolExit, String> {
    run_with_input(command, b"", LIMIT).await
}

pub(crate) async fn run_with_input(mut command: Command, input: &[u8], limit: Duration) -> Result<ToolExit, String> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let work = async {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A tool that does not read its input says so by its code.
            let _ = stdin.write_all(input).await;
        }
        child.wait_with_output().await
    };
    let output = tokio::time::timeout(limit, work).await.map_err(|_| format!("{name} did not end in time"))?;
    let output = output.map_err(|error| format!("{name} could not be run: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let said = format!("{name}: {}", if errors.is_empty() { &printed } else { &errors });
    Ok(ToolExit { code: output.status.code(), said, printed })
}
