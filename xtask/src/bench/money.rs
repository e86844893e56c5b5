//! Money under load: posting a window for a hundred thousand allocations,
//! proving a million intervals, and reading a balance with a million entries
//! behind it.

use std::time::{Duration, Instant};

use contract::id::OrganizationId;

use super::daemon::Daemon;
use super::figure::Unit;
use super::http::{Connection, request};
use super::pgbench::Database;
use super::report::Report;
use super::sample::Sample;

/// How long posting may take before the measuring gives up.
const PATIENCE: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(50);
/// Balances that are read, one after the other.
const READS: usize = 2_000;
/// Intervals that are charged in one window.
const RUNNING: f64 = 100_000.0;

pub async fn measure(report: &mut Report) -> Result<(), String> {
    let mut daemon = Daemon::start(0).await?;
    daemon.raise_limits().await?;
    let database = Database::of(&daemon)?;
    database.execute(include_str!("money.sql"))?;
    report.value("history_posting_s", Unit::Seconds, post(&daemon, &database).await?);
    prove(&daemon, report).await?;
    accrue(&daemon, &database, report).await?;
    balance(&daemon, &database, report).await?;
    daemon.stop().await
}

/// Makes every window due, and waits until all are posted; how many seconds it took.
async fn post(daemon: &Daemon, database: &Database) -> Result<f64, String> {
    database.execute(
        "DROP TABLE IF EXISTS bench_due; CREATE TABLE bench_due AS SELECT app_now() AS at;
         INSERT INTO work (kind, id, due_at) SELECT 'books', organization_id, app_now() FROM bench_money
           ON CONFLICT (kind, id) DO UPDATE SET due_at = excluded.due_at, wakes = work.wakes + 1;",
    )?;
    let started = Instant::now();
    daemon.ring().await?;
    let left = "SELECT count(*) FROM books JOIN bench_money USING (organization_id) WHERE posted_to < (SELECT at FROM bench_due);";
    while database.execute(left)?.trim() != "0" {
        if started.elapsed() > PATIENCE {
            return Err(format!("windows were not posted within {PATIENCE:?}"));
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(started.elapsed().as_secs_f64())
}

/// The product's own posting beside the same rows inserted bare.
async fn accrue(daemon: &Daemon, database: &Database, report: &mut Report) -> Result<(), String> {
    let seconds = post(daemon, database).await?;
    daemon.pause()?;
    let bare = database.execute(
        "CREATE TABLE bare (LIKE entries INCLUDING ALL);
         CREATE TEMP TABLE begun AS SELECT clock_timestamp() AS at;
         INSERT INTO bare SELECT e.* FROM entries e JOIN books b USING (organization_id) JOIN bench_money USING (organization_id)
           WHERE e.number = b.journals;
         SELECT extract(epoch FROM clock_timestamp() - at) FROM begun;",
    );
    daemon.resume()?;
    let bare: f64 = bare?.trim().parse().map_err(|_| "psql printed no time")?;
    report.value("accrual_100000_s", Unit::Seconds, seconds);
    report.value("accrual_per_s", Unit::PerSecond, RUNNING / seconds);
    report.fact("bare_insert_per_s", Unit::PerSecond, RUNNING / bare);
    report.value("accrual_ratio", Unit::Ratio, bare / seconds);
    Ok(())
}

async fn prove(daemon: &Daemon, report: &mut Report) -> Result<(), String> {
    let token = daemon.setting("GPUAAS_OPERATOR_TOKEN").ok_or("dev.env does not set GPUAAS_OPERATOR_TOKEN")?;
    let mut connection = Connection::open(daemon.address()).await?;
    let (started, mut intervals, mut after) = (Instant::now(), 0, String::new());
    loop {
        let path = format!("/v1/platform/proof{after}");
        let part = connection.ask(request("GET", &path, &token, "", "").as_bytes()).await?;
        if part["difference"].is_object() {
            return Err(format!("the books do not prove: {}", part["difference"]));
        }
        intervals += part["intervals"].as_u64().unwrap_or_default();
        match part["next_after"].as_str() {
            Some(next) => after = format!("?after={next}"),
            None => break,
        }
    }
    report.fact("proven_intervals", Unit::Count, intervals as f64);
    report.value("prove_1000000_s", Unit::Seconds, started.elapsed().as_secs_f64());
    Ok(())
}

async fn balance(daemon: &Daemon, database: &Database, report: &mut Report) -> Result<(), String> {
    let token = daemon.setting("GPUAAS_TOKEN").ok_or("dev.env does not set GPUAAS_TOKEN")?;
    let mut connection = Connection::open(daemon.address()).await?;
    let mine = connection.ask(request("GET", "/v1/organizations", &token, "", "").as_bytes()).await?;
    let organization = mine["items"][0]["id"].as_str().ok_or("the demo has no organization")?.to_owned();
    let id: OrganizationId = organization.parse().map_err(|_| "the demo's organization has no id")?;
    database.execute(&include_str!("entries.sql").replace("ORGANIZATION", &id.uuid().to_string()))?;
    let read = request("GET", &format!("/v1/organizations/{organization}/balance"), &token, "", "");
    let mut latencies = Vec::with_capacity(READS);
    let begun = Instant::now();
    for _ in 0..READS {
        let started = Instant::now();
        connection.send(read.as_bytes()).await?;
        latencies.push(u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    let sample = Sample::new(READS, begun.elapsed().as_secs_f64(), latencies);
    report.value("balance_p50_ms", Unit::Milliseconds, sample.p50_ms);
    report.value("balance_at_1000000_entries_p99_ms", Unit::Milliseconds, sample.p99_ms);
    Ok(())
}
