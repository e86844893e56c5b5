//! A NATS server that dies, forgets or is late costs time, never an event.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use gpuaasd::adapters::nats::{ACK_WAIT, READER, in_flight};
use kernel::{
    Tx,
    bus::{BoxFuture, ConsumeError, Consumer},
    outbox::Message,
};
use testkit::{
    bus_conformance::{Recorder, Stand},
    rounds,
    server::eventually,
    services,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_and_started_again_under_load_loses_and_doubles_nothing() {
    let mut stand = Stand::nats().await;
    let mut nats = stand.nats.take().unwrap();
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    let (over, said) = (AtomicBool::new(false), AtomicUsize::new(0));
    let write = async {
        let (mut written, mut slowest) = (0, Duration::ZERO);
        while !over.load(Ordering::Relaxed) {
            let started = Instant::now();
            written += 1;
            stand.say("thing.made", &format!("r{}", written % 7), written as i64).await;
            said.store(written, Ordering::Relaxed);
            slowest = slowest.max(started.elapsed());
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        (written, slowest)
    };
    let kill = async {
        for round in 0..rounds(30) as u64 {
            // pause: a steady pace of writes
            tokio::time::sleep(Duration::from_millis(300 + round * 37 % 200)).await;
            nats.kill().await;
            let enough = said.load(Ordering::Relaxed) + 5 + (round * 53 % 50) as usize;
            eventually("work to go on without NATS", || async { said.load(Ordering::Relaxed) >= enough }).await;
            nats.start_again().await;
        }
        over.store(true, Ordering::Relaxed);
    };
    let ((written, slowest), ()) = tokio::join!(write, kill);
    let effects = stand.effects_become("test.all", written).await;
    for resource in 0..7 {
        let of_one = effects.iter().filter(|it| it.resource == format!("r{resource}"));
        assert!(of_one.is_sorted_by_key(|it| it.version), "r{resource} in order");
    }
    println!("{} kills, {written} events, 0 lost, 0 doubled; slowest commit {slowest:?}", rounds(30));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lost_its_disk_is_filled_again() {
    let mut stand = Stand::nats().await;
    let mut nats = stand.nats.take().unwrap();
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    for version in 1..=20 {
        stand.say("thing.made", "a", version).await;
    }
    stand.effects_become("test.all", 20).await;
    running.stop().await;
    let relay_only = stand.run(Vec::new());
    for version in 21..=30 {
        stand.say("thing.made", "a", version).await;
    }
    relay_is_done(&stand).await;
    nats.lose().await;
    nats.start_again().await;
    relay_only.stop().await;
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    let effects = stand.effects_become("test.all", 30).await;
    assert!(effects.is_sorted_by_key(|it| it.version));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_starts_without_the_server_and_finds_it_later() {
    let mut nats = services::nats().await;
    nats.kill().await;
    let mut stand = Stand::on(Some(nats)).await;
    let mut nats = stand.nats.take().unwrap();
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    stand.say("thing.made", "a", 1).await;
    let readiness = async || -> serde_json::Value {
        let answer = reqwest::get(format!("{}/readyz", stand.world.server.base)).await.unwrap();
        assert!(answer.status().is_success(), "requests are served all the same");
        answer.json().await.unwrap()
    };
    let said = readiness().await;
    assert_eq!(said["missing"], serde_json::json!(["nats"]));
    assert!(said["parts"]["nats"].as_str().unwrap().contains("wait in the database"), "{said}");
    nats.start_again().await;
    stand.effects_become("test.all", 1).await;
    assert_eq!(readiness().await["parts"]["nats"], "ok");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_database_repeats_what_it_holds_and_ignores_what_it_never_did() {
    let stand = Stand::nats().await;
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    for version in 1..=5 {
        stand.say("thing.made", "a", version).await;
    }
    stand.effects_become("test.all", 5).await;
    running.stop().await;
    let relay_only = stand.run(Vec::new());
    stand.say("thing.made", "a", 6).await;
    relay_is_done(&stand).await;
    relay_only.stop().await;

    // As a backup from before the fifth effect and the sixth event.
    let restore = "DELETE FROM consumed WHERE message_id = (SELECT id FROM outbox WHERE version = 5);
        DELETE FROM effects WHERE version = 5; DELETE FROM outbox WHERE version = 6;
        UPDATE installation SET epoch = epoch + 1";
    sqlx::raw_sql(restore).execute(&mut stand.admin().await).await.unwrap();
    let restored = stand.replica().await;
    let running = stand.run_in(&restored.control_plane, vec![Recorder::new("test.all", "thing.")]);
    let effects = stand.effects_become("test.all", 5).await;
    assert_eq!(effects.iter().map(|it| it.version).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    running.stop().await;
    restored.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_of_the_bus_that_is_not_used_do_not_keep_events() {
    let stand = Stand::embedded().await;
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    stand.say("thing.made", "a", 1).await;
    stand.effects_become("test.all", 1).await;
    running.stop().await;
    let nats = services::nats().await;
    let stand = Stand { nats: Some(nats), ..stand };
    let moved = stand.replica().await;
    let running = stand.run_in(&moved.control_plane, vec![Recorder::new("test.all", "thing.")]);
    stand.say("thing.made", "a", 2).await;
    let effects = stand.effects_become("test.all", 2).await;
    assert_eq!(effects.iter().map(|it| it.version).collect::<Vec<_>>(), [1, 2], "the change of bus repeats nothing");
    relay_is_done(&stand).await;
    let readers = kernel::gauges::measure(&stand.control_plane().db).await.unwrap().readers;
    assert_eq!(readers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [READER]);
    running.stop().await;
    moved.stop().await;
}

/// Holds every message for a while, or for ever, and counts how many it holds.
struct Holding {
    name: &'static str,
    patience: Duration,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    done: Arc<AtomicUsize>,
}

impl Consumer for Holding {
    fn name(&self) -> &'static str {
        self.name
    }

    fn wants(&self, subject: &str) -> bool {
        subject.starts_with("thing.")
    }

    fn handle<'a>(&'a self, _: &'a mut Tx, _: &'a Message) -> BoxFuture<'a, Result<(), ConsumeError>> {
        Box::pin(async move {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            // pause: a handler that takes its time
            tokio::time::sleep(self.patience).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            self.done.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_leave_most_database_connections_to_others() {
    let stand = Stand::nats().await;
    let (now, most, done): (Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
    let consumers = ["test.a", "test.b", "test.c", "test.d", "test.e", "test.f"].map(|name| {
        let (now, most, done) = (now.clone(), most.clone(), done.clone());
        Arc::new(Holding { name, patience: Duration::from_millis(30), now, most, done }) as Arc<dyn Consumer>
    });
    let running = stand.run(consumers.to_vec());
    for version in 0..40 {
        stand.say("thing.made", &format!("r{version}"), 1).await;
    }
    eventually("every consumer to have every message", || async { done.load(Ordering::SeqCst) == 6 * 40 }).await;
    let (most, connections) = (most.load(Ordering::SeqCst), stand.control_plane().db.pool_use().1);
    println!("6 consumers of 8 partitions had {most} transactions open at most, of {connections} connections");
    assert!(most <= in_flight(connections), "{most} of {connections} connections were theirs");
    assert!(in_flight(connections) <= connections / 2, "most are for others");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_of_a_killed_replica_are_taken_over_within_seconds() {
    let stand = Stand { ack_wait: ACK_WAIT, ..Stand::nats().await };
    let other = stand.replica().await;
    let now = Arc::new(AtomicUsize::new(0));
    let stuck = Holding {
        name: "test.all",
        patience: Duration::from_secs(3600),
        now: now.clone(),
        most: Arc::default(),
        done: Arc::default(),
    };
    let killed = stand.run_in(&other.control_plane, vec![Arc::new(stuck)]);
    for version in 0..16 {
        stand.say("thing.made", &format!("r{version}"), 1).await;
    }
    let held = in_flight(other.control_plane.db.pool_use().1);
    eventually("the first replica to hold messages", || async { now.load(Ordering::SeqCst) == held }).await;
    killed.kill().await;
    other.stop().await;
    let started = Instant::now();
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    stand.effects_become("test.all", 16).await;
    let took = started.elapsed();
    println!("the messages of a killed replica were taken over after {took:?}; the server waits {ACK_WAIT:?}");
    const { assert!(ACK_WAIT.as_secs() <= 5, "the messages of a killed replica wait for this long") };
    running.stop().await;
}

/// Long work keeps its message, though the server waits only a short time for a sign of it.
#[tokio::test(flavor = "multi_thread")]
async fn message_that_is_worked_on_is_not_given_to_another_replica() {
    let ack_wait = Duration::from_secs(6);
    let stand = Stand { ack_wait, ..Stand::nats_alone().await };
    let other = stand.replica().await;
    let (now, most, done): (Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
    let slow = || {
        let (now, most, done) = (now.clone(), most.clone(), done.clone());
        vec![Arc::new(Holding { name: "test.all", patience: 3 * ack_wait, now, most, done }) as Arc<dyn Consumer>]
    };
    let running = [stand.run(slow()), stand.run_in(&other.control_plane, slow())];
    stand.say("thing.made", "r0", 1).await;
    // Another delivery would wait for the note of the first, which keeps effects from doubling.
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO consumed%'";
    let second_deliveries = AtomicUsize::new(0);
    eventually("the message to be handled", || async {
        let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&mut stand.admin().await).await.unwrap();
        second_deliveries.fetch_add(waiting as usize, Ordering::SeqCst);
        done.load(Ordering::SeqCst) > 0
    })
    .await;
    let seen = (most.load(Ordering::SeqCst), now.load(Ordering::SeqCst), done.load(Ordering::SeqCst));
    assert_eq!(seen, (1, 0, 1), "(handlers at once, still handling, handled)");
    assert_eq!(second_deliveries.into_inner(), 0, "another replica was given the message meanwhile");
    for one in running {
        one.stop().await;
    }
    other.stop().await;
}

async fn relay_is_done(stand: &Stand) {
    eventually("the relay", || async {
        let measured = kernel::gauges::measure(&stand.control_plane().db).await.unwrap();
        measured.readers.iter().any(|(name, lag_s)| name == READER && *lag_s == 0.0)
    })
    .await;
}
