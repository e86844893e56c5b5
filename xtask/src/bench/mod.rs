//! Measures the release build against bare `pgbench` on the same PostgreSQL, in
//! one run and by turns, and prints one JSON document. It compares; it does not
//! explain: for that, attach a profiler while it runs.

mod access;
mod cpu;
mod daemon;
mod fleet;
mod http;
mod load;
mod money;
mod pgbench;
mod places;
mod report;
mod sample;

use std::path::Path;
use std::time::Duration;

use cpu::Used;
use daemon::Daemon;
use gpuaasd::dev::postgres::Binaries;
use load::Load;
use pgbench::Database;
use places::Fleet;
use report::{Bar, Compared};

/// What is sent to the server before anything is counted.
const WARM_UP: Duration = Duration::from_secs(2);
/// How long the daemon rests before its memory is read.
const REST: Duration = Duration::from_secs(10);
/// As many simulated nodes as `gpuaasd dev` runs unless told otherwise.
const SIM_NODES: u16 = 4;

pub struct Options {
    /// How long one round of one contestant lasts.
    seconds: u64,
    /// How often the contestants take turns.
    rounds: usize,
    only: Option<Load>,
    /// Whether allocations, the planner and many agents are measured too, or alone.
    fleet: bool,
    /// Whether postings, proofs and balances are measured too, or alone.
    money: bool,
    /// Whether terminals are measured too, or alone.
    access: bool,
    /// Whether requests are measured beside pgbench.
    requests: bool,
    bars: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Options {
            seconds: 10,
            rounds: 3,
            only: None,
            fleet: true,
            money: true,
            access: true,
            requests: true,
            bars: true,
        };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value; {USAGE}"));
            match word.as_str() {
                "--seconds" => options.seconds = number(value()?)?,
                "--rounds" => options.rounds = number(value()?)? as usize,
                "--only" => match value()?.as_str() {
                    "fleet" => (options.requests, options.money, options.access) = (false, false, false),
                    "money" => (options.requests, options.fleet, options.access) = (false, false, false),
                    "access" => (options.requests, options.fleet, options.money) = (false, false, false),
                    word => {
                        options.only = Some(Load::parse(word).ok_or(USAGE)?);
                        (options.fleet, options.money, options.access) = (false, false, false);
                    }
                },
                "--no-bars" => options.bars = false,
                _ => return Err(format!("{word} is not known; {USAGE}")),
            }
        }
        Ok(options)
    }

    fn measures(&self, load: Load) -> bool {
        self.only.is_none_or(|it| it == load)
    }
}

const USAGE: &str = "bench takes --seconds N, --rounds N, --only writes|reads|fleet|money|access and --no-bars";

fn number(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|it| *it > 0).ok_or(format!("{text} is not a number above zero; {USAGE}"))
}

/// Runs everything, prints the document, and fails when a bar is missed.
pub fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    if cfg!(debug_assertions) {
        return Err("run `make bench`: an unoptimized load generator would measure itself".to_owned());
    }
    // One thread is enough to keep the server busy and leaves it the others.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let (document, missed) = runtime.block_on(measure(root, &options))?;
    println!("{document:#}");
    if missed.is_empty() || !options.bars {
        return Ok(());
    }
    Err(format!("missed: {}; profile with `--only` and look for what changed", missed.join(", ")))
}

async fn measure(root: &Path, options: &Options) -> Result<(serde_json::Value, Vec<String>), String> {
    let version = Binaries::find().map_err(|error| error.to_string())?.version();
    let mut report = report::Report::new(options.seconds, options.rounds, version);
    if options.requests {
        requests(root, options, &mut report).await?;
    }
    if options.fleet {
        fleet::measure(root, &mut report).await?;
    }
    if options.money {
        money::measure(root, &mut report).await?;
    }
    if options.access {
        access::measure(root, &mut report).await?;
    }
    Ok(report.finish())
}

/// The cost of a request, the memory at rest, and how soon it is ready.
async fn requests(root: &Path, options: &Options, report: &mut report::Report) -> Result<(), String> {
    let mut daemon = Daemon::start(root, SIM_NODES).await?;
    tokio::time::sleep(REST).await;
    let memory_mib = daemon.memory_mib()?;
    daemon.raise_limits().await?;
    let database = Database::of(&daemon)?;
    for load in [Load::Writes, Load::Reads].into_iter().filter(|it| options.measures(*it)) {
        let compared = compare(&daemon, &database, load, options).await?;
        report.compared(load.name(), &compared);
    }
    report.note("memory_after_load_mib", daemon.memory_mib()?);
    report.value("idle_memory_mib", memory_mib, Bar::Below(80.0));
    daemon.stop().await?;
    report.value("start_to_ready_s", daemon.start_again().await?, Bar::Below(2.0));
    daemon.kill().await?;
    report.note("start_to_ready_after_kill_s", daemon.start_again().await?);
    daemon.stop().await
}

/// Lets server and pgbench take turns, each round on organizations of its own,
/// so that tables grow alike and no round meets what another left behind.
async fn compare(daemon: &Daemon, database: &Database, load: Load, options: &Options) -> Result<Compared, String> {
    let mut compared = Compared::default();
    let used = || Used::so_far(daemon.process(), database.postmaster());
    let lasting = Duration::from_secs(options.seconds);
    for _ in 0..options.rounds {
        let fleet = Fleet::settle(database)?;
        database.rest()?;
        load::run(daemon.address(), &fleet, load, WARM_UP).await?;
        let before = used();
        let mut ours = load::run(daemon.address(), &fleet, load, lasting).await?;
        ours.cpu = used().per_request(before, &ours);
        compared.ours.push(ours);
        database.rest()?;
        let fleet = Fleet::settle(database)?;
        // Bare means that nothing else works on the database meanwhile.
        daemon.pause()?;
        let before = used();
        let bare = database.bench(&fleet, load, options.seconds);
        daemon.resume()?;
        let mut bare = bare?;
        // Its connections end with it, so their time is counted by now or soon.
        bare.cpu = used().per_request(before, &bare);
        compared.bare.push(bare);
    }
    Ok(compared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn options_are_read_and_a_wrong_one_says_what_is_taken() {
        let options = parse("--seconds 3 --rounds 1 --only reads --no-bars").unwrap();
        assert_eq!((options.seconds, options.rounds, options.bars), (3, 1, false));
        assert!(options.measures(Load::Reads) && !options.measures(Load::Writes));
        for wrong in ["--seconds", "--seconds 0", "--only deletes", "--fast"] {
            assert!(parse(wrong).err().unwrap().contains("bench takes"), "{wrong}");
        }
    }
}
