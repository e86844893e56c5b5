//! Four eyes: what one member of staff proposes, another one posts.

use client::{Client, ClientError};
use contract::{
    Code, Nothing,
    corrections::{
        AdjustBalance, ApproveCorrection, Correction, CorrectionFilter, CorrectionPath, CorrectionSpec,
        CorrectionState, GetCorrection, GrantCredit, JournalPath, ListCorrections, RejectCorrection, ReverseJournal,
    },
    organizations::{Because, OrganizationPath},
    permission::PlatformRole,
};
use testkit::world::set_policy;

use crate::stand::Stand;

struct Staff {
    stand: Stand,
    one: Client,
    other: Client,
}

async fn staff() -> Staff {
    let stand = Stand::new(1_000_000).await;
    let one = stand.world.as_(&stand.world.operator().await);
    let other = stand.world.as_(&stand.world.operator().await);
    set_policy(&one, "billing.four_eyes", "true").await;
    let app = &stand.world.server.app;
    app.policies.refresh(&app.db).await.unwrap();
    Staff { stand, one, other }
}

impl Staff {
    fn path(&self) -> OrganizationPath {
        OrganizationPath { organization_id: self.stand.organization }
    }

    async fn credit(&self, micros: i64) -> Correction {
        self.one.call::<GrantCredit>(self.path(), Nothing {}, spec(micros)).await.unwrap()
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
async fn what_one_proposes_another_posts() {
    let staff = staff().await;
    let proposed = staff.credit(5_000_000).await;
    assert_eq!((proposed.state.clone(), &proposed.journal), (CorrectionState::Proposed.into(), &None));
    assert_eq!(staff.posted().await, 0, "nothing is posted by one person");
    let alone = approve(&staff.one, &proposed).await.unwrap_err();
    assert!(alone.is(Code::Conflict) && alone.to_string().contains("another person"), "{alone}");
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
async fn what_is_turned_down_or_forgotten_posts_nothing() {
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
