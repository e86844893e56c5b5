//! Usage is charged exactly, however time is cut and whoever cuts it.

use std::{sync::Arc, time::Duration};

use kernel::{Access, Db, Tx, tx::DbSettings};
use money::books;
use testkit::{moves::move_one, rounds, server::eventually};

use crate::ledger::stand::Stand;

#[tokio::test(flavor = "multi_thread")]
async fn any_split_of_time_sums_to_the_same() {
    // A rate that leaves a remainder in nearly every window.
    let stand = Stand::new(1_234_577).await;
    let one = stand.started(1).await;
    let two = stand.started(8).await;
    let mut journals = 0;
    for step in [1, 7, 60, 3599, 86_400, 13, 2] {
        stand.advance(step);
        let closed = stand.close().await;
        assert_eq!((closed.lines, closed.open), (2, 2));
        journals += 1;
        assert_eq!(closed.number, Some(journals));
        stand.is_exact().await;
    }
    stand.go(one, "releasing").await;
    stand.go(two, "stopping").await;
    let closed = stand.close().await;
    assert_eq!(closed.open, 0);
    assert_eq!(stand.is_exact().await, 2);
    stand.advance(3600);
    let idle = stand.close().await;
    assert_eq!((idle.number, idle.lines), (None, 0), "nothing happened, so that there is no journal");
    assert_eq!(stand.is_exact().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_balance_at_an_instant_does_not_jump_when_it_is_posted() {
    let stand = Stand::new(3_600_000_000).await;
    stand.started(1).await;
    stand.advance(100);
    let before = stand.balance().await;
    assert!(before.posted.micros() == 0 && before.accrued.micros() >= 100_000_000, "{before:?}");
    stand.close().await;
    let after = stand.balance().await;
    // A micro-unit is a micro-second at this rate.
    let moved = before.available.micros() - after.available.micros();
    assert!(after.posted.micros() < 0 && (0..10_000_000).contains(&moved), "{before:?} {after:?}");
    assert_eq!(after.burn.micros_per_hour(), 3_600_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_commits_late_is_neither_missed_nor_charged_twice() {
    let stand = Arc::new(Stand::new(3_600_000_000).await);
    let id = stand.allocation(1).await;
    let mut late = stand.tx().await;
    move_one(&mut late, id, "active").await;
    let posting = tokio::spawn({
        let stand = stand.clone();
        async move { stand.close().await }
    });
    eventually("it to wait", || async { posting.is_finished() || stand.world.server.database.waits_for_lock().await })
        .await;
    assert!(!posting.is_finished(), "a posting waits for marks that are under way");
    late.commit().await.unwrap();
    let closed = posting.await.unwrap();
    assert_eq!((closed.open, closed.lines), (1, 1), "and then sees them");
    stand.is_exact().await;

    // The other way round: a mark waits for the posting, and comes after its moment.
    let mut posting = stand.tx().await;
    books::close(&mut posting, stand.organization).await.unwrap().unwrap();
    let marking = tokio::spawn({
        let stand = stand.clone();
        async move { stand.go(id, "releasing").await }
    });
    eventually("it to wait", || async { marking.is_finished() || stand.world.server.database.waits_for_lock().await })
        .await;
    assert!(!marking.is_finished(), "a mark waits for a posting that is under way");
    posting.commit().await.unwrap();
    marking.await.unwrap();
    let is_later = "SELECT max(at) FILTER (WHERE kind = 'end') >= (SELECT posted_to FROM books ORDER BY journals DESC LIMIT 1) FROM usage";
    assert!(stand.one::<bool>(is_later).await);
    stand.close().await;
    stand.is_exact().await;
}

/// Another process on the same database, whose clock differs.
async fn elsewhere(stand: &Stand) -> Db {
    let wait = Duration::from_secs(10);
    let settings = DbSettings {
        url: stand.world.server.database.url(),
        max_connections: 4,
        acquire_timeout: wait,
        statement_timeout: wait,
        lock_timeout: wait,
    };
    Db::connect(&settings).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_steps_back_moves_nothing_backwards() {
    let stand = Stand::new(1_234_577).await;
    let behind = elsewhere(&stand).await;
    let one = stand.started(1).await;
    stand.advance(7200);
    stand.close().await;
    let two = stand.started(2).await;
    // From here on two hours earlier.
    let close = || async {
        let mut tx = Tx::system(&behind, "test", Access::Write).await.unwrap();
        let closed = books::close(&mut tx, stand.organization).await.unwrap().unwrap();
        tx.commit().await.unwrap();
        closed
    };
    assert_eq!(close().await.lines, 0, "no time has passed for the books");
    for (id, state) in [(one, "releasing"), (two, "stopping")] {
        let mut tx = Tx::system(&behind, "test", Access::Write).await.unwrap();
        move_one(&mut tx, id, state).await;
        tx.commit().await.unwrap();
    }
    close().await;
    let backwards = "SELECT count(*) FROM usage e JOIN usage s ON s.subject_id = e.subject_id AND s.number = e.interval
                     WHERE e.kind = 'end' AND e.at < s.at";
    assert_eq!(stand.one::<i64>(backwards).await, 0);
    stand.advance(60);
    stand.close().await;
    assert_eq!(stand.is_exact().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_and_many_marks_at_once_charge_every_microsecond_once() {
    let stand = Arc::new(Stand::new(1_234_577).await);
    let mut ids = Vec::new();
    for _ in 0..8 {
        ids.push(stand.allocation(2).await);
    }
    let turns = rounds(200);
    let mut tasks = Vec::new();
    for id in ids {
        let stand = stand.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..turns {
                for state in ["active", "stopping", "stopped", "starting"] {
                    stand.go(id, state).await;
                }
            }
            stand.go(id, "active").await;
        }));
    }
    let stop = tokio_util::sync::CancellationToken::new();
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let (stand, stop) = (stand.clone(), stop.clone());
            tokio::spawn(async move {
                let mut closed = 0;
                while !stop.is_cancelled() {
                    stand.close().await;
                    closed += 1;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                closed
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    stop.cancel();
    let mut windows = 0;
    for worker in workers {
        windows += worker.await.unwrap();
    }
    stand.close().await;
    let intervals = stand.is_exact().await;
    println!("{intervals} intervals in {windows} windows of two workers: each charged exactly");
    assert_eq!(intervals, 8 * (turns + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reconciler_posts_while_something_runs_and_then_rests() {
    let stand = Stand::new(3_600_000_000).await;
    let id = stand.started(1).await;
    stand.advance(11);
    stand.world.server.settle().await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM journals").await, 1);
    stand.advance(61);
    stand.world.server.settle().await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM journals").await, 2);
    stand.go(id, "releasing").await;
    stand.advance(61);
    stand.world.server.settle().await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM work WHERE kind = 'books'").await, 0);
    stand.is_exact().await;
    stand.started(1).await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM work WHERE kind = 'books'").await, 1, "a mark brings it back");
    // Work that got lost is found again.
    stand.run("DELETE FROM work WHERE kind = 'books'").await;
    let mut tx = stand.tx().await;
    let reconciler = money::books::BooksReconciler { policies: stand.world.server.control_plane.policies.clone() };
    let overdue = kernel::work::Reconciler::overdue(&reconciler, &mut tx, 10).await.unwrap();
    assert_eq!(overdue, [stand.organization.uuid()]);
}
