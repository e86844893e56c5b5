//! Whether there is money for what is asked for, and what staff may do about it.

use client::ClientError;
use contract::{
    Code, Nothing,
    allocations::{Allocation, AllocationSpec, CreateAllocation},
    corrections::{AdjustBalance, CorrectionSpec, GrantCredit, JournalPath, ReverseJournal},
    ledger::{GetBalance, Journal, JournalFilter, ListAnyJournals},
    organizations::{Because, OrganizationPath},
    permission::PlatformRole,
    projects::ProjectPath,
};
use testkit::{Member, cloud::ask, world::set_policy};

use crate::ledger::stand::Stand;

const DOLLAR: i64 = 1_000_000;

struct Funds {
    stand: Stand,
    owner: Member,
    operator: client::Client,
}

/// An organization whose allocations need money: a GPU costs a dollar an hour.
async fn funds() -> Funds {
    let stand = Stand::new(DOLLAR).await;
    let world = &stand.world;
    let owner = world.member_of(stand.organization, contract::Role::Owner).await;
    let operator = world.as_(&world.operator().await);
    for lane in ["address", "default", "launch", "financial"] {
        set_policy(&operator, &format!("rate_limit.{lane}_per_minute"), "1000000").await;
    }
    set_policy(&operator, "billing.required", "true").await;
    set_policy(&operator, "allocations.max_gpus", "1000").await;
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    Funds { stand, owner, operator }
}

impl Funds {
    async fn credit(&self, micros: i64) -> Result<Journal, ClientError> {
        let given = self.operator.call::<GrantCredit>(self.path(), Nothing {}, correction(micros)).await?;
        Ok(given.journal.expect("one person is enough"))
    }

    fn path(&self) -> OrganizationPath {
        OrganizationPath { organization_id: self.stand.organization }
    }

    async fn ask(&self, spec: AllocationSpec) -> Result<Allocation, ClientError> {
        let path = ProjectPath { project_id: self.stand.project.into() };
        self.stand.world.as_(&self.owner).call::<CreateAllocation>(path, Nothing {}, spec).await
    }

    async fn available(&self) -> i64 {
        let client = self.stand.world.as_(&self.owner);
        client.call::<GetBalance>(self.path(), Nothing {}, Nothing {}).await.unwrap().items[0].available_micros
    }
}

fn correction(amount_micros: i64) -> CorrectionSpec {
    CorrectionSpec { currency: "USD".parse().unwrap(), amount_micros, reason: "a test".parse().unwrap() }
}

/// Looks at the end of every transaction that holds something.
const ASSERTION: &str = "
    CREATE FUNCTION nothing_below_zero() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF (SELECT coalesce(sum(amount), 0) FROM entries e JOIN accounts a ON a.id = e.account_id AND a.kind = 'wallet')
         < (SELECT coalesce(sum(accrued(micros_per_hour, make_interval(secs => seconds))), 0) FROM holds) THEN
        RAISE EXCEPTION 'held more than there is';
      END IF; RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER nothing_below_zero AFTER INSERT OR UPDATE ON holds DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION nothing_below_zero()";

