//! Four eyes: what one member of staff proposes, another one posts.

use client::{Client, ClientError};
use contract::{
    Code, Nothing, Timestamp,
    corrections::{
        AdjustBalance, ApproveCorrection, Correction, CorrectionFilter, CorrectionKind, CorrectionPath, CorrectionSpec,
        CorrectionState, GetCorrection, GrantCredit, JournalPath, ListCorrections, RejectCorrection, ReverseJournal,
    },
    organizations::{Because, OrganizationPath},
    permission::PlatformRole,
    policies::{GetPlatformPolicy, PlatformPolicyPath, Policy, PolicyValue, SetPlatformPolicy, UnsetPlatformPolicy},
    prices::{Price, PriceSpec, SetPrice},
    skus::SkuPath,
};
use testkit::{Member, cloud::price_of, world::set_policy};

use crate::ledger::stand::Stand;

const FOUR_EYES: &str = "billing.four_eyes";

struct Staff {
    stand: Stand,
    proposer: Member,
    one: Client,
    other: Client,
}

async fn staff() -> Staff {
    let stand = Stand::new(1_000_000).await;
    let proposer = stand.world.operator().await;
    let one = stand.world.as_(&proposer);
    let other = stand.world.as_(&stand.world.operator().await);
    set_policy(&one, "billing.four_eyes", "true").await;
    let control_plane = &stand.world.server.control_plane;
    control_plane.policies.refresh(&control_plane.db).await.unwrap();
    Staff { stand, proposer, one, other }
}

impl Staff {
    fn path(&self) -> OrganizationPath {
        OrganizationPath { organization_id: self.stand.organization }
    }

    async fn credit(&self, micros: i64) -> Correction {
        self.one.call::<GrantCredit>(self.path(), Nothing {}, spec(micros)).await.unwrap()
    }

    async fn set_price(&self, micros: i64, effective_at: Option<Timestamp>) -> Result<Price, ClientError> {
        let path = SkuPath { sku_id: self.stand.sku.into() };
        let spec = PriceSpec { effective_at, ..price_of(micros) };
        self.one.call::<SetPrice>(path, Nothing {}, spec).await
    }

    /// The price in force, and how many there are.
    async fn price(&self) -> (i64, i64) {
        let newest = "SELECT price_micros FROM prices WHERE effective_at <= app_now() + interval '1 minute'
                      ORDER BY effective_at DESC, version DESC LIMIT 1";
        (self.stand.one(newest).await, self.stand.one("SELECT count(*) FROM prices").await)
    }

    /// The one thing that waits for a second person.
    async fn waits(&self) -> Correction {
        let filter = CorrectionFilter { state: Some(CorrectionState::Proposed), ..CorrectionFilter::default() };
        let mut page = self.other.call::<ListCorrections>(Nothing {}, filter, Nothing {}).await.unwrap();
        assert_eq!(page.items.len(), 1, "{page:?}");
        page.items.remove(0)
    }

    async fn switch_off(&self, unset: bool) -> Result<Policy, ClientError> {
        let path = PlatformPolicyPath { key: FOUR_EYES.into() };
        let value = PolicyValue { value: "false".into() };
        match unset {
            true => self.one.call::<UnsetPlatformPolicy>(path, Nothing {}, Nothing {}).await,
            false => self.one.call::<SetPlatformPolicy>(path, Nothing {}, value).await,
        }
    }

    async fn is_on(&self) -> bool {
        let path = PlatformPolicyPath { key: FOUR_EYES.into() };
        self.other.call::<GetPlatformPolicy>(path, Nothing {}, Nothing {}).await.unwrap().value == "true"
    }

    async fn posted(&self) -> i64 {
        self.stand.balance().await.posted.micros()
    }
}

fn spec(amount_micros: i64) -> CorrectionSpec {
    CorrectionSpec { currency: "USD".parse().unwrap(), amount_micros, reason: "welcome".parse().unwrap() }
}

