//! One `psql` that stays open, for questions that are repeated until something is
//! so: starting one for each would take more of the machine than what is measured.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Session {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
}

/// How long something may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(10);

impl Session {
    /// `command` starts `psql` with the address of a database.
    pub fn open(mut command: Command) -> Result<Self, String> {
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"]);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = spawned.map_err(|error| format!("cannot run psql: {error}"))?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (to, from) = pipes.ok_or("psql has no pipes")?;
        Ok(Self { process, to, from: BufReader::new(from), asked: 0 })
    }

    /// The one line that a statement prints.
    pub fn ask(&mut self, statement: &str) -> Result<String, String> {
        self.asked += 1;
        let mut line = String::new();
        let written = writeln!(self.to, "{statement};");
        written.and_then(|()| self.from.read_line(&mut line)).map_err(|error| format!("psql broke off: {error}"))?;
        match line.strip_suffix('\n') {
            Some(line) => Ok(line.to_owned()),
            None => Err(format!("psql ended; it says why above: {statement}")),
        }
    }

    /// Statements so far, each a transaction.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// Asks until the number is at least that.
    pub async fn wait(&mut self, count: &str, wanted: u64) -> Result<(), String> {
        let started = Instant::now();
        loop {
            let text = self.ask(count)?;
            if text.parse::<u64>().is_ok_and(|it| it >= wanted) {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                return Err(format!("{text} of {wanted} after {PATIENCE:?}: {count}"));
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
