//! A NATS server that dies, forgets or is late costs time, never an event.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use control::adapters::nats::READER;
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
    let over = AtomicBool::new(false);
    let write = async {
        let (mut written, mut slowest) = (0, Duration::ZERO);
        while !over.load(Ordering::Relaxed) {
            let started = Instant::now();
            written += 1;
            stand.say("thing.made", &format!("r{}", written % 7), written as i64).await;
            slowest = slowest.max(started.elapsed());
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        (written, slowest)
    };
    let kill = async {
        for round in 0..rounds(30) as u64 {
            tokio::time::sleep(Duration::from_millis(300 + round * 37 % 200)).await;
            nats.kill().await;
            tokio::time::sleep(Duration::from_millis(200 + round * 53 % 300)).await;
            nats.start_again().await;
        }
        over.store(true, Ordering::Relaxed);
    };
    let ((written, slowest), ()) = tokio::join!(write, kill);
    assert!(written > rounds(30) * 20, "work went on: {written} events");
    assert!(slowest < Duration::from_secs(2), "a commit took {slowest:?}: work waits for nothing");
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
    let running = stand.run_in(&restored.app, vec![Recorder::new("test.all", "thing.")]);
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
    let running = stand.run_in(&moved.app, vec![Recorder::new("test.all", "thing.")]);
    stand.say("thing.made", "a", 2).await;
    let effects = stand.effects_become("test.all", 2).await;
    assert_eq!(effects.iter().map(|it| it.version).collect::<Vec<_>>(), [1, 2], "the change of bus repeats nothing");
    relay_is_done(&stand).await;
    let readers = kernel::gauges::measure(&stand.app().db).await.unwrap().readers;
    assert_eq!(readers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [READER]);
    running.stop().await;
    moved.stop().await;
}

async fn relay_is_done(stand: &Stand) {
    eventually("the relay", || async {
        let measured = kernel::gauges::measure(&stand.app().db).await.unwrap();
        measured.readers.iter().any(|(name, lag_s)| name == READER && *lag_s == 0.0)
    })
    .await;
}
