//! Nothing is lost or doubled when consumers die or when several run.

use std::{collections::HashSet, time::Duration};

use kernel::{
    Access, Tx,
    bus::{Outcome, deliver},
    outbox::{self, Position},
};

use super::{Effect, Recorder, Stand};
use crate::rounds;

pub async fn an_effect_that_was_not_acknowledged_is_not_doubled(stand: Stand) {
    let recorder = Recorder::new("test.all", "thing.");
    for version in 1..=5 {
        stand.say("thing.made", "a", version).await;
    }
    // The effect is committed, and nobody hears of it.
    let db = &stand.control_plane().db;
    let first = loop {
        let mut tx = Tx::system(db, "conformance", Access::Read).await.unwrap();
        let messages = outbox::read(&mut tx, Position::START, 100).await.unwrap();
        tx.commit().await.unwrap();
        // Transactions of other tests in the same cluster may hold it back.
        if let Some((_, message)) = messages.into_iter().find(|(_, it)| it.subject == "thing.made") {
            break message;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let outcome = deliver(db, &*recorder, &first, 1, &stand.settings, None).await.unwrap();
    assert_eq!(outcome, Outcome::Settled);
    let running = stand.run(vec![recorder.clone()]);
    once_each(&stand.effects_become("test.all", 5).await);
    assert_eq!(recorder.tries("a", 1), 1);
    running.stop().await;
}

pub async fn consumers_killed_at_any_moment_lose_and_double_nothing(stand: Stand) {
    let rounds = rounds(100);
    let recorder = Recorder::new("test.all", "thing.");
    let mut version = 0;
    for round in 0..rounds {
        let running = stand.run(vec![recorder.clone()]);
        for _ in 0..10 {
            version += 1;
            stand.say("thing.made", "a", version).await;
        }
        // pause: the crash comes at a different moment every time
        tokio::time::sleep(Duration::from_micros((round as u64 * 7_919) % 40_000)).await;
        running.kill().await;
    }
    let running = stand.run(vec![recorder.clone()]);
    let effects = stand.effects_become("test.all", rounds * 10).await;
    once_each(&effects);
    assert!(effects.is_sorted_by_key(|it| it.version), "in order all the same");
    running.stop().await;
}

pub async fn two_replicas_of_a_consumer_do_not_double_effects(stand: Stand) {
    let other = stand.replica().await;
    let running = [
        stand.run(vec![Recorder::new("test.all", "thing.")]),
        stand.run_in(&other.control_plane, vec![Recorder::new("test.all", "thing.")]),
    ];
    for version in 1..=50 {
        stand.say("thing.made", &format!("r{}", version % 5), version).await;
    }
    let effects = stand.effects_become("test.all", 50).await;
    once_each(&effects);
    for resource in 0..5 {
        let of_one = effects.iter().filter(|it| it.resource == format!("r{resource}"));
        assert!(of_one.is_sorted_by_key(|it| it.version));
    }
    for one in running {
        one.stop().await;
    }
    other.stop().await;
}

fn once_each(effects: &[Effect]) {
    let distinct: HashSet<_> = effects.iter().map(|it| it.message_id).collect();
    assert_eq!(distinct.len(), effects.len());
}
