//! What the program can be told to do; each command is a file.

mod doctor;
mod enroll;
mod guard;
mod inventory;
mod run;
mod sim;
mod status;

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a host's GPU agent.
#[derive(Parser)]
#[command(name = "gpuaas-node", version)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Args, Clone)]
pub struct DataFolder {
    /// Directory for the agent's identity, journal and configuration
    #[arg(long, env = "GPUAAS_NODE_DATA_DIR", default_value = "/var/lib/gpuaas-node")]
    pub data_dir: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Enroll this host as a node with a one-time token
    Enroll(enroll::Options),
    /// Run the agent until it is stopped
    Run(run::Options),
    /// Show the status of the connection to the control plane
    Status(DataFolder),
    /// Check this host and report what to fix
    Doctor(DataFolder),
    /// Print the hardware inventory of this host
    Inventory(inventory::Options),
    /// Run simulated nodes in one process
    Sim(sim::Options),
    /// Roll back an update that does not start; run by the service manager
    #[command(hide = true)]
    Guard(DataFolder),
}

pub fn main(arguments: Arguments) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let outcome = runtime.block_on(async {
        match arguments.command {
            Command::Enroll(options) => enroll::run(options).await,
            Command::Run(options) => run::run(options).await,
            Command::Status(place) => status::run(&place),
            Command::Doctor(place) => doctor::run(&place).await,
            Command::Inventory(options) => inventory::run(options).await,
            Command::Sim(options) => sim::run(options).await,
            Command::Guard(place) => guard::run(&place),
        }
    });
    // A task that hangs in the kernel must not keep the process.
    runtime.shutdown_background();
    outcome.unwrap_or_else(|error| failed(&*error))
}

type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn failed(error: &dyn std::error::Error) -> ExitCode {
    let mut text = format!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!("\n  caused by: {error}"));
        cause = error.source();
    }
    eprintln!("{text}");
    ExitCode::FAILURE
}

/// Logs as lines with fields, to the service manager's journal.
fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("GPUAAS_NODE_LOG").unwrap_or_else(|_| "info".into());
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).try_init();
}
