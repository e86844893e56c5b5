//! `sim`: many simulated nodes in one process, until a signal.

use super::{Outcome, start_logging};
use agent::sim::{Fleet, SimConfig, Tokens};
use agent::steps::{crash_at, no_points};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Args)]
pub struct Options {
    /// URL of the control plane's node listener
    #[arg(long, env = "GPUAAS_NODE_URL")]
    url: String,
    /// File with the control plane's root certificates, in PEM
    #[arg(long)]
    ca_file: PathBuf,
    /// File with enrollment tokens, one per line and node not yet enrolled
    #[arg(long)]
    tokens: PathBuf,
    /// Number of nodes
    #[arg(long, default_value_t = 4)]
    nodes: usize,
    /// GPUs per node
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=64))]
    gpus: u32,
    /// GPU model
    #[arg(long, default_value = "NVIDIA H200")]
    model: String,
    /// Prefix of the nodes' names
    #[arg(long, default_value = "sim")]
    name: String,
    /// Maximum duration of an idle poll, in milliseconds
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..=60_000))]
    heartbeat_ms: u64,
    /// Directory for the nodes' identities and journals, to keep them across restarts
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Simulated duration of each task step, in milliseconds
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// Whether nodes open terminals and other streams [default: only in small fleets]
    #[arg(long)]
    streams: Option<bool>,
    /// Exit when standard input closes
    #[arg(long)]
    until_stdin_closes: bool,
    /// Exit at a named step as if killed, for tests
    #[arg(long, hide = true)]
    crash_at: Option<String>,
}

pub async fn run(options: Options) -> Outcome {
    start_logging();
    agent::limits::raise_files();
    let roots = std::fs::read_to_string(&options.ca_file)?;
    let tokens = std::fs::read_to_string(&options.tokens)?;
    let tokens = tokens.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    let mut config = SimConfig::new(options.url, roots, Tokens::List(tokens));
    config.nodes = options.nodes;
    config.gpus_per_node = options.gpus;
    config.model = options.model;
    config.name = options.name;
    config.data_dir = options.data_dir;
    config.streams = options.streams;
    config.points = options.crash_at.map_or_else(no_points, crash_at);
    let fleet = Fleet::start(config.heartbeat(Duration::from_millis(options.heartbeat_ms))).await?;
    for node in fleet.nodes() {
        node.script(|script| script.latency = Duration::from_millis(options.latency_ms));
    }
    println!("Running {} simulated nodes with {} GPUs each", fleet.len(), options.gpus);
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = stdin_closed(), if options.until_stdin_closes => {}
    }
    fleet.stop();
    Ok(ExitCode::SUCCESS)
}

/// Ends when nobody holds the other end any more. A thread of its own: a read
/// of standard input cannot be taken back, and must not hold up the end.
async fn stdin_closed() {
    let (closed, seen) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // What is sent is of no interest; an error is an end too.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = closed.send(());
    });
    let _ = seen.await;
}
