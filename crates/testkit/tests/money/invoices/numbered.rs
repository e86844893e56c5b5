//! Numbers have no gaps, however many issue at once and whoever is killed.

use std::time::Duration;

use kernel::{Access, Tx};
use money::invoices::{Period, issue_due};
use serde_json::json;
use testkit::{
    process::{Daemon, free_port},
    rounds,
    server::eventually,
    world::set_policy,
};

use crate::invoices::shop::Shop;

const ORGANIZATIONS: usize = 12;

/// Something that runs in each of some organizations.
async fn customers(shop: &Shop) -> Vec<contract::id::OrganizationId> {
    let mut all = Vec::new();
    for _ in 0..ORGANIZATIONS {
        let (organization, _) = shop.stand.world.organization().await;
        let project = shop.stand.world.project(organization).await;
        let (owner, project, sku) = (organization.uuid(), project.uuid(), shop.stand.sku);
        shop.stand
            .run(&format!(
                "INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state)
                   SELECT gen_random_uuid(), '{owner}', '{project}', '{sku}', n, 1, false, 'g', 'test', 'requested' FROM generate_series(1, 2) n"
            ))
            .await;
        shop.stand.run_all().await;
        all.push(organization);
    }
    all
}

/// How many months were begun after one moment's and are over at another.
fn months_between(from: jiff::Timestamp, to: jiff::Timestamp) -> usize {
    let mut period = Period::around(from).unwrap();
    let mut count = 0;
    while period.end <= to {
        (period, count) = (Period::around(period.end).unwrap(), count + 1);
    }
    count
}

/// In each year the numbers are 1, 2, 3 …, and each month of each organization has one.
async fn without_gaps(shop: &Shop, months: i64) -> i64 {
    let gaps = "SELECT count(*) FROM (SELECT serial - row_number() OVER (PARTITION BY year ORDER BY serial) AS off FROM invoices) s WHERE off <> 0";
    assert_eq!(shop.stand.one::<i64>(gaps).await, 0, "there is a gap");
    let behind = "SELECT count(*) FROM invoice_series s WHERE last <> (SELECT max(serial) FROM invoices i WHERE i.year = s.year)";
    assert_eq!(shop.stand.one::<i64>(behind).await, 0, "a number was taken for nothing");
    let back = "SELECT count(*) FROM (SELECT issued_at < lag(issued_at) OVER (ORDER BY year, serial) AS back FROM invoices) s WHERE back";
    assert_eq!(shop.stand.one::<i64>(back).await, 0, "a later number has an earlier date");
    let count: i64 = shop.stand.one("SELECT count(*) FROM invoices").await;
    assert_eq!(count, ORGANIZATIONS as i64 * months);
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn invoices_issued_at_once_take_turns() {
    let shop = Shop::open(1_234_577, json!(null)).await;
    let customers = customers(&shop).await;
    shop.to_month_end(-60);
    let db = &shop.stand.world.server.control_plane.db;
    let mut tasks = tokio::task::JoinSet::new();
    // Two for each organization, and every third gives up before it commits.
    for (index, organization) in customers.iter().chain(&customers).chain(&customers).copied().enumerate() {
        let db = db.clone();
        tasks.spawn(async move {
            let mut tx = Tx::system(&db, "test", Access::Write).await.unwrap();
            issue_due(&mut tx, organization).await.unwrap();
            if index % 3 == 0 { tx.rollback().await.unwrap() } else { tx.commit().await.unwrap() }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    for organization in customers {
        let mut tx = shop.stand.tx().await;
        issue_due(&mut tx, organization).await.unwrap();
        tx.commit().await.unwrap();
    }
    without_gaps(&shop, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_leave_no_gap_and_issue_nothing_twice() {
    let shop = Shop::open(1_234_577, json!({ "name": "VAT", "basis_points": 770 })).await;
    let operator = shop.staff().await;
    set_policy(&operator, "work.lease_seconds", "5").await;
    customers(&shop).await;
    // A year passes for every process that connects from now on.
    let name: String = shop.stand.one("SELECT current_database()::text").await;
    let mut above = shop.stand.world.server.database.superuser().await;
    let pass = format!("ALTER DATABASE \"{name}\" SET app.clock_offset = '366 days'");
    sqlx::raw_sql(sqlx::AssertSqlSafe(pass)).execute(&mut above).await.unwrap();
    drop(above);
    let url = shop.stand.world.server.database.url();
    let mut workers = vec![Daemon::serve(&url, free_port(), &[]).await, Daemon::serve(&url, free_port(), &[]).await];
    let mut above = shop.stand.world.server.database.superuser().await;
    let due = "INSERT INTO work (kind, id) SELECT 'invoices', organization_id FROM books ON CONFLICT DO NOTHING";
    sqlx::query(due).execute(&mut above).await.unwrap();
    let kills = rounds(50);
    for kill in 0..kills {
        // pause: spread by the kill's number, so that the same run again kills at the same moments
        tokio::time::sleep(Duration::from_millis(5 + (kill as u64 * 37) % 90)).await;
        workers.remove(kill % 2).kill().await;
        workers.insert(kill % 2, Daemon::serve(&url, free_port(), &[]).await);
    }
    let now = shop.stand.world.server.control_plane.db.clock.estimate();
    let months = months_between(now, now + jiff::SignedDuration::from_hours(366 * 24));
    let all = format!("SELECT count(*) >= {} FROM invoices", ORGANIZATIONS * months);
    eventually("every month to be invoiced", || async { shop.stand.one::<bool>(&all).await }).await;
    for worker in workers {
        worker.stop().await;
    }
    let count = without_gaps(&shop, months as i64).await;
    shop.proves().await;
    println!("{kills} kills of two workers: {count} invoices, no gap, none twice");
}
