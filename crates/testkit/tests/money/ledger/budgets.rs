//! Budgets: what they refuse, of what they tell and when, and in which month usage counts.

use std::sync::Arc;

use client::{Client, ClientError};
use contract::{
    Code, Nothing, Role, Timestamp,
    allocations::{Allocation, AllocationSpec, CreateAllocation},
    budgets::{
        Budget, BudgetChange, BudgetFilter, BudgetMode, BudgetPath, BudgetPeriod, BudgetSpec, ChangeBudget,
        CreateBudget, DeleteBudget, ExplainBudget, GetBudget, ListBudgets,
    },
    organizations::OrganizationPath,
    projects::ProjectPath,
};
use testkit::{cloud::ask, world::set_policy};
use uuid::Uuid;

use crate::ledger::stand::Stand;

const DOLLAR: i64 = 1_000_000;
const HOUR: u64 = 3600;

struct Purse {
    stand: Stand,
    owner: Client,
}

/// A project of an organization; a GPU costs a dollar an hour, and nobody has to pay before.
async fn purse() -> Purse {
    let stand = Stand::new(DOLLAR).await;
    let world = &stand.world;
    let owner = world.as_(&world.member_of(stand.organization, Role::Owner).await);
    let operator = world.as_(&world.operator().await);
    for lane in ["address", "default", "launch", "financial"] {
        set_policy(&operator, &format!("rate_limit.{lane}_per_minute"), "1000000").await;
    }
    set_policy(&operator, "allocations.max_gpus", "1000").await;
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    Purse { stand, owner }
}

impl Purse {
    fn spec(&self, amount_micros: i64, period: BudgetPeriod, mode: BudgetMode) -> BudgetSpec {
        let project_id = self.stand.project.into();
        let currency = "USD".parse().unwrap();
        BudgetSpec { project_id, amount_micros, currency, period, mode, thresholds: None }
    }

    fn path(&self) -> OrganizationPath {
        OrganizationPath { organization_id: self.stand.organization }
    }

    fn at(&self, budget: &Budget) -> BudgetPath {
        BudgetPath { organization_id: self.stand.organization, budget_id: budget.id }
    }

    async fn set(&self, spec: BudgetSpec) -> Result<Budget, ClientError> {
        self.owner.call::<CreateBudget>(self.path(), Nothing {}, spec).await
    }

    async fn get(&self, budget: &Budget) -> Budget {
        self.owner.call::<GetBudget>(self.at(budget), Nothing {}, Nothing {}).await.unwrap()
    }

    async fn change(&self, budget: &Budget, change: BudgetChange) -> Result<Budget, ClientError> {
        self.owner.call::<ChangeBudget>(self.at(budget), Nothing {}, change).await
    }

    async fn ask(&self, spec: AllocationSpec) -> Result<Allocation, ClientError> {
        let path = ProjectPath { project_id: self.stand.project.into() };
        self.owner.call::<CreateAllocation>(path, Nothing {}, spec).await
    }

    /// The owner with a new key: old ones end with time.
    async fn sign_in(&mut self) {
        let world = &self.stand.world;
        self.owner = world.as_(&world.member_of(self.stand.organization, Role::Owner).await);
    }

    /// Lets so much time pass and does what is due then.
    async fn after(&self, seconds: u64) {
        self.stand.advance(seconds);
        self.stand.world.server.settle().await;
    }

    /// Of which thresholds was told, in order.
    async fn told(&self) -> Vec<i32> {
        self.stand
            .one(
                "SELECT coalesce(array_agg((data ->> 'percent')::integer ORDER BY epoch, xid, place), '{}') FROM outbox
                 WHERE subject = 'budget.threshold_reached'",
            )
            .await
    }

    /// What those who pay read, each of them once.
    async fn read(&self) -> Vec<String> {
        let control_plane = &self.stand.world.server.control_plane;
        let stop = tokio_util::sync::CancellationToken::new();
        for consumer in gpuaasd::roles::consumers(control_plane) {
            kernel::bus::embedded::pass(
                &control_plane.db,
                &*consumer,
                &gpuaasd::roles::bus_settings(control_plane),
                &stop,
            )
            .await
            .unwrap();
        }
        self.stand
            .one("SELECT coalesce(array_agg(DISTINCT title || ': ' || body), '{}') FROM notifications WHERE kind = 'budget_threshold'")
            .await
    }

