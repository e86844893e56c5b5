//! The cost of a request beside the same work done bare, the memory at rest, and
//! how soon the server is ready: all on one server, as its tables grow.

use std::time::Duration;

use super::cpu::Used;
use super::daemon::Daemon;
use super::figure::Unit;
use super::load::{self, Load};
use super::options::Options;
use super::part::Part;
use super::pgbench::Database;
use super::places::Fleet;
use super::report::{Compared, Report};

/// What is sent to the server before anything is counted.
const WARM_UP: Duration = Duration::from_secs(2);
/// How long the daemon rests before its memory is read.
const REST: Duration = Duration::from_secs(10);
/// As many simulated nodes as `gpuaasd dev` runs unless told otherwise.
const SIM_NODES: u16 = 4;

pub async fn measure(options: &Options, report: &mut Report) -> Result<(), String> {
    let mut daemon = Daemon::start(SIM_NODES).await?;
    if options.measures(Part::Idle) {
        tokio::time::sleep(REST).await;
        report.enter(Part::Idle);
        report.value("idle_memory_mib", Unit::Mebibytes, daemon.memory_mib()?);
    }
    daemon.raise_limits().await?;
    let database = Database::of(&daemon)?;
    for load in [Load::Writes, Load::Reads, Load::Lists].into_iter().filter(|it| options.measures(it.part())) {
        let part = load.part();
        report.enter(part);
        let (compared, outcome) = compare(&daemon, &database, load, options).await;
        if !compared.bare.is_empty() {
            report.compared(part.name(), &compared);
        }
        if let Err(error) = outcome {
            report.failed(part.name(), &error);
        }
    }
    if options.measures(Part::Idle) {
        report.enter(Part::Idle);
        report.value("memory_after_load_mib", Unit::Mebibytes, daemon.memory_mib()?);
        daemon.stop().await?;
        report.value("start_to_ready_s", Unit::Seconds, daemon.start_again().await?);
        daemon.kill().await?;
        report.value("start_to_ready_after_kill_s", Unit::Seconds, daemon.start_again().await?);
    }
    daemon.stop().await
}

/// Every round that both finished, and what ended them early.
async fn compare(
    daemon: &Daemon,
    database: &Database,
    load: Load,
    options: &Options,
) -> (Compared, Result<(), String>) {
    let mut compared = Compared::default();
    for _ in 0..options.rounds {
        if let Err(error) = round(daemon, database, load, options.seconds, &mut compared).await {
            compared.ours.truncate(compared.bare.len());
            return (compared, Err(error));
        }
    }
    (compared, Ok(()))
}

/// Lets server and pgbench take turns, each on organizations of its own, so that
/// tables grow alike and no round meets what another left behind.
async fn round(
    daemon: &Daemon,
    database: &Database,
    load: Load,
    seconds: u64,
    compared: &mut Compared,
) -> Result<(), String> {
    let used = || Used::so_far(daemon.process(), database.postmaster());
    let fleet = Fleet::settle(database, load.projects())?;
    database.rest()?;
    load::run(daemon.address(), &fleet, load, WARM_UP).await?;
    let before = used();
    let mut ours = load::run(daemon.address(), &fleet, load, Duration::from_secs(seconds)).await?;
    ours.cpu = used().per_request(before, &ours);
    compared.ours.push(ours);
    database.rest()?;
    let fleet = Fleet::settle(database, load.projects())?;
    // Bare means that nothing else works on the database meanwhile.
    daemon.pause()?;
    let before = used();
    let bare = database.bench(&fleet, load, seconds);
    daemon.resume()?;
    let mut bare = bare?;
    // Its connections end with it, so their time is counted by now or soon.
    bare.cpu = used().per_request(before, &bare);
    compared.bare.push(bare);
    Ok(())
}
