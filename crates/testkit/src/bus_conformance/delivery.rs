//! Everything that is committed arrives, once in effect.

use std::collections::HashSet;

use futures_util::future::join_all;
use kernel::outbox;
use uuid::Uuid;

use super::{
    Recorder, Stand,
    stand::{Running, event},
};

pub async fn every_committed_event_reaches_every_consumer_that_wants_it_once(stand: Stand) {
    let (all, some) = (Recorder::new("test.all", "thing."), Recorder::new("test.some", "thing.renamed"));
    let running = stand.run(vec![all, some]);
    let writers = (0..4).map(|writer| {
        let stand = &stand;
        async move {
            for version in 1..=15 {
                stand.say("thing.made", &format!("w{writer}"), version).await;
                // More that nobody wants than a batch holds.
                for _ in 0..(version % 3) * 4 {
                    stand.say("noise.made", "noise", version).await;
                }
                if version % 5 == 0 {
                    stand.say("thing.renamed", &format!("w{writer}"), version).await;
                }
            }
        }
    });
    join_all(writers).await;
    let all = stand.effects_become("test.all", 4 * 18).await;
    let some = stand.effects_become("test.some", 4 * 3).await;
    let distinct: HashSet<Uuid> = all.iter().map(|it| it.message_id).collect();
    assert_eq!(distinct.len(), all.len(), "once each");
    assert!(some.iter().all(|it| it.subject == "thing.renamed"));
    running.stop().await;
}

pub async fn a_transaction_that_was_taken_back_says_nothing(stand: Stand) {
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    for version in 1..=10 {
        let mut tx = stand.tx().await;
        outbox::emit(&mut tx, event("thing.made", "taken-back", version));
        tx.rollback().await.unwrap();
        let mut tx = stand.tx().await;
        outbox::emit(&mut tx, event("thing.made", "dropped", version));
        drop(tx);
        stand.say("thing.made", "kept", version).await;
    }
    let effects = stand.effects_become("test.all", 10).await;
    assert!(effects.iter().all(|it| it.resource == "kept"), "{effects:#?}");
    running.stop().await;
}

pub async fn a_new_consumer_sees_what_is_retained(stand: Stand) {
    let running = stand.run(vec![Recorder::new("test.first", "thing.")]);
    for version in 1..=25 {
        stand.say("thing.made", "a", version).await;
    }
    stand.effects_become("test.first", 25).await;
    running.stop().await;
    let running = stand.run(vec![Recorder::new("test.first", "thing."), Recorder::new("test.late", "thing.")]);
    let late = stand.effects_become("test.late", 25).await;
    assert!(late.is_sorted_by_key(|it| it.version));
    stand.effects_become("test.first", 25).await;
    running.stop().await;
}

pub async fn a_restart_resumes_where_the_consumer_stood(stand: Stand) {
    let recorder = Recorder::new("test.all", "thing.");
    let running = stand.run(vec![recorder.clone()]);
    for version in 1..=12 {
        stand.say("thing.made", "a", version).await;
    }
    stand.effects_become("test.all", 12).await;
    running.stop().await;
    for version in 13..=24 {
        stand.say("thing.made", "a", version).await;
    }
    let running: Running = stand.run(vec![recorder.clone()]);
    let effects = stand.effects_become("test.all", 24).await;
    assert!(effects.is_sorted_by_key(|it| it.version));
    assert!((1..=24).all(|version| recorder.tries("a", version) == 1), "nothing was handed out twice");
    running.stop().await;
}

pub async fn the_correlation_and_the_trace_of_a_change_go_on_to_its_effects(stand: Stand) {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    let mut tx = stand.tx().await;
    tx.trace = Some(trace.into());
    let cause = tx.cause.to_string();
    outbox::emit(&mut tx, event("thing.made", "a", 1));
    tx.commit().await.unwrap();
    let effects = stand.effects_become("test.all", 1).await;
    assert_eq!((effects[0].correlation_id.as_str(), effects[0].traceparent.as_deref()), (cause.as_str(), Some(trace)));
    running.stop().await;
}