#[tokio::test(flavor = "multi_thread")]
async fn funds_admit_exactly_what_fits_of_64_requests_at_once() {
    let funds = std::sync::Arc::new(funds().await);
    let mut above = funds.stand.world.server.database.superuser().await;
    sqlx::raw_sql(ASSERTION).execute(&mut above).await.unwrap();
    // Ten that cost a dollar at worst, and some change.
    funds.credit(10 * DOLLAR + DOLLAR / 2).await.unwrap();
    let all: Vec<_> = (0..64)
        .map(|_| {
            let funds = funds.clone();
            tokio::spawn(async move { funds.ask(ask(1)).await })
        })
        .collect();
    let (mut admitted, mut refused) = (0, 0);
    for one in all {
        match one.await.unwrap() {
            Ok(_) => admitted += 1,
            Err(error) if error.is(Code::InsufficientFunds) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((admitted, refused, funds.available().await), (10, 54, DOLLAR / 2));
    assert_eq!(funds.stand.one::<i64>("SELECT count(*) FROM allocations").await, 10, "who was refused leaves no trace");
    println!(
        "64 creates at once against a balance for 10: {admitted} admitted, {refused} refused, 0.50 USD left; never below zero at a commit"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_says_what_is_needed_and_what_there_is() {
    let funds = funds().await;
    funds.credit(3 * DOLLAR).await.unwrap();
    let refused = funds.ask(ask(4)).await.unwrap_err();
    assert!(refused.is(Code::InsufficientFunds), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("needs 4.00 USD") && text.contains("3.00 USD is available"), "{text}");
    // A lease says how long it must be affordable.
    let short = AllocationSpec { lease_minutes: contract::Within::new(30), ..ask(4) };
    let id = funds.ask(short).await.unwrap().id.uuid();
    assert_eq!(funds.available().await, DOLLAR);
    funds.stand.go(id, "released").await;
    assert_eq!(funds.available().await, 3 * DOLLAR, "what is canceled holds nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_consumes_its_hold_first() {
    let funds = funds().await;
    funds.credit(10 * DOLLAR).await.unwrap();
    let id = funds.ask(ask(2)).await.unwrap().id.uuid();
    assert_eq!(funds.available().await, 8 * DOLLAR);
    funds.stand.go(id, "provisioning").await;
    funds.stand.go(id, "active").await;
    for _ in 0..3 {
        funds.stand.advance(600);
        assert_eq!(funds.available().await, 8 * DOLLAR, "time consumes the hold, and posting changes nothing");
        funds.stand.close().await;
        assert_eq!(funds.available().await, 8 * DOLLAR);
    }
    // Stopped, the whole hold stands for the next start; half an hour was used.
    funds.stand.go(id, "stopping").await;
    let left = funds.available().await;
    assert!((6_900_000..7_000_001).contains(&left), "{left}");
    funds.stand.go(id, "stopped").await;
    funds.stand.go(id, "starting").await;
    funds.stand.go(id, "active").await;
    funds.stand.advance(3600);
    let at_the_end = funds.available().await;
    assert!((left - at_the_end).abs() <= 20_000, "{left} {at_the_end}: nothing but what ran past the hold");
    funds.stand.advance(1800);
    let past = funds.available().await;
    assert!((5_900_000..6_000_001).contains(&past), "{past}: what runs past its hold is taken from the rest");
    funds.stand.go(id, "releasing").await;
    funds.stand.close().await;
    assert_eq!(funds.stand.one::<i64>("SELECT count(*) FROM holds").await, 0);
    funds.stand.is_exact().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_give_credit_correct_and_take_back() {
    let funds = funds().await;
    let given = funds.credit(5 * DOLLAR).await.unwrap();
    assert_eq!((given.kind.as_str(), given.wallets[0].balance_micros), ("credit", 5 * DOLLAR));
    let lower = funds.operator.call::<AdjustBalance>(funds.path(), Nothing {}, correction(-2 * DOLLAR)).await.unwrap();
    let lower = lower.journal.unwrap();
    assert_eq!(lower.wallets[0].balance_micros, 3 * DOLLAR);
    let path = |journal_id| JournalPath { organization_id: funds.stand.organization, journal_id };
    let because = || Because { reason: "entered twice".parse().unwrap() };
    let back = funds.operator.call::<ReverseJournal>(path(given.id), Nothing {}, because()).await.unwrap();
    let back = back.journal.unwrap();
    assert_eq!((back.reverses, back.wallets[0].balance_micros), (Some(given.number), -2 * DOLLAR));
    assert!(back.actor.starts_with("user:") && back.reason.as_deref() == Some("entered twice"));
    let twice = funds.operator.call::<ReverseJournal>(path(given.id), Nothing {}, because()).await.unwrap_err();
    assert!(twice.is(Code::Conflict), "{twice}");
    let missing = funds
        .operator
        .call::<ReverseJournal>(path(contract::id::JournalId::generate()), Nothing {}, because())
        .await
        .unwrap_err();
    assert!(missing.is(Code::NotFound), "{missing}");
    for amount in [0, -1, i64::MAX, i64::MIN] {
        let refused = funds.credit(amount).await.unwrap_err();
        assert!(refused.is(Code::InvalidValue), "{amount}: {refused}");
    }
    let support = funds.stand.world.as_(&funds.stand.world.person_with(Some(PlatformRole::Support)).await);
    let refused = support.call::<GrantCredit>(funds.path(), Nothing {}, correction(1)).await.unwrap_err();
    assert!(refused.is(Code::Forbidden), "{refused}");
    let all = funds.operator.call::<ListAnyJournals>(funds.path(), JournalFilter::default(), Nothing {}).await.unwrap();
    assert_eq!(all.items.iter().map(|it| it.kind.as_str()).collect::<Vec<_>>(), ["reversal", "adjustment", "credit"]);
}
