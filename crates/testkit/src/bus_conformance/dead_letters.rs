//! What keeps failing is set aside, shown, and given back in order.

use std::{sync::Arc, time::Duration};

use contract::dead_letters::{
    DeadLetter, DeadLetterFilter, DeadLetterPath, DeadLetterState, DiscardDeadLetter, ListDeadLetters, ReplayDeadLetter,
};
use kernel::bus::Consumer;

use super::{Recorder, Stand};
use crate::{Member, server::eventually};

pub async fn a_failing_message_becomes_a_dead_letter_and_only_its_resource_waits(stand: Stand) {
    let recorder = Recorder::new("test.all", "thing.");
    recorder.fail_on("a");
    let running = stand.run(vec![recorder.clone()]);
    say_four(&stand).await;
    let effects = stand.effects_become("test.all", 2).await;
    assert!(effects.iter().all(|it| it.resource == "b"), "{effects:#?}");
    let operator = stand.world.operator().await;
    let letters = letters_become(&stand, &operator, 2).await;
    assert_eq!(recorder.tries("a", 1), 3, "as often as the settings say");
    assert_eq!(recorder.tries("a", 2), 0, "it waits for the first");
    assert_eq!(letters[0].error, "told to fail");
    assert!(letters[1].error.contains("waits behind"), "{}", letters[1].error);
    let measured = kernel::gauges::measure(&stand.control_plane().db).await.unwrap();
    assert_eq!((measured.dead_letters_waiting, measured.dead_letters_exhausted), (2, 0));
    running.stop().await;
}

pub async fn a_panicking_consumer_goes_on_with_the_next_message(stand: Stand) {
    let recorder = Recorder::new("test.all", "thing.");
    recorder.panic_on("a");
    let running = stand.run(vec![recorder.clone()]);
    say_four(&stand).await;
    stand.effects_become("test.all", 2).await;
    let operator = stand.world.operator().await;
    let letters = letters_become(&stand, &operator, 2).await;
    assert!(letters[0].error.contains("panicked"), "{}", letters[0].error);
    running.stop().await;
}

pub async fn a_dead_letter_is_delivered_again_a_bounded_number_of_times_and_then_on_request(stand: Stand) {
    let recorder = Recorder::new("test.all", "thing.");
    recorder.fail_on("a");
    let running = stand.run(vec![recorder.clone()]);
    say_four(&stand).await;
    let operator = stand.world.operator().await;
    letters_become(&stand, &operator, 2).await;
    let consumers = || vec![recorder.clone() as Arc<dyn Consumer>];
    for _ in 0..10 {
        stand.control_plane().db.clock.advance(Duration::from_secs(301));
        stand.redeliver(consumers()).await;
    }
    let letters = letters_become(&stand, &operator, 2).await;
    let states: Vec<_> = letters.iter().map(|it| it.state.clone()).collect();
    assert_eq!(states, [DeadLetterState::Exhausted, DeadLetterState::Waiting]);
    assert_eq!((letters[0].attempts, recorder.tries("a", 1)), (5, 8), "three tries and five redeliveries");
    // More of the resource waits too, whoever is exhausted before it.
    stand.say("thing.made", "a", 3).await;
    let letters = letters_become(&stand, &operator, 3).await;

    recorder.recover();
    let path = DeadLetterPath { dead_letter_id: letters[0].id };
    let client = stand.world.as_(&operator);
    client.call::<ReplayDeadLetter>(path, Default::default(), Default::default()).await.unwrap();
    stand.redeliver(consumers()).await;
    let effects = stand.effects_become("test.all", 5).await;
    let of_a: Vec<i64> = effects.iter().filter(|it| it.resource == "a").map(|it| it.version).collect();
    assert_eq!(of_a, [1, 2, 3], "what waited behind it came too, in order");
    let letters = letters_become(&stand, &operator, 3).await;
    assert!(letters.iter().all(|it| it.state == DeadLetterState::Delivered), "{letters:#?}");
    stand.say("thing.made", "a", 4).await;
    stand.effects_become("test.all", 6).await;
    running.stop().await;
}

pub async fn a_redelivery_that_fails_leaves_only_the_record_of_its_failure(stand: Stand) {
    let recorder = Recorder::talking("test.all", "thing.");
    recorder.fail_on("a");
    let running = stand.run(vec![recorder.clone()]);
    stand.say("thing.made", "a", 1).await;
    let operator = stand.world.operator().await;
    letters_become(&stand, &operator, 1).await;
    stand.control_plane().db.clock.advance(Duration::from_secs(301));
    stand.redeliver(vec![recorder.clone()]).await;
    let letters = letters_become(&stand, &operator, 1).await;
    assert_eq!((letters[0].attempts, recorder.tries("a", 1)), (1, 4), "the failure is counted");
    assert_eq!(stand.left_behind().await, [0; 4], "no effect, event, entry or work of the consumer");

    recorder.recover();
    stand.control_plane().db.clock.advance(Duration::from_secs(301));
    stand.redeliver(vec![recorder.clone()]).await;
    assert_eq!(stand.left_behind().await, [1; 4], "all of them, once it works");
    running.stop().await;
}

pub async fn discarding_a_dead_letter_frees_what_waits_behind_it(stand: Stand) {
    let recorder = Recorder::new("test.all", "thing.");
    recorder.fail_on("a");
    let running = stand.run(vec![recorder.clone()]);
    say_four(&stand).await;
    stand.say("thing.made", "a", 3).await;
    let operator = stand.world.operator().await;
    let letters = letters_become(&stand, &operator, 3).await;
    recorder.recover();
    let path = DeadLetterPath { dead_letter_id: letters[0].id };
    let because = contract::organizations::Because { reason: "it cannot be done any more".parse().unwrap() };
    let client = stand.world.as_(&operator);
    client.call::<DiscardDeadLetter>(path, Default::default(), because).await.unwrap();
    stand.redeliver(vec![recorder.clone()]).await;
    let effects = stand.effects_become("test.all", 4).await;
    let of_a: Vec<i64> = effects.iter().filter(|it| it.resource == "a").map(|it| it.version).collect();
    assert_eq!(of_a, [2, 3]);
    let letters = letters_become(&stand, &operator, 3).await;
    assert_eq!(letters[0].state, DeadLetterState::Discarded);
    running.stop().await;
}

async fn say_four(stand: &Stand) {
    for (resource, version) in [("a", 1), ("b", 1), ("a", 2), ("b", 2)] {
        stand.say("thing.made", resource, version).await;
    }
}

/// The dead letters in the order in which they came, once there are so many.
async fn letters_become(stand: &Stand, operator: &Member, wanted: usize) -> Vec<DeadLetter> {
    let client = stand.world.as_(operator);
    let list = async || {
        let page = client.call::<ListDeadLetters>(Default::default(), DeadLetterFilter::default(), Default::default());
        let mut letters = page.await.unwrap().items;
        letters.reverse();
        letters
    };
    eventually("the dead letters", || async { list().await.len() == wanted }).await;
    list().await
}
