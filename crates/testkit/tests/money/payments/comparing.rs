//! What the comparison with Stripe finds, repairs and shows.

use contract::payments::{PaymentDriftKind, PaymentState};

use crate::payments::stand::{DOLLAR, Stand};

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_event_is_found_and_made_good() {
    let stand = Stand::new().await;
    let payment = stand.open(50).await;
    let intent = stand.stripe.pay(&payment.id.to_string());
    assert_eq!(stand.wallet().await, 0, "nobody told us");
    let drift = stand.compare().await;
    assert_eq!((drift.len(), drift[0].kind.clone()), (1, PaymentDriftKind::NotPosted.into()));
    assert_eq!((drift[0].object_id.as_str(), drift[0].payment_id), (intent.as_str(), Some(payment.id)));
    assert_eq!((drift[0].provider_micros, drift[0].ledger_micros), (50 * DOLLAR, 0));
    // The same visit that an event would have caused.
    assert_eq!(
        (stand.get(payment.id).await.state, stand.wallet().await),
        (PaymentState::Succeeded.into(), 50 * DOLLAR)
    );
    stand.later(31).await;
    assert!(stand.drift(false).await.is_empty());
    let told = stand.drift(true).await;
    assert!(told.len() == 1 && told[0].resolved_at.is_some());
    // Refunds and disputes that nobody told of, too.
    stand.stripe.give_back(&intent, 1000);
    stand.stripe.dispute(&intent, 500, "needs_response");
    assert_eq!(stand.compare().await.len(), 2);
    assert_eq!(stand.wallet().await, 35 * DOLLAR);
    stand.later(31).await;
    assert!(stand.drift(false).await.is_empty());
    println!("a payment, a refund and a dispute without an event: found by the comparison, posted, and resolved");
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_that_cannot_be_repaired_is_shown_and_nothing_is_edited() {
    let stand = Stand::new().await;
    stand.stripe.other_sale(999);
    assert!(stand.compare().await.is_empty(), "the account is used for other things too");
    let stray = stand.stripe.stray(&contract::id::PaymentId::generate().to_string(), 4200);
    let (payment, gone) = stand.paid(50).await;
    let dispute = stand.stripe.dispute(&gone, 5000, "needs_response");
    stand.hear("charge.dispute.created", &dispute).await;
    stand.stripe.forget_intent(&gone);
    let journals = stand.one("SELECT count(*) FROM journals").await;
    let mut drift = stand.compare().await;
    drift.sort_by_key(|it| it.provider_micros);
    let kinds: Vec<_> = drift.iter().map(|it| (it.object_id.as_str(), it.kind.clone(), it.payment_id)).collect();
    let expected = [
        (gone.as_str(), PaymentDriftKind::MissingThere.into(), Some(payment.id)),
        (stray.as_str(), PaymentDriftKind::UnknownHere.into(), None),
    ];
    assert_eq!(kinds, expected);
    stand.compare().await;
    assert_eq!(stand.one("SELECT count(*) FROM payment_drift").await, 2, "one row for one difference");
    assert_eq!(stand.one("SELECT count(*) FROM journals").await, journals);
    assert_eq!((stand.get(payment.id).await.state, stand.wallet().await), (PaymentState::Disputed.into(), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_a_page_is_compared() {
    let stand = Stand::new().await;
    for _ in 0..230 {
        stand.stripe.stray(&contract::id::PaymentId::generate().to_string(), 100);
    }
    stand.compare().await;
    assert_eq!(stand.one("SELECT count(*) FROM payment_drift").await, 230);
    assert_eq!(stand.stripe.calls("GET payment_intents"), 3);
}
