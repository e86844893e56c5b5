//! Money that goes back: asked for here, given back elsewhere, or taken by a bank.

use client::{Client, ClientError};
use contract::{
    Code, Nothing, Role,
    corrections::{ApproveCorrection, Correction, CorrectionFilter, CorrectionPath, CorrectionState, ListCorrections},
    id::PaymentId,
    payments::PaymentState,
    refunds::{AnyPaymentPath, CreateRefund, ListRefunds, Refund, RefundFilter, RefundSpec, RefundState},
};
use testkit::{stripe::InjectedFault, world::set_policy};

use crate::payments::stand::{DOLLAR, Stand};

impl Stand {
    async fn refund(&self, payment: PaymentId, micros: Option<i64>) -> Result<Refund, ClientError> {
        let spec = RefundSpec { amount_micros: micros, reason: "ended early".parse().unwrap() };
        self.operator.call::<CreateRefund>(AnyPaymentPath { payment_id: payment }, Nothing {}, spec).await
    }

    async fn refunds(&self, payment: PaymentId) -> Vec<Refund> {
        let path = AnyPaymentPath { payment_id: payment };
        self.operator.call::<ListRefunds>(path, RefundFilter::default(), Nothing {}).await.unwrap().items
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_leaves_the_wallet_when_it_is_confirmed_and_never_exceeds_what_was_paid() {
    let stand = Stand::new().await;
    let (payment, _) = stand.paid(50).await;
    stand.stripe.refunds_become("pending");
    let first = stand.refund(payment.id, Some(20 * DOLLAR)).await.unwrap();
    assert_eq!(first.state, RefundState::Requested);
    for too_much in [Some(30 * DOLLAR + 10_000), Some(i64::MAX), Some(0), Some(-DOLLAR), Some(10_001)] {
        let refused = stand.refund(payment.id, too_much).await.unwrap_err();
        assert!(refused.is(Code::InvalidValue), "{too_much:?}: {refused}");
    }
    stand.settle().await;
    let now = stand.get(payment.id).await;
    assert_eq!((now.refunding_micros, now.refunded_micros, stand.wallet().await), (20 * DOLLAR, 0, 50 * DOLLAR));
    let name = stand.stripe.refunds()[0]["id"].as_str().unwrap().to_owned();
    stand.stripe.set_refund(&name, "succeeded");
    stand.hear("refund.updated", &name).await;
    let now = stand.get(payment.id).await;
    assert_eq!((now.refunding_micros, now.refunded_micros, stand.wallet().await), (0, 20 * DOLLAR, 30 * DOLLAR));
    // All that is left, which the bank cannot take: no effect.
    let rest = stand.refund(payment.id, None).await.unwrap();
    assert_eq!(rest.amount_micros, 30 * DOLLAR);
    stand.settle().await;
    let name = stand.stripe.refunds()[1]["id"].as_str().unwrap().to_owned();
    stand.stripe.set_refund(&name, "failed");
    stand.hear("refund.failed", &name).await;
    assert_eq!(
        (stand.refunds(payment.id).await[0].state.clone(), stand.wallet().await),
        (RefundState::Failed.into(), 30 * DOLLAR)
    );
    // The first comes back from the payer's bank after all.
    let name = stand.stripe.refunds()[0]["id"].as_str().unwrap().to_owned();
    stand.stripe.set_refund(&name, "failed");
    stand.hear("refund.failed", &name).await;
    assert_eq!((stand.wallet().await, stand.sum("refunds").await), (50 * DOLLAR, 0));
    assert!(stand.compare().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn refund_moves_nothing_until_a_second_person_agreed() {
    let stand = Stand::new().await;
    let (payment, _) = stand.paid(50).await;
    set_policy(&stand.operator, "billing.four_eyes", "true").await;
    let [other, third] = [stand.world.operator().await, stand.world.operator().await].map(|it| stand.world.as_(&it));
    let waiting = async || {
        let filter = CorrectionFilter { state: Some(CorrectionState::Proposed), ..CorrectionFilter::default() };
        other.call::<ListCorrections>(Nothing {}, filter, Nothing {}).await.unwrap().items
    };
    let approve = async |client: &Client, it: &Correction| {
        client.call::<ApproveCorrection>(CorrectionPath { correction_id: it.id }, Nothing {}, Nothing {}).await
    };
    for _ in 0..2 {
        let refused = stand.refund(payment.id, Some(20 * DOLLAR)).await.unwrap_err();
        assert!(refused.is(Code::ApprovalRequired), "{refused}");
        println!("{refused}");
    }
    stand.settle().await;
    assert_eq!((stand.refunds(payment.id).await.len(), stand.wallet().await), (0, 50 * DOLLAR), "nothing moves");
    let waits = waiting().await;
    assert_eq!(waits.len(), 1, "asked for twice, it waits once");
    assert_eq!(waits[0].summary.as_deref(), Some(format!("refund 20.00 USD of {}", payment.id).as_str()));
    assert!(approve(&stand.operator, &waits[0]).await.unwrap_err().is(Code::Conflict), "not by who proposed it");
    let (left, right) = tokio::join!(approve(&other, &waits[0]), approve(&third, &waits[0]));
    assert!(left.is_ok() != right.is_ok(), "{left:?} {right:?}");
    stand.settle().await;
    assert_eq!((stand.wallet().await, stand.stripe.refunds().len()), (30 * DOLLAR, 1));
    let made = stand.refunds(payment.id).await.remove(0);
    assert_eq!((made.created_by.as_str(), made.reason.as_str()), (waits[0].proposed_by.as_str(), "ended early"));
    // What is left is counted again when the second person agrees.
    for micros in [None, Some(10 * DOLLAR)] {
        assert!(stand.refund(payment.id, micros).await.unwrap_err().is(Code::ApprovalRequired));
    }
    let waits = waiting().await;
    let [part, rest] = waits.as_slice() else { panic!("two wait: {waits:?}") };
    approve(&other, rest).await.unwrap();
    let refused = approve(&other, part).await.unwrap_err();
    assert!(refused.is(Code::InvalidValue), "{refused}");
    stand.settle().await;
    assert_eq!((stand.wallet().await, stand.stripe.refunds().len()), (0, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_of_a_refund_that_waits_get_one_answer_for_good() {
    let stand = Stand::new().await;
    let (payment, _) = stand.paid(50).await;
    let operator = stand.world.operator().await;
    set_policy(&stand.operator, "billing.four_eyes", "true").await;
    let proposer = stand.world.as_(&operator);
    let send = async || {
        let path = AnyPaymentPath { payment_id: payment.id };
        let spec = RefundSpec { amount_micros: Some(20 * DOLLAR), reason: "ended early".parse().unwrap() };
        proposer.call_with_key::<CreateRefund>("one", path, Nothing {}, spec).await.unwrap_err()
    };
    let first = send().await;
    assert!(first.is(Code::ApprovalRequired), "{first}");
    let filter = CorrectionFilter { state: Some(CorrectionState::Proposed), ..CorrectionFilter::default() };
    let waits = stand.operator.call::<ListCorrections>(Nothing {}, filter, Nothing {}).await.unwrap().items;
    let path = CorrectionPath { correction_id: waits[0].id };
    stand.operator.call::<ApproveCorrection>(path, Nothing {}, Nothing {}).await.unwrap();
    let copy = send().await;
    let (first, copy) = (first.problem().unwrap(), copy.problem().unwrap());
    assert_eq!((copy.is_replay, &copy.detail), (true, &first.detail), "a copy proposes nothing more");
    assert_eq!(stand.one("SELECT count(*) FROM corrections").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn refunds_at_once_return_no_more_than_was_paid() {
    let stand = Stand::new().await;
    let (payment, _) = stand.paid(50).await;
    let all = futures_util::future::join_all((0..8).map(|_| stand.refund(payment.id, Some(20 * DOLLAR)))).await;
    assert_eq!(all.iter().filter(|it| it.is_ok()).count(), 2);
    stand.settle().await;
    assert_eq!((stand.wallet().await, stand.stripe.refunds().len()), (10 * DOLLAR, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_operators_refund_and_only_what_arrived() {
    let stand = Stand::new().await;
    let open = stand.open(50).await;
    assert!(stand.refund(open.id, None).await.unwrap_err().is(Code::Conflict));
    assert!(stand.refund(PaymentId::generate(), None).await.unwrap_err().is(Code::NotFound));
    let (payment, _) = stand.paid(50).await;
    let spec = RefundSpec { amount_micros: None, reason: "mine".parse().unwrap() };
    let owner = stand.member(Role::Owner).await;
    let refused = owner.call::<CreateRefund>(AnyPaymentPath { payment_id: payment.id }, Nothing {}, spec).await;
    assert!(refused.unwrap_err().is(Code::Forbidden));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_whose_answer_was_lost_is_made_once() {
    let stand = Stand::new().await;
    let (payment, _) = stand.paid(50).await;
    stand.stripe.inject("POST refunds", InjectedFault::LoseAnswer);
    stand.refund(payment.id, Some(20 * DOLLAR)).await.unwrap();
    stand.settle().await;
    assert_eq!(stand.refunds(payment.id).await[0].state, RefundState::Requested);
    // Long after Stripe forgot the name of the request, it is found by our own.
    stand.stripe.forget_names();
    stand.later(31).await;
    assert_eq!(
        (stand.refunds(payment.id).await[0].state.clone(), stand.stripe.refunds().len()),
        (RefundState::Succeeded.into(), 1)
    );
    assert_eq!(stand.wallet().await, 30 * DOLLAR);
}

#[tokio::test(flavor = "multi_thread")]
async fn refund_made_at_the_dashboard_is_recorded() {
    let stand = Stand::new().await;
    let (payment, intent) = stand.paid(50).await;
    let name = stand.stripe.give_back(&intent, 1500);
    stand.hear("charge.refunded", &name).await;
    let taken = &stand.refunds(payment.id).await[0];
    assert_eq!((taken.created_by.as_str(), taken.state.clone()), ("provider:stripe", RefundState::Succeeded.into()));
    assert_eq!(stand.wallet().await, 35 * DOLLAR);
    let refused = stand.refund(payment.id, Some(36 * DOLLAR)).await.unwrap_err();
    assert!(refused.to_string().contains("35"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn disputes_take_money_and_bring_it_back_when_they_are_won() {
    let stand = Stand::new().await;
    let (payment, intent) = stand.paid(50).await;
    let dispute = stand.stripe.dispute(&intent, 5000, "warning_needs_response");
    stand.hear("charge.dispute.created", &dispute).await;
    assert_eq!(
        (stand.get(payment.id).await.state, stand.wallet().await),
        (PaymentState::Succeeded.into(), 50 * DOLLAR)
    );
    for (status, state, wallet) in [
        ("needs_response", PaymentState::Disputed, 0),
        ("under_review", PaymentState::Disputed, 0),
        ("won", PaymentState::Succeeded, 50 * DOLLAR),
    ] {
        stand.stripe.set_dispute(&dispute, status);
        stand.hear("charge.dispute.updated", &dispute).await;
        assert_eq!((stand.get(payment.id).await.state, stand.wallet().await), (state.into(), wallet), "{status}");
    }
    // Of another one we hear only when it is lost.
    let lost = stand.stripe.dispute(&intent, 5000, "lost");
    stand.hear("charge.dispute.closed", &lost).await;
    let now = stand.get(payment.id).await;
    assert_eq!((now.state, now.disputed_micros), (PaymentState::ChargedBack.into(), 50 * DOLLAR));
    assert_eq!((stand.wallet().await, stand.sum("disputes").await), (0, 50 * DOLLAR));
    assert!(stand.refund(payment.id, None).await.unwrap_err().is(Code::InvalidValue), "a bank took it");
    assert!(stand.compare().await.is_empty());
}

/// Amounts change while a dispute is open, and one that was won may be opened again.
#[tokio::test(flavor = "multi_thread")]
async fn dispute_that_changes_its_amount_or_opens_again_is_booked_exactly() {
    let stand = Stand::new().await;
    let (payment, intent) = stand.paid(50).await;
    let dispute = stand.stripe.dispute(&intent, 5000, "needs_response");
    for (cents, status, wallet) in [
        (5000, "needs_response", 0),
        (2000, "needs_response", 30 * DOLLAR),
        (2000, "won", 50 * DOLLAR),
        (2000, "needs_response", 30 * DOLLAR),
        (2000, "needs_response", 30 * DOLLAR),
        (3000, "lost", 20 * DOLLAR),
    ] {
        stand.stripe.change_dispute(&dispute, cents, status);
        stand.hear("charge.dispute.updated", &dispute).await;
        assert_eq!(stand.wallet().await, wallet, "{cents} {status}");
        assert_eq!(stand.sum("disputes").await, 50 * DOLLAR - wallet, "{cents} {status}");
    }
    let now = stand.get(payment.id).await;
    assert_eq!((now.state, now.disputed_micros), (PaymentState::ChargedBack.into(), 30 * DOLLAR));
    assert!(stand.compare().await.is_empty());
}
