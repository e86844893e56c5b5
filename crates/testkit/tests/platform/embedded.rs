//! The embedded bus, one pass at a time.

use std::time::Duration;

use kernel::{
    Db,
    bus::{
        embedded::{Pass, pass},
        readers,
    },
};
use sqlx::AssertSqlSafe;
use testkit::{
    bus_conformance::{Recorder, Stand},
    server::eventually,
};
use tokio_util::sync::CancellationToken;

/// Passes until the reader has seen everything.
async fn drain(stand: &Stand, db: &Db, recorder: &Recorder) {
    eventually("the reader", || async {
        pass(db, recorder, &stand.settings, &CancellationToken::new()).await.unwrap();
        let measured = kernel::gauges::measure(db).await.unwrap();
        measured.readers.iter().all(|(_, lag_s)| *lag_s == 0.0)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wanted_events_are_found_among_others_and_the_position_moves_past_both() {
    let stand = Stand::embedded().await;
    let db = &stand.control_plane().db;
    let recorder = Recorder::new("test.all", "thing.");
    for version in 1..=3 {
        for _ in 0..7 {
            stand.say("noise.made", "noise", version).await;
        }
        stand.say("thing.made", "a", version).await;
    }
    stand.say("noise.made", "noise", 4).await;
    drain(&stand, db, &recorder).await;
    let effects = stand.effects("test.all").await;
    assert_eq!(effects.iter().map(|it| it.version).collect::<Vec<_>>(), [1, 2, 3]);
    let (_, left) = readers::batch(db, "test.all", 10).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_finds_nothing_writes_nothing() {
    let stand = Stand::embedded().await;
    let recorder = Recorder::new("test.all", "thing.");
    drain(&stand, &stand.control_plane().db, &recorder).await;
    let name = &stand.world.server.database.name;
    let forbid = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
    sqlx::raw_sql(AssertSqlSafe(forbid)).execute(&mut stand.admin().await).await.unwrap();
    let db = Db::connect(&stand.control_plane().config.db_settings()).await.unwrap();
    let outcome = pass(&db, &*recorder, &stand.settings, &CancellationToken::new()).await.unwrap();
    assert_eq!(outcome, Pass::Rest(stand.settings.poll));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_makes_the_reader_rest_and_a_success_ends_the_rest() {
    let mut stand = Stand::embedded().await;
    stand.settings.first_retry = Duration::from_secs(60);
    stand.settings.slowest_retry = Duration::from_secs(60);
    let db = stand.control_plane().db.clone();
    let recorder = Recorder::new("test.all", "thing.");
    recorder.fail_on("a");
    stand.say("thing.made", "a", 1).await;
    stand.say("thing.made", "b", 1).await;
    let once = async || pass(&db, &*recorder, &stand.settings, &CancellationToken::new()).await.unwrap();
    eventually("the first try", || async {
        once().await;
        recorder.tries("a", 1) == 1
    })
    .await;
    for _ in 0..3 {
        assert!(matches!(once().await, Pass::Rest(_)));
    }
    assert_eq!(recorder.tries("a", 1), 1, "it rests");
    let (reader, messages) = readers::batch(&db, "test.all", 10).await.unwrap();
    assert_eq!((reader.attempts, messages.len()), (1, 0));
    recorder.recover();
    db.clock.advance(Duration::from_secs(61));
    drain(&stand, &db, &recorder).await;
    assert_eq!(stand.effects("test.all").await.len(), 2);
    assert!(readers::batch(&db, "test.all", 10).await.unwrap().0.rest.is_zero());
}
