//! `run`: serve until a signal, or until an update asks for a new start.

use super::{DataFolder, Outcome, start_logging};
use agent::config::Config;
use agent::journal::{Bounds, Journal};
use agent::linux::LinuxHost;
use agent::poll::{Agent, Keep, Start, Timing};
use agent::state::StateFolder;
use agent::steps::{crash_at, no_points};
use agent::update::{Guard, PROVE_WITHIN, StartOutcome, Updater};
use agent::workloads;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    place: DataFolder,
    /// Maximum duration of an idle poll, in milliseconds
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..=60_000))]
    heartbeat_ms: u64,
    /// Configure the host for logins at every start: sshd reads SSH keys from the
    /// agent's directory, and users cannot see each other's processes
    #[arg(long)]
    configure_host: bool,
    /// Exit at a named step as if killed, for tests
    #[arg(long, hide = true)]
    crash_at: Option<String>,
    /// Time limit for an update to prove itself, for tests
    #[arg(long, hide = true)]
    prove_within_ms: Option<u64>,
}

pub async fn run(options: Options) -> Outcome {
    start_logging();
    let folder = StateFolder::open(&options.place.data_dir)?;
    let guard = match Guard::begin(&folder)? {
        StartOutcome::Plain => None,
        StartOutcome::Guarded(guard) => Some(guard),
        StartOutcome::RolledBack(binary) => return Err(restart(&binary)),
    };
    agent::limits::apply();
    let stop = CancellationToken::new();
    let restarting = stop.child_token();
    if guard.as_ref().is_some_and(Guard::is_unproved) {
        let within = options.prove_within_ms.map_or(PROVE_WITHIN, Duration::from_millis);
        tokio::spawn(roll_back_after(within, folder.clone()));
    }
    let binary = std::env::current_exe()?;
    let updater = Updater::new(folder.clone(), binary.clone(), restarting.clone());
    let host = Arc::new(LinuxHost::new(Config::load(&folder.config())?, Some(updater)));
    let workloads = workloads::of_linux(&host, Some(folder.clone()))?;
    for problem in workloads.start(options.configure_host).await {
        tracing::error!(problem, "the host could not be set up; run gpuaas-node doctor");
    }
    let heartbeat = Duration::from_millis(options.heartbeat_ms);
    let agent = Agent::new(Start {
        identity: folder.identity()?,
        generation: folder.next_generation()?,
        host,
        workloads,
        journal: Arc::new(Mutex::new(Journal::open(&folder.journal(), Bounds::HOST)?)),
        keep: Keep { folder: Some(folder), identity: None },
        timing: Timing { heartbeat, ..Timing::default() },
        points: options.crash_at.map_or_else(no_points, crash_at),
        trust: None,
        voice: None,
        guard,
        streams: true,
    })?;
    tracing::info!(version = agent::VERSION, "started");
    let polling = tokio::spawn(agent.run(restarting.clone()));
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => stop.cancel(),
        _ = interrupt.recv() => stop.cancel(),
        () = restarting.cancelled() => {}
    }
    let _ = polling.await;
    if !stop.is_cancelled() {
        tracing::info!("starting the updated agent");
        return Err(restart(&binary));
    }
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Brings the old agent back when the new one has not completed a poll by then.
async fn roll_back_after(within: Duration, folder: StateFolder) {
    tokio::time::sleep(within).await;
    match Guard::time_is_over(&folder) {
        Ok(Some(binary)) => {
            tracing::error!("the updated agent did not reach the control plane; rolling back");
            let error = restart(&binary);
            tracing::error!(%error, "cannot start the previous agent");
        }
        Ok(None) => {}
        Err(error) => tracing::error!(%error, "cannot roll back the update"),
    }
}

/// Becomes the binary; returns only when that fails.
fn restart(binary: &Path) -> Box<dyn std::error::Error> {
    use std::os::unix::process::CommandExt;
    let binary: PathBuf = binary.to_owned();
    let error = std::process::Command::new(&binary).args(std::env::args_os().skip(1)).exec();
    format!("cannot start {}: {error}", binary.display()).into()
}
