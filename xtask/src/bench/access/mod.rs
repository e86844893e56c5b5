//! Terminals under load: a flood through one of them beside a loop that reads a
//! PTY bare and beside terminado, how long an echo takes, and what idle ones cost.

mod edge;
mod raw;
mod session;
mod terminado;

use std::path::Path;
use std::time::{Duration, Instant};

use super::daemon::Daemon;
use super::figure::Unit;
use super::report::Report;
use super::sample::Sample;
use edge::Edge;
use session::{Bench, HOSTS, Shell};

/// How much is printed in one round. A terminal makes two bytes of a line's end.
const FLOOD_BYTES: u64 = 256 * 1024 * 1024;
/// What fits the simulated host's own folder for such things.
const FILE_BYTES: u64 = 64 * 1024 * 1024;
const ROUNDS: usize = 3;
const ECHOES: usize = 1_000;
const IDLE: usize = 500;
/// How long idle sessions rest before the memory is read.
const REST: Duration = Duration::from_secs(5);

/// What is printed. A file, so that nothing but the terminal works meanwhile.
#[derive(Clone, Copy)]
enum Flood {
    /// As logs and builds do it: the kernel looks at every letter.
    Lines,
    /// In colors and as full-screen programs do it: the kernel hands on what they print.
    Colors,
}

impl Flood {
    /// What a shell runs.
    fn command(self) -> String {
        let (mode, line) = match self {
            Flood::Lines => ("opost", "one line of sixty-three letters, as logs and builds print them."),
            Flood::Colors => {
                ("-opost", "\\033[1;32mone line\\033[0m of sixty-three letters, as some programs print them.\\r")
            }
        };
        let file = "/tmp/gpuaas-bench.$$";
        let times = FLOOD_BYTES / FILE_BYTES;
        format!(
            "stty {mode}; yes \"$(printf '{line}')\" | head -c {FILE_BYTES} > {file}; \
             i=0; while [ $i -lt {times} ]; do cat {file}; i=$((i + 1)); done; rm {file}"
        )
    }
}

pub async fn measure(root: &Path, report: &mut Report) -> Result<(), String> {
    let mut daemon = Daemon::start(HOSTS).await?;
    daemon.raise_limits().await?;
    let bench = Bench::start(&daemon).await?;
    flooded(root, &bench, Flood::Lines, report).await?;
    flooded(root, &bench, Flood::Colors, report).await?;
    echo(&bench, report).await?;
    idle(&daemon, &bench, report).await?;
    drop(bench);
    daemon.stop().await
}

async fn flooded(root: &Path, bench: &Bench, flood: Flood, report: &mut Report) -> Result<(), String> {
    let terminado = terminado::Server::start(root, &flood.command()).await?;
    let name = match flood {
        Flood::Lines => "terminal",
        Flood::Colors => "terminal_colors",
    };
    let (mut ours, mut recorded, mut bare, mut theirs) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        // By turns, so that all meet the same noise.
        bare.push(tokio::task::spawn_blocking(move || raw::measure(&flood.command())).await.map_err(text)??);
        bench.record(false).await?;
        ours.push(bench.flood(&flood.command()).await?);
        bench.record(true).await?;
        recorded.push(bench.flood(&flood.command()).await?);
        theirs.push(terminado.flood().await?);
    }
    bench.record(false).await?;
    let [ours, recorded, bare, theirs] = [ours, recorded, bare, theirs].map(median);
    report.value(&format!("{name}_mb_per_s"), Unit::MegabytesPerSecond, ours);
    report.value(&format!("{name}_recorded_mb_per_s"), Unit::MegabytesPerSecond, recorded);
    report.fact(&format!("{name}_raw_pty_mb_per_s"), Unit::MegabytesPerSecond, bare);
    report.fact(&format!("{name}_terminado_mb_per_s"), Unit::MegabytesPerSecond, theirs);
    for (what, ratio) in
        [("of_raw", ours / bare), ("of_terminado", ours / theirs), ("recorded_of_raw", recorded / bare)]
    {
        report.value(&format!("{name}_{what}"), Unit::Ratio, ratio);
    }
    Ok(())
}

async fn echo(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let mut shell = bench.open("cat").await?;
    let (mut latencies, begun) = (Vec::with_capacity(ECHOES), Instant::now());
    for _ in 0..ECHOES {
        let started = Instant::now();
        shell.echo().await?;
        latencies.push(u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    let sample = Sample::new(ECHOES, begun.elapsed().as_secs_f64(), latencies);
    report.value("echo_p50_ms", Unit::Milliseconds, sample.p50_ms);
    report.value("echo_p99_ms", Unit::Milliseconds, sample.p99_ms);
    shell.end().await
}

/// Sessions through a gateway that is a process of its own, which nothing else goes through.
async fn idle(daemon: &Daemon, bench: &Bench, report: &mut Report) -> Result<(), String> {
    let edge = Edge::start(daemon, bench).await?;
    // What the first sessions allocate for all of them is not theirs.
    let mut shells: Vec<Shell> = Vec::with_capacity(IDLE + 10);
    for _ in 0..10 {
        shells.push(bench.open_at(&edge.url, "sleep 600").await?);
    }
    tokio::time::sleep(REST).await;
    let before = edge.memory_kib()?;
    for _ in 0..IDLE {
        shells.push(bench.open_at(&edge.url, "sleep 600").await?);
    }
    tokio::time::sleep(REST).await;
    let each = (edge.memory_kib()? - before) / IDLE as f64;
    report.value("gateway_kib_per_idle_session", Unit::Kibibytes, each);
    drop(shells);
    drop(edge);
    Ok(())
}

fn median(mut rounds: Vec<f64>) -> f64 {
    rounds.sort_unstable_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