    /// In how many seconds a budget is looked at again.
    async fn due_in(&self, budget: &Budget) -> f64 {
        let mut tx = self.stand.tx().await;
        sqlx::query_scalar(
            "SELECT extract(epoch FROM due_at - app_now())::float8 FROM work WHERE kind = 'budget' AND id = $1",
        )
        .bind(budget.id.uuid())
        .fetch_one(tx.conn())
        .await
        .unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hard_budget_admits_exactly_what_it_allows_of_16_requests_at_once() {
    let purse = Arc::new(purse().await);
    let budget = purse.set(purse.spec(4 * DOLLAR + DOLLAR / 2, BudgetPeriod::Total, BudgetMode::Hard)).await.unwrap();
    let all: Vec<_> = (0..16)
        .map(|_| {
            let purse = purse.clone();
            tokio::spawn(async move { purse.ask(ask(1)).await })
        })
        .collect();
    let (mut admitted, mut refused) = (0, Vec::new());
    for one in all {
        match one.await.unwrap() {
            Ok(_) => admitted += 1,
            Err(error) if error.is(Code::LimitReached) => refused.push(error.to_string()),
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((admitted, refused.len()), (4, 12));
    assert_eq!(purse.stand.one::<i64>("SELECT count(*) FROM allocations").await, 4, "who was refused leaves no trace");
    let stands = purse.get(&budget).await;
    assert_eq!((stands.spent_micros, stands.held_micros), (0, 4 * DOLLAR));
    let said = &refused[11];
    for part in ["may use 1.00 USD", "of 4.50 USD in total", "0.00 USD is used", "USD is held", "does not reset"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.contains(&format!("gpuaas budgets change {}", budget.id)), "{said}");
    println!("16 creates at once against a hard budget for 4: {admitted} admitted, {} refused: {said}", refused.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn budget_counts_usage_and_what_may_be_used_until_the_period_ends() {
    let purse = purse().await;
    let budget = purse.set(purse.spec(3 * DOLLAR, BudgetPeriod::Total, BudgetMode::Hard)).await.unwrap();
    // A lease says how much it may use; what is given back may use no more than it did.
    let lease = |minutes| AllocationSpec { lease_minutes: contract::Within::new(minutes), ..ask(2) };
    let refused = purse.ask(lease(91)).await.unwrap_err();
    assert!(refused.is(Code::LimitReached), "{refused}");
    let id = purse.ask(lease(90)).await.unwrap().id.uuid();
    assert_eq!(purse.get(&budget).await.held_micros, 3 * DOLLAR);
    for state in ["provisioning", "active"] {
        purse.stand.go(id, state).await;
    }
    purse.after(HOUR / 2).await;
    let stands = purse.get(&budget).await;
    assert_eq!(stands.burn_micros_per_hour, 2 * DOLLAR);
    let sum = stands.spent_micros + stands.held_micros;
    assert!((DOLLAR..DOLLAR + 100_000).contains(&stands.spent_micros), "{stands:?}");
    assert!((sum - 3 * DOLLAR).abs() <= 1, "time turns what is held into what is used: {stands:?}");
    let why = purse.owner.call::<ExplainBudget>(purse.at(&budget), Nothing {}, Nothing {}).await.unwrap();
    println!("why: {}; {}", why.rule, why.change.as_deref().unwrap());
    assert!(why.rule.contains("of 3.00 USD is used") && why.rule.contains("more than 0.00 USD"), "{}", why.rule);
    assert!(purse.ask(ask(1)).await.unwrap_err().is(Code::LimitReached));
    purse.stand.go(id, "releasing").await;
    let stands = purse.get(&budget).await;
    assert_eq!(stands.held_micros, 0);
    purse.ask(ask(1)).await.unwrap();
    assert!(purse.ask(ask(1)).await.unwrap_err().is(Code::LimitReached));

    // What costs nothing is not refused, and neither is anything once the budget only tells.
    purse.stand.price(0).await;
    purse.ask(ask(8)).await.unwrap();
    purse.stand.price(DOLLAR).await;
    assert!(purse.ask(ask(1)).await.unwrap_err().is(Code::LimitReached));
    let higher = BudgetChange { amount_micros: Some(12 * DOLLAR), ..BudgetChange::default() };
    assert_eq!(purse.change(&budget, higher).await.unwrap().version, 2);
    purse.ask(ask(1)).await.unwrap();
    assert!(purse.ask(ask(8)).await.unwrap_err().is(Code::LimitReached));
    purse.change(&budget, BudgetChange { mode: Some(BudgetMode::Notify), ..Default::default() }).await.unwrap();
    purse.ask(ask(8)).await.unwrap();
    purse.change(&budget, BudgetChange { mode: Some(BudgetMode::Hard), ..Default::default() }).await.unwrap();
    assert!(purse.ask(ask(8)).await.unwrap_err().is(Code::LimitReached));
    purse.owner.call::<DeleteBudget>(purse.at(&budget), Nothing {}, Nothing {}).await.unwrap();
    purse.ask(ask(8)).await.unwrap();
    let again = purse.owner.call::<DeleteBudget>(purse.at(&budget), Nothing {}, Nothing {}).await.unwrap_err();
    assert!(again.is(Code::NotFound), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_threshold_is_notified_once_at_the_moment_that_was_predicted() {
    let purse = purse().await;
    let budget = purse.set(purse.spec(10 * DOLLAR, BudgetPeriod::Total, BudgetMode::Notify)).await.unwrap();
    let near = |found: f64, expected: u64| {
        assert!((found - expected as f64).abs() < 30.0, "due in {found} s instead of {expected}")
    };
    let id = purse.stand.started(1).await;
    purse.after(0).await;
    near(purse.due_in(&budget).await, 5 * HOUR);
    purse.after(HOUR).await;
    // A second one makes it sooner, its end later: marks plan it anew.
    let second = purse.stand.started(3).await;
    purse.after(0).await;
    near(purse.due_in(&budget).await, HOUR);
    purse.stand.go(second, "releasing").await;
    purse.after(0).await;
    near(purse.due_in(&budget).await, 4 * HOUR);
    purse.after(4 * HOUR - 60).await;
    assert_eq!(purse.told().await, Vec::<i32>::new(), "a minute early");
    purse.after(61).await;
    assert_eq!(purse.told().await, [50]);
    testkit::server::eventually("those who pay to be told", || async { !purse.read().await.is_empty() }).await;
    let read = purse.read().await;
    println!("told to those who pay: {read:?}");
    assert_eq!(read.len(), 1);
    for part in ["has used 50 % of its budget: ", "has used 5.0", "of 10.00 USD."] {
        assert!(read[0].contains(part), "{part}: {read:?}");
    }
    for _ in 0..3 {
        purse.after(600).await;
    }
    assert_eq!(purse.told().await, [50], "once, however often it is looked at");
    purse.after(3 * HOUR).await;
    assert_eq!(purse.told().await, [50, 80]);
    assert_eq!(purse.get(&budget).await.notified_percent, Some(80));

    // Raised to 40, a fifth is used: what is no longer reached is told of again.
    let change =
        BudgetChange { amount_micros: Some(40 * DOLLAR), thresholds: Some(vec![50, 20]), ..Default::default() };
    let changed = purse.change(&budget, change).await.unwrap();
    assert_eq!((changed.thresholds, changed.notified_percent), (vec![20, 50], None));
    purse.after(0).await;
    assert_eq!(purse.told().await, [50, 80, 20]);
    purse.after(12 * HOUR).await;
    assert_eq!(purse.told().await, [50, 80, 20, 50]);
    purse.stand.go(id, "stopping").await;
    purse.after(0).await;
    let waiting: i64 = purse.stand.one("SELECT count(*) FROM work WHERE kind = 'budget'").await;
    assert_eq!(waiting, 0, "nothing runs, so nothing is due");
}

/// The marks of an allocation's only interval, in millionths of a second since 1970.
async fn ran(purse: &Purse, id: Uuid) -> (i64, i64) {
    let marks = purse.stand.marks().await;
    let at = |kind: &str| marks.iter().find(|it| it.subject_id == id && it.kind == kind).unwrap().at_us;
    (at("start"), at("end"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_ends_at_midnight_utc_and_usage_across_it_counts_in_both() {
    let mut purse = purse().await;
    let mut spec = purse.spec(DOLLAR, BudgetPeriod::Month, BudgetMode::Notify);
    spec.thresholds = Some(vec![40]);
    let month = purse.set(spec).await.unwrap();
    let all = purse.set(purse.spec(100 * DOLLAR, BudgetPeriod::Total, BudgetMode::Notify)).await.unwrap();
    let border = month.until.unwrap();
    assert!(border.to_string().ends_with("-01T00:00:00Z"), "{border}");
    let now = purse.stand.world.server.control_plane.db.clock.estimate();
    purse.after(u64::try_from(border.duration_since(now).as_secs()).unwrap() - HOUR / 2).await;
    purse.sign_in().await;
    let id = purse.stand.started(1).await;
    purse.after(25 * 60).await;
    assert_eq!(purse.told().await, [40], "in the old month");
    let before = purse.get(&month).await;
    assert_eq!(before.until, Some(border));
    purse.after(20 * 60).await;
    assert_eq!(purse.told().await, [40], "the new month began with nothing");
    let begun = purse.get(&month).await;
    assert_eq!((begun.since, begun.notified_percent), (Some(border), None));
    purse.after(15 * 60).await;
    assert_eq!(purse.told().await, [40, 40], "and in the new one");
    purse.stand.go(id, "releasing").await;
    purse.stand.close().await;

    let (start, end) = ran(&purse, id).await;
    let cost = |micros: i64| i64::try_from(i128::from(DOLLAR) * i128::from(micros) / 3_600_000_000).unwrap();
    let in_old = cost(border.as_microsecond() - start);
    let in_new = cost(end - start) - in_old;
    assert_eq!(purse.get(&month).await.spent_micros, in_new, "to the millionth");
    assert_eq!(purse.get(&all).await.spent_micros, in_old + in_new);
    assert!(in_old > 400_000 && in_new > 400_000, "{in_old} {in_new}");
    let posted: i64 =
        purse.stand.one("SELECT coalesce(sum(amount), 0)::bigint FROM entries WHERE subject_id IS NOT NULL").await;
    assert_eq!(posted, in_old + in_new, "the ledger says the same");
    println!("{} of usage: {in_old} before {border}, {in_new} after it, in millionths", posted);

    // A hard one is only held to what may be used before its month ends.
    let left =
        |until: Timestamp| until.duration_since(purse.stand.world.server.control_plane.db.clock.estimate()).as_secs();
    let next = purse.get(&month).await.until.unwrap();
    purse.stand.advance(u64::try_from(left(next)).unwrap() - HOUR / 2 + 10);
    purse.sign_in().await;
    purse.set(purse.spec(DOLLAR / 2 + in_new, BudgetPeriod::Month, BudgetMode::Hard)).await.unwrap();
    purse.ask(ask(1)).await.unwrap();
    assert!(purse.ask(ask(1)).await.unwrap_err().is(Code::LimitReached));
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_and_strangers_are_refused() {
    let purse = purse().await;
    let good = || purse.spec(DOLLAR, BudgetPeriod::Quarter, BudgetMode::Hard);
    for amount in [0, -1, i64::MIN, i64::MAX, 1_000_000_000_000_001] {
        let refused = purse.set(BudgetSpec { amount_micros: amount, ..good() }).await.unwrap_err();
        assert!(refused.is(Code::InvalidValue), "{amount}: {refused}");
    }
    for thresholds in [vec![0], vec![1001], vec![80; 11]] {
        let refused = purse.set(BudgetSpec { thresholds: Some(thresholds), ..good() }).await.unwrap_err();
        assert!(refused.is(Code::InvalidValue), "{refused}");
    }
    let refused = purse.set(BudgetSpec { currency: "XYZ".parse().unwrap(), ..good() }).await.unwrap_err();
    assert!(refused.is(Code::InvalidValue) && refused.to_string().contains("no SKU is charged in XYZ"), "{refused}");
    let world = &purse.stand.world;
    let (stranger, other) = world.organization().await;
    let foreign = world.project(stranger).await;
    for project_id in [foreign, contract::id::ProjectId::generate()] {
        let refused = purse.set(BudgetSpec { project_id, ..good() }).await.unwrap_err();
        assert!(refused.is(Code::InvalidValue) && refused.to_string().contains("no such project"), "{refused}");
    }
    assert_eq!(purse.stand.one::<i64>("SELECT count(*) FROM budgets").await, 0, "no trace is left");

    let budget = purse.set(good()).await.unwrap();
    assert_eq!(budget.thresholds, [50, 80, 100]);
    let zero = BudgetChange { amount_micros: Some(0), ..BudgetChange::default() };
    assert!(purse.change(&budget, zero).await.unwrap_err().is(Code::InvalidValue));
    let theirs = BudgetPath { organization_id: stranger, budget_id: budget.id };
    let hidden = world.as_(&other).call::<GetBudget>(theirs, Nothing {}, Nothing {}).await.unwrap_err();
    assert!(hidden.is(Code::NotFound), "{hidden}");
    for (role, may) in [(Role::Admin, true), (Role::Billing, true), (Role::Member, false), (Role::Viewer, false)] {
        let client = world.as_(&world.member_of(purse.stand.organization, role).await);
        let made = client.call::<CreateBudget>(purse.path(), Nothing {}, good()).await;
        assert_eq!(made.is_ok(), may, "{role}");
        let seen = client.call::<ListBudgets>(purse.path(), BudgetFilter::default(), Nothing {}).await.unwrap();
        assert!(!seen.items.is_empty(), "{role}");
    }
}