fn because() -> Because {
    Because { reason: "another customer".parse().unwrap() }
}

async fn approve(client: &Client, it: &Correction) -> Result<Correction, ClientError> {
    client.call::<ApproveCorrection>(CorrectionPath { correction_id: it.id }, Nothing {}, Nothing {}).await
}

#[tokio::test(flavor = "multi_thread")]
async fn correction_of_one_person_is_posted_by_another() {
    let staff = staff().await;
    let proposed = staff.credit(5_000_000).await;
    assert_eq!((proposed.state.clone(), &proposed.journal), (CorrectionState::Proposed.into(), &None));
    assert_eq!(staff.posted().await, 0, "nothing is posted by one person");
    let alone = approve(&staff.one, &proposed).await.unwrap_err();
    assert!(alone.is(Code::Conflict) && alone.to_string().contains("a second person"), "{alone}");
    let support = staff.stand.world.as_(&staff.stand.world.person_with(Some(PlatformRole::Support)).await);
    assert!(approve(&support, &proposed).await.unwrap_err().is(Code::Forbidden));
    let posted = approve(&staff.other, &proposed).await.unwrap();
    let journal = posted.journal.clone().unwrap();
    assert_eq!((posted.state.clone(), staff.posted().await), (CorrectionState::Posted.into(), 5_000_000));
    assert_eq!(
        (journal.actor.as_str(), posted.decided_by.as_deref() == Some(&journal.actor)),
        (&*posted.proposed_by, false)
    );
    assert!(approve(&staff.other, &proposed).await.unwrap_err().is(Code::Conflict), "once");
    // Taking it back needs a second person too, and is done once.
    let path = JournalPath { organization_id: staff.stand.organization, journal_id: journal.id };
    let back = staff.one.call::<ReverseJournal>(path.clone(), Nothing {}, because()).await.unwrap();
    let again = staff.one.call::<ReverseJournal>(path.clone(), Nothing {}, because()).await.unwrap();
    approve(&staff.other, &back).await.unwrap();
    assert_eq!(staff.posted().await, 0);
    assert!(approve(&staff.other, &again).await.unwrap_err().is(Code::Conflict), "journals are taken back once");
    assert!(staff.one.call::<ReverseJournal>(path, Nothing {}, because()).await.unwrap_err().is(Code::Conflict));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_who_approve_at_once_post_it_once() {
    let staff = staff().await;
    let third = staff.stand.world.as_(&staff.stand.world.operator().await);
    for round in 1..=8 {
        let proposed = staff.credit(1_000_000).await;
        let (left, right) = tokio::join!(approve(&staff.other, &proposed), approve(&third, &proposed));
        assert!(left.is_ok() != right.is_ok(), "{left:?} {right:?}");
        assert_eq!(staff.posted().await, round * 1_000_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_or_expired_correction_posts_nothing() {
    let staff = staff().await;
    let spec = spec(-3_000_000);
    let refused = staff.one.call::<AdjustBalance>(staff.path(), Nothing {}, spec).await.unwrap();
    let path = CorrectionPath { correction_id: refused.id };
    let refused = staff.other.call::<RejectCorrection>(path, Nothing {}, because()).await.unwrap();
    assert_eq!(
        (refused.state.clone(), refused.decision.as_deref()),
        (CorrectionState::Rejected.into(), Some("another customer"))
    );
    assert!(approve(&staff.other, &refused).await.unwrap_err().is(Code::Conflict));
    let forgotten = staff.credit(7).await;
    staff.stand.advance(72 * 3600 + 1);
    staff.stand.world.server.settle().await;
    let path = CorrectionPath { correction_id: forgotten.id };
    // Sessions ran out with it.
    let other = staff.stand.world.as_(&staff.stand.world.operator().await);
    let forgotten = other.call::<GetCorrection>(path, Nothing {}, Nothing {}).await.unwrap();
    assert_eq!((forgotten.state.clone(), staff.posted().await), (CorrectionState::Expired.into(), 0));
    let filter = CorrectionFilter { state: Some(CorrectionState::Expired), ..CorrectionFilter::default() };
    let page = other.call::<ListCorrections>(Nothing {}, filter, Nothing {}).await.unwrap();
    assert_eq!(page.items.iter().map(|it| it.id).collect::<Vec<_>>(), [forgotten.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn price_is_in_force_once_a_second_person_agreed() {
    let staff = staff().await;
    let refused = staff.set_price(2_000_000, None).await.unwrap_err();
    assert!(refused.is(Code::ApprovalRequired), "{refused}");
    println!("{refused}");
    let waits = staff.waits().await;
    assert!(refused.to_string().contains(&format!("`gpuaas corrections approve {}`", waits.id)), "{refused}");
    let summary = "`slice` costs 2.00 USD per GPU hour once approved";
    assert_eq!((waits.kind.clone(), waits.summary.as_deref()), (CorrectionKind::Price.into(), Some(summary)));
    assert!(staff.set_price(2_000_000, None).await.unwrap_err().is(Code::ApprovalRequired));
    assert_eq!((staff.waits().await.id, staff.price().await), (waits.id, (1_000_000, 1)), "the same one waits");
    // A key and a session of one person are one person.
    let session = staff.stand.world.signed_in(staff.proposer.id).await;
    for alone in [&staff.one, &session] {
        let refused = approve(alone, &waits).await.unwrap_err();
        assert!(refused.is(Code::Conflict) && refused.to_string().contains("a second person"), "{refused}");
    }
    let done = approve(&staff.other, &waits).await.unwrap();
    assert_eq!((done.state.clone(), staff.price().await), (CorrectionState::Posted.into(), (2_000_000, 2)));
    assert!(done.result.unwrap().starts_with("price-"));
    assert!(approve(&staff.other, &waits).await.unwrap_err().is(Code::Conflict), "once");
    // What would have begun while it waited begins when it is approved.
    let soon = staff.stand.world.server.control_plane.db.clock.estimate() + std::time::Duration::from_secs(3600);
    assert!(staff.set_price(3_000_000, Some(soon)).await.unwrap_err().is(Code::ApprovalRequired));
    let late = staff.waits().await;
    staff.stand.advance(7200);
    let approved_at = staff.stand.world.server.control_plane.db.clock.estimate();
    approve(&staff.other, &late).await.unwrap();
    let begins: i64 = staff.stand.one("SELECT epoch_us(max(effective_at)) FROM prices").await;
    assert!(begins >= approved_at.as_microsecond() - 1_000_000, "not before its approval");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_who_approve_a_price_at_once_set_it_once() {
    let staff = staff().await;
    let third = staff.stand.world.as_(&staff.stand.world.operator().await);
    for round in 1..=8 {
        staff.set_price(round, None).await.unwrap_err();
        let waits = staff.waits().await;
        let (left, right) = tokio::join!(approve(&staff.other, &waits), approve(&third, &waits));
        assert!(left.is_ok() != right.is_ok(), "{left:?} {right:?}");
        assert_eq!(staff.price().await, (round, round + 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn switching_four_eyes_off_needs_a_second_person() {
    let staff = staff().await;
    for unset in [false, true] {
        let refused = staff.switch_off(unset).await.unwrap_err();
        assert!(refused.is(Code::ApprovalRequired), "{refused}");
        println!("{refused}");
        let waits = staff.waits().await;
        assert_eq!((waits.kind.clone(), staff.is_on().await), (CorrectionKind::Policy.into(), true));
        assert!(approve(&staff.one, &waits).await.unwrap_err().is(Code::Conflict));
        approve(&staff.other, &waits).await.unwrap();
        assert!(!staff.is_on().await);
        // One person may switch them on, and off again once they are off.
        staff.switch_off(unset).await.unwrap();
        set_policy(&staff.one, FOUR_EYES, "true").await;
        assert!(staff.is_on().await);
    }
}
