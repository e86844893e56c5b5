//! How fast events leave the outbox: copied into NATS JetStream and acknowledged
//! there by every consumer, and read by the consumers straight from the database.

use std::time::{Duration, Instant};

use gpuaasd::adapters::nats::READER;

use super::daemon::Daemon;
use super::figure::Unit;
use super::nats::Nats;
use super::pgbench::Database;
use super::places::Fleet;
use super::report::Report;

/// As many as `events.sql` writes.
const EVENTS: f64 = 10_000.0;
const PATIENCE: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(20);
/// Consumers are made one after the other; they are complete when none came for this long.
const QUIET: Duration = Duration::from_secs(3);

/// How many readers of the outbox have read all of it.
const ARRIVED: &str = "FROM consumers c,
    (SELECT epoch, xid, place FROM outbox ORDER BY epoch DESC, xid DESC, place DESC LIMIT 1) last
    WHERE (c.epoch, c.xid, c.place) >= (last.epoch, last.xid, last.place)";

pub async fn measure(report: &mut Report) -> Result<(), String> {
    through_nats(report).await?;
    without(report).await
}

async fn through_nats(report: &mut Report) -> Result<(), String> {
    let nats = Nats::start().await?;
    let mut daemon = Daemon::start_with(0, vec![("GPUAAS_NATS_URL", nats.url())]).await?;
    daemon.raise_limits().await?;
    let database = Database::of(&daemon)?;
    Fleet::settle(&database, 1)?;
    let consumers = all_connected(&nats).await?;
    let mut session = database.session()?;
    let arrived = format!("SELECT count(*) {ARRIVED} AND c.name = '{READER}'");
    session.wait(&arrived, 1).await?;
    database.execute(include_str!("events.sql"))?;
    let started = Instant::now();
    daemon.ring().await?;
    session.wait(&arrived, 1).await?;
    report.remarked(
        "relay.per_second",
        Unit::PerSecond,
        EVENTS / started.elapsed().as_secs_f64(),
        "from the outbox into the stream".to_owned(),
    );
    while nats.backlog().await?.unacknowledged > 0 {
        if started.elapsed() > PATIENCE {
            return Err(format!("consumers did not acknowledge {EVENTS} events within {PATIENCE:?}"));
        }
        tokio::time::sleep(POLL).await;
    }
    report.remarked(
        "relay.acknowledged_per_second",
        Unit::PerSecond,
        EVENTS / started.elapsed().as_secs_f64(),
        format!("until {consumers} consumers, one for each partition, have no more to do"),
    );
    daemon.stop().await
}

async fn without(report: &mut Report) -> Result<(), String> {
    let mut daemon = Daemon::start(0).await?;
    daemon.raise_limits().await?;
    let database = Database::of(&daemon)?;
    Fleet::settle(&database, 1)?;
    database.rest()?;
    let mut session = database.session()?;
    let consumers = session.ask("SELECT count(*) FROM consumers")?;
    let wanted = consumers.parse().map_err(|_| "psql printed no number")?;
    database.execute(include_str!("events.sql"))?;
    let started = Instant::now();
    daemon.ring().await?;
    session.wait(&format!("SELECT count(*) {ARRIVED}"), wanted).await?;
    report.remarked(
        "relay.without_nats_per_second",
        Unit::PerSecond,
        EVENTS / started.elapsed().as_secs_f64(),
        format!("until {consumers} consumers have read them from the database"),
    );
    daemon.stop().await
}

/// Waits until every consumer has a durable of its own; how many there are.
async fn all_connected(nats: &Nats) -> Result<u64, String> {
    let (mut known, mut since, started) = (0, Instant::now(), Instant::now());
    loop {
        let backlog = nats.backlog().await?;
        if backlog.consumers != known {
            (known, since) = (backlog.consumers, Instant::now());
        }
        if known > 0 && backlog.unacknowledged == 0 && since.elapsed() > QUIET {
            return Ok(known);
        }
        if started.elapsed() > PATIENCE {
            return Err(format!("{known} consumers did not come to rest within {PATIENCE:?}"));
        }
        tokio::time::sleep(POLL).await;
    }
}
