//! Changes of one resource arrive as they happened, however their
//! transactions overlap.

use std::collections::HashMap;

use futures_util::future::join_all;
use kernel::{Tx, outbox};

use super::{Recorder, Stand, stand::event};

pub async fn changes_of_one_resource_come_in_the_order_of_their_versions(stand: Stand) {
    const WRITERS: usize = 6;
    const CHANGES: usize = 20;
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    let writers = (0..WRITERS).map(|writer| {
        let stand = &stand;
        async move {
            for nth in 0..CHANGES {
                let mut tx = stand.tx().await;
                if (writer + nth) % 2 == 0 {
                    take_a_number(&mut tx).await;
                }
                // Those with a number wait here for those without.
                // pause: transactions overlap in another order each time
                tokio::time::sleep(std::time::Duration::from_millis((nth % 4) as u64)).await;
                change(&mut tx, &format!("r{}", nth % 2)).await;
                tx.commit().await.unwrap();
            }
        }
    });
    join_all(writers).await;
    let mut newest: HashMap<String, i64> = HashMap::new();
    for effect in stand.effects_become("test.all", WRITERS * CHANGES).await {
        let before = newest.insert(effect.resource.clone(), effect.version).unwrap_or(0);
        assert_eq!(effect.version, before + 1, "of {}", effect.resource);
    }
    running.stop().await;
}

pub async fn a_change_made_late_by_an_early_transaction_comes_late(stand: Stand) {
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    let mut early = stand.tx().await;
    take_a_number(&mut early).await;
    let mut other = stand.tx().await;
    change(&mut other, "r").await;
    other.commit().await.unwrap();
    change(&mut early, "r").await;
    early.commit().await.unwrap();
    let effects = stand.effects_become("test.all", 2).await;
    assert_eq!(effects.iter().map(|it| it.version).collect::<Vec<_>>(), [1, 2]);
    running.stop().await;
}

pub async fn events_of_a_transaction_that_commits_late_are_not_skipped(stand: Stand) {
    let running = stand.run(vec![Recorder::new("test.all", "thing.")]);
    stand.say("thing.made", "before", 1).await;
    stand.effects_become("test.all", 1).await;
    let mut early = stand.tx().await;
    take_a_number(&mut early).await;
    outbox::emit(&mut early, event("thing.made", "early", 1));
    for version in 1..=25 {
        stand.say("thing.made", "later", version).await;
    }
    // pause: time for a bus that skips to do so
    tokio::time::sleep(stand.settings.poll * 3).await;
    early.commit().await.unwrap();
    let effects = stand.effects_become("test.all", 27).await;
    assert_eq!(effects.iter().filter(|it| it.resource == "early").count(), 1);
    running.stop().await;
}

/// Makes the database number the transaction now instead of at its end.
async fn take_a_number(tx: &mut Tx) {
    sqlx::query("INSERT INTO scraps DEFAULT VALUES").execute(tx.conn()).await.unwrap();
}

/// Counts a resource's version up under its lock and says so.
async fn change(tx: &mut Tx, id: &str) {
    let statement = "INSERT INTO things VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET version = things.version + 1
         RETURNING version";
    let version: i64 = sqlx::query_scalar(statement).bind(id).fetch_one(tx.conn()).await.unwrap();
    outbox::emit(tx, event("thing.changed", id, version));
}
