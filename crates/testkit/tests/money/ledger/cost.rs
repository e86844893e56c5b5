//! What one allocation has cost so far, to the millionth.

use client::ClientError;
use contract::{
    Code, Nothing, Role,
    allocations::AllocationPath,
    corrections::{JournalPath, ReverseJournal},
    organizations::Because,
    usage::{AllocationCost, GetAllocationCost},
};
use uuid::Uuid;

use crate::ledger::stand::{Mark, Stand};

impl Stand {
    async fn cost(&self, client: &client::Client, allocation: Uuid) -> Result<AllocationCost, ClientError> {
        let path = AllocationPath { project_id: self.project.into(), allocation_id: allocation.into() };
        client.call::<GetAllocationCost>(path, Nothing {}, Nothing {}).await
    }

    /// What its intervals came to until a moment, from their marks alone.
    async fn folded(&self, allocation: Uuid, until_us: i64) -> i64 {
        let marks = self.marks().await;
        let own = || marks.iter().filter(|it| it.subject_id == allocation);
        let amount = |start: &Mark| {
            let end = own().find(|it| it.kind == "end" && it.interval == start.number);
            let elapsed = i128::from(end.map_or(until_us, |it| it.at_us) - start.at_us);
            (i128::from(start.micros_per_hour) * elapsed / 3_600_000_000) as i64
        };
        own().filter(|it| it.kind == "start").map(amount).sum()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn posted_and_accrued_cost_sum_to_the_usage() {
    // A rate that leaves a remainder in nearly every window.
    let stand = Stand::new(1_234_577).await;
    let client = stand.world.as_(&stand.world.member_of(stand.organization, Role::Viewer).await);
    let (id, other) = (stand.started(2).await, stand.started(8).await);
    let check = async |label: &str| {
        let cost = stand.cost(&client, id).await.unwrap();
        let expected = stand.folded(id, cost.at.as_microsecond()).await;
        assert_eq!(cost.amount_micros, expected, "{label}: {cost:?}");
        assert_eq!(cost.amount_micros, cost.posted_micros - cost.taken_back_micros + cost.accrued_micros);
        cost
    };
    stand.advance(100);
    let fresh = check("before anything is posted").await;
    assert_eq!((fresh.posted_micros, fresh.burn_micros_per_hour), (0, 2 * 1_234_577));
    assert!(fresh.accrued_micros > 0 && fresh.active_seconds >= 100, "{fresh:?}");
    stand.close().await;
    stand.advance(77);
    let half = check("in part posted").await;
    assert!(half.posted_micros > 0 && half.accrued_micros > 0 && half.posted_to > fresh.posted_to, "{half:?}");
    assert_eq!(half.gpu_seconds / 2, half.active_seconds);
    // It stops, rests and starts again; the other goes on all the while.
    stand.go(id, "stopping").await;
    stand.go(id, "stopped").await;
    stand.advance(3600);
    let resting = check("at rest").await;
    assert_eq!((resting.burn_micros_per_hour, resting.intervals), (0, 1));
    stand.close().await;
    assert_eq!(check("at rest and posted").await.accrued_micros, 0);
    stand.go(id, "starting").await;
    stand.go(id, "active").await;
    stand.advance(13);
    assert_eq!(check("in its second interval").await.intervals, 2);
    stand.go(id, "releasing").await;
    stand.close().await;
    let over = check("over").await;
    assert_eq!((over.burn_micros_per_hour, over.held_micros, over.accrued_micros), (0, 0, 0));
    let others = stand.cost(&client, other).await.unwrap();
    assert!(others.amount_micros > over.amount_micros && others.burn_micros_per_hour == 8 * 1_234_577);
    println!("posted {} USD millionths in {} intervals, to the last one", over.posted_micros, over.intervals);
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_is_used_up_by_the_cost() {
    let stand = Stand::new(3_600_007).await;
    let client = stand.world.as_(&stand.world.member_of(stand.organization, Role::Viewer).await);
    let id = stand.allocation(2).await;
    stand
        .run(&format!(
            "INSERT INTO holds (organization_id, subject_kind, subject_id, meter, currency, micros_per_hour, seconds)
             VALUES ('{}', 'allocation', '{id}', 'gpu_time', 'USD', 7200014, 3600)",
            stand.organization.uuid()
        ))
        .await;
    let waiting = stand.cost(&client, id).await.unwrap();
    assert_eq!((waiting.amount_micros, waiting.held_micros, waiting.intervals), (0, 7_200_014, 0));
    assert_eq!(stand.balance().await.held.micros(), waiting.held_micros, "the wallet holds the same");
    stand.go(id, "active").await;
    for (label, is_posted) in [("before it is posted", false), ("in part posted", true)] {
        if is_posted {
            stand.close().await;
        }
        stand.advance(600);
        let running = stand.cost(&client, id).await.unwrap();
        assert_eq!(running.posted_micros > 0, is_posted);
        assert_eq!(running.held_micros + running.amount_micros, 7_200_014, "{label}: {running:?}");
    }
    stand.go(id, "releasing").await;
    assert_eq!(stand.cost(&client, id).await.unwrap().held_micros, 0, "what is over holds nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn reversed_usage_is_no_cost() {
    let stand = Stand::new(3_600_000_000).await;
    let owner = stand.world.member_of(stand.organization, Role::Owner).await;
    let client = stand.world.as_(&owner);
    let id = stand.started(1).await;
    stand.advance(100);
    stand.close().await;
    stand.go(id, "releasing").await;
    let before = stand.cost(&client, id).await.unwrap();
    let staff = stand.world.as_(&stand.world.operator().await);
    let journal: Uuid = stand.one("SELECT id FROM journals ORDER BY number LIMIT 1").await;
    let path = JournalPath { organization_id: stand.organization, journal_id: journal.into() };
    let because = Because { reason: "the host was broken".parse().unwrap() };
    staff.call::<ReverseJournal>(path, Nothing {}, because).await.unwrap();
    let after = stand.cost(&client, id).await.unwrap();
    assert_eq!(after.taken_back_micros, before.posted_micros);
    assert_eq!(after.amount_micros, before.amount_micros - before.posted_micros);
}

#[tokio::test(flavor = "multi_thread")]
async fn cost_is_hidden_from_other_organizations() {
    let stand = Stand::new(1_000_000).await;
    let id = stand.started(1).await;
    let (_, stranger) = stand.world.organization().await;
    let refused = stand.cost(&stand.world.as_(&stranger), id).await.unwrap_err();
    assert!(refused.is(Code::NotFound), "{refused}");
    let owner = stand.world.member_of(stand.organization, Role::Owner).await;
    let unknown = stand.cost(&stand.world.as_(&owner), Uuid::now_v7()).await.unwrap_err();
    assert!(unknown.is(Code::NotFound), "{unknown}");
}
