//! An operator, the project and the clock all want to end the same allocation,
//! through two control planes at once: one of them does, and the others hear it.

use std::time::Duration;

use agent::sim::{self, SimConfig, Tokens};
use client::{Client, ClientError};
use contract::{
    Code,
    allocations::{Allocation, AllocationState},
    id::AllocationId,
};
use sqlx::PgConnection;
use testkit::{
    Plant, Tenant,
    cloud::{ask, force_release},
    rounds,
    server::eventually,
};

const NODES: usize = 2;
const GPUS: u32 = 8;
/// So many allocations are fought over at the same time.
const AT_ONCE: usize = NODES * GPUS as usize;
/// Within how long each of the three begins. The clock's end needs longest from
/// there: a worker has to hear of it. So it begins earlier, and all three meet.
const PEOPLE_MS: u64 = 150;
const LEASE_MS: u64 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Winner {
    User,
    Operator,
    Lease,
}

/// Numbers that are the same in every run.
struct Seed(u64);

impl Seed {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn race_of_three_to_end_an_allocation_has_exactly_one_winner() {
    let plant = Plant::new(NODES, &[]).await;
    let (one, two) = (plant.plane().await, plant.plane().await);
    let mut config = SimConfig::new(one.url(), plant.roots.clone(), Tokens::List(plant.tokens.clone()));
    (config.nodes, config.gpus_per_node) = (NODES, GPUS);
    let hosts = sim::Fleet::start(config.heartbeat(Duration::from_secs(1))).await.unwrap();
    let free = "SELECT count(*) FROM slots WHERE condition = 'clean' AND held_by IS NULL";
    eventually("free slots", || async { plant.count(free).await == AT_ONCE as i64 }).await;

    let total = rounds(1000);
    let mut seed = Seed(2026);
    let mut won = [0; 3];
    let mut left = total;
    while left > 0 {
        let batch = left.min(AT_ONCE);
        left -= batch;
        // Each of the two is the user's control plane in half of the batches.
        let (near, far) = if seed.below(2) == 0 { (&one, &two) } else { (&two, &one) };
        let (tenant, operator) = (plant.tenant_at(near), plant.operator_at(far));
        let mut ids = Vec::new();
        for _ in 0..batch {
            ids.push(tenant.ask(ask(1)).await);
        }
        for id in &ids {
            tenant.reaches(*id, AllocationState::Active).await;
        }
        let fights: Vec<_> = ids
            .iter()
            .map(|id| {
                let delays = [PEOPLE_MS, PEOPLE_MS, LEASE_MS].map(|it| Duration::from_millis(seed.below(it)));
                tokio::spawn(fight(plant.database.clone(), tenant.clone(), operator.clone(), *id, delays))
            })
            .collect();
        for (fight, id) in fights.into_iter().zip(&ids) {
            let winner = fight.await.unwrap();
            tenant.reaches(*id, AllocationState::Released).await;
            assert_eq!(winner, told(&mut plant.database.superuser().await, *id).await, "the event names the winner");
            won[winner as usize] += 1;
        }
    }
    let leaked = AT_ONCE as i64 - plant.count(free).await;
    let logins: usize = hosts.nodes().map(|it| it.logins().len()).sum();
    println!(
        "{total} rounds: user won {}, operator won {}, lease won {}; {leaked} leaked slots, {logins} logins left",
        won[0], won[1], won[2]
    );
    assert_eq!((leaked, logins), (0, 0));
    assert!(won.iter().all(|it| *it > 0), "each of the three wins sometimes");
    for plane in [one, two] {
        plane.daemon.kill().await;
    }
}

/// All three act within a moment, each after a pause of its own; whoever was told that they did it has won.
async fn fight(
    database: std::sync::Arc<testkit::Database>,
    tenant: Tenant,
    operator: Client,
    id: AllocationId,
    [user_after, operator_after, lease_after]: [Duration; 3],
) -> Winner {
    let mut above = database.superuser().await;
    let user = async {
        tokio::time::sleep(user_after).await; // pause: the seed's
        tenant.release(id).await
    };
    let forced = async {
        tokio::time::sleep(operator_after).await; // pause: the seed's
        force_release(&operator, id).await
    };
    let lease = async {
        tokio::time::sleep(lease_after).await; // pause: the seed's
        end_lease(&mut above, id).await;
    };
    let (user, forced, ()) = tokio::join!(user, forced, lease);
    match (lost(user), lost(forced)) {
        (false, true) => Winner::User,
        (true, false) => Winner::Operator,
        (true, true) => Winner::Lease,
        (false, false) => panic!("{id}: both the user and the operator were told that they ended it"),
    }
}

/// Whether somebody was told that another was faster, in words that say so.
fn lost(answer: Result<Allocation, ClientError>) -> bool {
    let Err(error) = answer else { return false };
    assert!(error.is(Code::Conflict), "{error}");
    let detail = &error.problem().unwrap().detail;
    let said = ["already releasing", "already released", "ended or changed concurrently"];
    assert!(said.iter().any(|it| detail.contains(it)), "{detail}");
    true
}

/// Makes the lease end now; whichever control plane looks first acts on it.
async fn end_lease(above: &mut PgConnection, id: AllocationId) {
    let statements = [
        "UPDATE allocations SET lease_ends_at = clock_timestamp() WHERE id = $1",
        "INSERT INTO work (kind, id) VALUES ('allocation', $1)
         ON CONFLICT (kind, id) DO UPDATE SET due_at = clock_timestamp(), wakes = work.wakes + 1",
        "SELECT pg_notify('gpuaas_bell', '') WHERE $1 IS NOT NULL",
    ];
    for statement in statements {
        sqlx::query(statement).bind(id.uuid()).execute(&mut *above).await.unwrap();
    }
}

/// The one event that ended it.
async fn told(above: &mut PgConnection, id: AllocationId) -> Winner {
    let subjects: Vec<String> = sqlx::query_scalar(
        "SELECT subject FROM outbox WHERE resource = $1
         AND subject IN ('allocation.release_requested', 'allocation.force_released', 'allocation.lease_ended')",
    )
    .bind(id.to_string())
    .fetch_all(above)
    .await
    .unwrap();
    match &subjects.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["allocation.release_requested"] => Winner::User,
        ["allocation.force_released"] => Winner::Operator,
        ["allocation.lease_ended"] => Winner::Lease,
        other => panic!("{id}: not one winner but {other:?}"),
    }
}
