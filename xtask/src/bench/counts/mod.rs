//! What one allocation costs from the request until it was charged: round trips to
//! the database, statements, transactions, rows, and visits of reconcilers. Counted
//! on a fleet that does nothing else; what it does by being there is subtracted.

mod snapshot;
mod tap;

use std::time::{Duration, Instant};

use contract::id::OrganizationId;

use super::daemon::Daemon;
use super::figure::{Unit, number};
use super::fleet::{Asking, burst};
use super::http::Connection;
use super::options::Options;
use super::pgbench::Database;
use super::psql::Session;
use super::report::Report;
use snapshot::{Counts, Snapshot};
use tap::Tap;

/// Hosts of eight GPUs, enough for all that is requested.
const SIM_NODES: u16 = 12;
/// Requested before anything is counted, so that caches and prepared statements are there.
const WARM_UP: usize = 24;
const ALLOCATIONS: usize = 50;
/// How long the idle fleet is watched.
const IDLE: Duration = Duration::from_secs(30);
const IDLE_SHORT: Duration = Duration::from_secs(15);
/// PostgreSQL's processes report what they did at the latest so long after.
const SETTLE: Duration = Duration::from_secs(12);
/// Of the statements, those that are run most.
const SHOWN: usize = 30;
/// What is rarer is noise of the background.
const NOISE: f64 = 0.05;

const READY: &str = "SELECT count(*) FROM nodes WHERE state = 'ready' AND health = 'ok'";
/// Room for the texts of all statements, since those that set something all differ.
const PRELOAD: &str = "\nshared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.max = 50000\n";

pub async fn measure(options: &Options, report: &mut Report) -> Result<(), String> {
    let (mut daemon, database) = start().await?;
    let tap = Tap::between(database.socket_dir())?;
    let database = database.by_port(tap::BEHIND);
    let counted = count(&daemon, &database, &tap, if options.is_short { IDLE_SHORT } else { IDLE }).await;
    drop(tap);
    show(&counted?, report);
    daemon.stop().await
}

/// A server whose PostgreSQL counts statements, if it can, and what is woken.
async fn start() -> Result<(Daemon, Database), String> {
    let mut daemon = Daemon::start(SIM_NODES).await?;
    daemon.raise_limits().await?;
    let database = Database::of(&daemon)?;
    let available = "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements';";
    let counts_statements = database.execute(available)?.trim() == "1";
    if counts_statements {
        database.configure(PRELOAD)?;
        daemon.stop().await?;
        daemon.start_again().await?;
    }
    let database = Database::of(&daemon)?;
    database.execute(include_str!("prepare.sql"))?;
    if counts_statements {
        database.execute("CREATE EXTENSION pg_stat_statements SCHEMA bench;")?;
    }
    Ok((daemon, database))
}

/// The counts of one allocation.
async fn count(daemon: &Daemon, database: &Database, tap: &Tap, watched: Duration) -> Result<Counts, String> {
    let mut session = database.session()?;
    session.wait(READY, SIM_NODES.into()).await?;
    // Connections of before do not lead through the tap.
    database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gpuaas';")?;
    let asking = Asking::of(daemon)?;
    let organization = organization(daemon)?;
    burst(&asking, WARM_UP).await?;
    session.wait("SELECT count(*) FROM allocations WHERE state = 'active'", WARM_UP as u64).await?;
    charge(database, &mut session, &organization).await?;
    let first = settled(database, tap, &session).await?;
    tokio::time::sleep(watched).await;
    let second = settled(database, tap, &session).await?;
    let mut connection = Connection::open(daemon.address()).await?;
    for _ in 0..ALLOCATIONS {
        let id = asking.create(&mut connection).await?;
        until_active(&mut session, &id).await?;
    }
    charge(database, &mut session, &organization).await?;
    let third = settled(database, tap, &session).await?;
    Ok(third.since(&second).less(&second.since(&first)).each(ALLOCATIONS))
}

async fn settled(database: &Database, tap: &Tap, session: &Session) -> Result<Snapshot, String> {
    tokio::time::sleep(SETTLE).await;
    let mut counts = Counts::parse(&database.execute(include_str!("snapshot.sql"))?)?;
    counts.add("round_trips", "", tap.round_trips() as f64);
    // The statements that wait for something are ours.
    counts.add("transactions", "", -(session.asked() as f64));
    Ok(Snapshot { counts, at: Instant::now() })
}

async fn until_active(session: &mut Session, id: &str) -> Result<(), String> {
    let id: contract::id::AllocationId = id.parse().map_err(|_| format!("{id} is no allocation"))?;
    let active = format!("SELECT count(*) FROM allocations WHERE id = '{}' AND state = 'active'", id.uuid());
    session.wait(&active, 1).await
}

/// Makes the organization's window due, and waits until its usage is posted up to now.
async fn charge(database: &Database, session: &mut Session, organization: &str) -> Result<(), String> {
    let now = session.ask("SELECT app_now()")?;
    database.execute(&format!(
        "INSERT INTO work (kind, id, due_at) VALUES ('books', '{organization}', app_now())
           ON CONFLICT (kind, id) DO UPDATE SET due_at = excluded.due_at, wakes = work.wakes + 1;"
    ))?;
    let posted =
        format!("SELECT count(*) FROM books WHERE organization_id = '{organization}' AND posted_to >= '{now}'");
    session.wait(&posted, 1).await
}

fn organization(daemon: &Daemon) -> Result<String, String> {
    let id = daemon.setting("GPUAAS_ORGANIZATION").ok_or("dev.env does not set GPUAAS_ORGANIZATION")?;
    let id: OrganizationId = id.parse().map_err(|_| format!("{id} is no organization"))?;
    Ok(id.uuid().to_string())
}

fn show(counts: &Counts, report: &mut Report) {
    let total = |group: &str| counts.total(group);
    report.value("allocation.round_trips", Unit::Each, total("round_trips"));
    if total("statement") > 0.0 {
        report.value("allocation.statements", Unit::Each, total("statement"));
    }
    report.value("allocation.transactions", Unit::Each, total("transactions"));
    let [inserted, updated, deleted] = ["inserted", "updated", "deleted"].map(total);
    let text = changes(inserted, updated, deleted);
    report.remarked("allocation.rows", Unit::Each, inserted + updated + deleted, text);
    report.value("allocation.wakes", Unit::Each, total("wake"));
    report.value("allocation.visits", Unit::Each, total("visit"));
    for table in counts.names(&["inserted", "updated", "deleted"]) {
        let [inserted, updated, deleted] = ["inserted", "updated", "deleted"].map(|it| counts.of(it, &table));
        let all = inserted + updated + deleted;
        if all > NOISE {
            let name = format!("allocation.rows.{table}");
            report.remarked_fact(&name, Unit::Each, all, changes(inserted, updated, deleted));
        }
    }
    for kind in counts.names(&["wake", "visit"]) {
        let (wakes, visits) = (counts.of("wake", &kind), counts.of("visit", &kind));
        if wakes + visits > NOISE {
            let name = format!("allocation.wakes.{kind}");
            report.remarked_fact(&name, Unit::Each, wakes, format!("{} visits", number(visits)));
        }
    }
    report.say("statements that one allocation runs most:");
    for (text, count) in counts.most("statement", SHOWN) {
        report.say(format!("{:>8}  {text}", number(count)));
    }
}

fn changes(inserted: f64, updated: f64, deleted: f64) -> String {
    format!("{} inserted, {} updated, {} deleted", number(inserted), number(updated), number(deleted))
}
