//! Two billing workers, killed at random: what they leave is whole or nothing.

use std::time::Duration;

use contract::ledger::Proof;
use money::ledger::prove::{Range, prove};
use testkit::{
    process::{Daemon, free_port},
    rounds,
    server::eventually,
    world::set_policy,
};
use tokio_util::sync::CancellationToken;

use crate::ledger::stand::Stand;

const ORGANIZATIONS: usize = 20;
const EACH: usize = 50;

/// Allocations of an organization and a project.
fn allocations(organization: uuid::Uuid, project: uuid::Uuid, sku: uuid::Uuid) -> String {
    format!(
        "INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state)
           SELECT gen_random_uuid(), '{organization}', '{project}', '{sku}', 1 + n % 8, 1, false, 'g', 'test', 'requested'
           FROM generate_series(1, {EACH}) n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_bill_no_window_twice_and_miss_none() {
    let stand = Stand::new(1_234_577).await;
    let operator = stand.world.as_(&stand.world.operator().await);
    set_policy(&operator, "work.lease_seconds", "5").await;
    for _ in 0..ORGANIZATIONS {
        let (organization, _) = stand.world.organization().await;
        let project = stand.world.project(organization).await;
        stand.run(&allocations(organization.uuid(), project.uuid(), stand.sku)).await;
    }
    stand.run_all().await;
    let url = stand.world.server.database.url();
    let mut workers = vec![Daemon::serve(&url, free_port(), &[]).await, Daemon::serve(&url, free_port(), &[]).await];
    // Windows are due at once, again and again, so that a kill meets one.
    let stop = CancellationToken::new();
    let hurry = tokio::spawn({
        let (stop, database) = (stop.clone(), stand.world.server.database.clone());
        async move {
            let mut above = database.superuser().await;
            let due = "UPDATE work SET due_at = app_now() WHERE kind = 'books' AND lease IS NULL";
            while !stop.is_cancelled() {
                sqlx::query(due).execute(&mut above).await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    });
    let kills = rounds(200);
    for kill in 0..kills {
        // pause: spread by the kill's number, so that the same run again kills at the same moments
        tokio::time::sleep(Duration::from_millis(20 + (kill as u64 * 37) % 180)).await;
        let worker = workers.remove(kill % 2);
        worker.kill().await;
        workers.insert(kill % 2, Daemon::serve(&url, free_port(), &[]).await);
    }
    // Whoever was killed last holds its leases for a while.
    let all =
        format!("SELECT count(*) >= {ORGANIZATIONS} FROM books WHERE posted_to > app_now() - interval '2 seconds'");
    eventually("every organization to be posted", || async { stand.one::<bool>(&all).await }).await;
    stop.cancel();
    hurry.await.unwrap();
    for worker in workers {
        worker.stop().await;
    }
    let proof = proven(&stand).await;
    assert_eq!(proof.difference, None);
    assert_eq!(proof.intervals, (ORGANIZATIONS * EACH) as u64);
    // The proof compared every line; this is the same by one statement, in other arithmetic.
    let off = "SELECT count(*) FROM usage u JOIN books b USING (organization_id) WHERE u.kind = 'start' AND
        coalesce((SELECT sum(amount) FROM entries e WHERE e.subject_id = u.subject_id), 0)
          <> floor(u.micros_per_hour::numeric * (epoch_us(b.posted_to) - epoch_us(u.at)) / 3600000000.0::numeric(30, 10))";
    assert_eq!(stand.one::<i64>(off).await, 0);
    println!(
        "{kills} kills of two workers over {} allocations: {} journals, {} lines, no window twice, none missed",
        ORGANIZATIONS * EACH,
        proof.journals,
        proof.entries
    );
}

/// Proves everybody's books, part by part.
async fn proven(stand: &Stand) -> Proof {
    let mut tx = stand.tx().await;
    let mut range = Range { organization: None, month: None, after: None };
    let mut whole = prove(&mut tx, &range).await.unwrap();
    while let Some(next) = whole.next_after.take() {
        range.after = Some(next);
        let part = prove(&mut tx, &range).await.unwrap();
        whole = Proof {
            organizations: whole.organizations + part.organizations,
            journals: whole.journals + part.journals,
            entries: whole.entries + part.entries,
            intervals: whole.intervals + part.intervals,
            ..part
        };
        if whole.difference.is_some() {
            break;
        }
    }
    whole
}
