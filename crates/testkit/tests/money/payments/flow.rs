//! From asking for a payment to money in the wallet, with everything that may
//! come between.

use contract::{
    Code, Nothing, Role,
    payments::{CreatePayment, ListPayments, PaymentEventOutcome, PaymentFilter, PaymentSpec, PaymentState},
};
use serde_json::json;
use testkit::{
    Server, World,
    stripe::{Event, InjectedFault},
};

use crate::payments::stand::{DOLLAR, Stand};

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_reaches_the_wallet_once_stripe_confirms_it() {
    let stand = Stand::new().await;
    let asked = stand.ask("USD", 50 * DOLLAR).await.unwrap();
    assert_eq!((asked.state.clone(), asked.checkout_url), (PaymentState::Created.into(), None));
    assert_eq!(stand.stripe.sessions().len(), 0, "nothing is told before the commit");
    stand.settle().await;
    let open = stand.get(asked.id).await;
    assert_eq!(open.state, PaymentState::Pending);
    assert!(open.checkout_url.unwrap().starts_with("https://checkout.stripe.test/"));
    assert_eq!(stand.stripe.sessions()[0]["amount_total"], 5000);
    assert_eq!(stand.wallet().await, 0);
    let intent = stand.stripe.pay(&asked.id.to_string());
    let session = stand.stripe.sessions()[0]["id"].as_str().unwrap().to_owned();
    stand.hear("checkout.session.completed", &session).await;
    let paid = stand.get(asked.id).await;
    assert_eq!((paid.state, paid.received_micros), (PaymentState::Succeeded.into(), 50 * DOLLAR));
    assert_eq!((paid.provider_id, paid.checkout_url), (Some(intent), None));
    assert_eq!((stand.wallet().await, stand.sum("clearing").await), (50 * DOLLAR, -50 * DOLLAR));
    println!("50 USD asked for, paid, told and posted: the wallet has {} micros", stand.wallet().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn order_repetition_and_company_of_events_change_nothing() {
    let stand = Stand::new().await;
    let payment = stand.open(50).await;
    let before = stand.stripe.event("payment_intent.created", "pi_later");
    let intent = stand.stripe.pay(&payment.id.to_string());
    let success = stand.stripe.event("payment_intent.succeeded", &intent);
    // The newest first, each three times, two at once.
    for _ in 0..3 {
        let (one, other) = tokio::join!(stand.send(&success), stand.send(&success));
        assert_eq!((one, other), (200, 200));
        stand.settle().await;
    }
    assert_eq!(stand.send(&before).await, 200);
    stand.hear("charge.succeeded", &intent).await;
    assert_eq!(stand.wallet().await, 50 * DOLLAR);
    assert_eq!(stand.one("SELECT count(*) FROM journals").await, 1);
    let events = stand.events().await;
    let told = events.iter().find(|it| it.kind == "payment_intent.succeeded").unwrap();
    assert_eq!((told.deliveries, told.outcome.clone()), (6, PaymentEventOutcome::Matched.into()));
    assert_eq!(told.payment_id, Some(payment.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_something_unknown_is_stored_and_harmless() {
    let stand = Stand::new().await;
    let other = stand.stripe.other_sale(700);
    stand.hear("payment_intent.succeeded", &other).await;
    stand.hear("customer.created", "cus_1").await;
    let named = json!({ "id": "evt_x", "type": "payment_intent.succeeded", "data": { "object": {
        "id": "pi_nowhere", "metadata": { "gpuaas_payment": contract::id::PaymentId::generate().to_string() } } } });
    assert_eq!(stand.send(&Event::of(named)).await, 200);
    stand.settle().await;
    let events = stand.events().await;
    assert_eq!(events.len(), 3);
    assert!(events.iter().all(|it| it.outcome == PaymentEventOutcome::Unknown && it.processed_at.is_some()));
    assert_eq!((stand.wallet().await, stand.one("SELECT count(*) FROM work WHERE kind LIKE 'payment%'").await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_is_late_refused_or_never_paid() {
    let stand = Stand::new().await;
    let (slow, never, refused) = (stand.open(5).await.id, stand.open(6).await.id, stand.open(7).await.id);
    let intent = stand.stripe.pay_slowly(&slow.to_string());
    stand.hear("payment_intent.processing", &intent).await;
    assert_eq!(stand.get(slow).await.state, PaymentState::Pending);
    stand.stripe.set_intent(&intent, "succeeded");
    stand.hear("payment_intent.succeeded", &intent).await;
    assert_eq!(stand.get(slow).await.state, PaymentState::Succeeded);
    stand.stripe.expire(&never.to_string());
    let declined = stand.stripe.pay_slowly(&refused.to_string());
    stand.stripe.set_intent(&declined, "requires_payment_method");
    stand.hear("payment_intent.payment_failed", &declined).await;
    assert_eq!(stand.get(refused).await.state, PaymentState::Failed);
    // Of the page that closed nothing was heard: it is looked at now and then.
    stand.later(3700).await;
    assert_eq!(stand.get(never).await.state, PaymentState::Canceled);
    assert_eq!(stand.wallet().await, 5 * DOLLAR);
}

#[tokio::test(flavor = "multi_thread")]
async fn stripe_may_be_away_slow_or_busy_and_opens_one_page() {
    let stand = Stand::new().await;
    let busy =
        InjectedFault::Refuse { status: 429, kind: "rate_limit_error", message: "slow down", retry_after: Some(2) };
    stand.stripe.inject("POST sessions", busy);
    stand.stripe.inject("POST sessions", InjectedFault::LoseAnswer);
    let payment = stand.ask("USD", 50 * DOLLAR).await.unwrap().id;
    stand.settle().await;
    let waits = stand.get(payment).await;
    assert_eq!(waits.state, PaymentState::Created);
    assert_eq!(waits.last_error.as_deref(), Some("the provider is busy"));
    stand.later(31).await;
    stand.later(31).await;
    let open = stand.get(payment).await;
    assert_eq!((open.state, open.last_error), (PaymentState::Pending.into(), None));
    assert_eq!((stand.stripe.calls("POST sessions"), stand.stripe.sessions().len()), (3, 1));
    // What Stripe refuses for good is over, and says why.
    let small = stand.ask("USD", DOLLAR).await.unwrap().id;
    let message = "The Checkout Session's total amount must convert to at least 50 cents.";
    stand.stripe.inject(
        "POST sessions",
        InjectedFault::Refuse { status: 400, kind: "invalid_request_error", message, retry_after: None },
    );
    stand.settle().await;
    let failed = stand.get(small).await;
    assert_eq!(failed.state, PaymentState::Failed);
    assert!(failed.last_error.unwrap().contains("at least 50 cents"));
}

#[tokio::test(flavor = "multi_thread")]
async fn amounts_that_cannot_be_paid_exactly_are_refused() {
    let stand = Stand::new().await;
    for (currency, micros, field) in [
        ("USD", 10_000_001, "amount_micros"),
        ("JPY", 1_500_000, "amount_micros"),
        ("KWD", 1_234_000, "amount_micros"),
        ("USD", 0, "amount_micros"),
        ("USD", -5 * DOLLAR, "amount_micros"),
        ("USD", i64::MAX, "amount_micros"),
        ("USD", i64::MIN, "amount_micros"),
        ("USD", 20_000 * DOLLAR, "amount_micros"),
        ("USD", 10_000, "amount_micros"),
        ("XTS", 50 * DOLLAR, "currency"),
    ] {
        let refused = stand.ask(currency, micros).await.unwrap_err();
        assert!(refused.is(Code::InvalidValue), "{currency} {micros}: {refused}");
        assert!(refused.problem().is_some_and(|it| it.field.as_deref() == Some(field)), "{refused:?}");
    }
    assert_eq!(stand.one("SELECT count(*) FROM payments").await, 0);
    let yen = stand.ask("JPY", 500 * DOLLAR).await.unwrap();
    stand.settle().await;
    assert_eq!(stand.stripe.sessions()[0]["amount_total"], 500, "yen have no cents");
    let intent = stand.stripe.pay(&yen.id.to_string());
    stand.hear("payment_intent.succeeded", &intent).await;
    assert_eq!(stand.wallet().await, 500 * DOLLAR);
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_need_a_role_that_pays_and_configured_keys() {
    let stand = Stand::new().await;
    for (role, may) in
        [(Role::Owner, true), (Role::Admin, true), (Role::Billing, true), (Role::Member, false), (Role::Viewer, false)]
    {
        let spec = PaymentSpec { currency: "USD".parse().unwrap(), amount_micros: 5 * DOLLAR };
        let client = stand.member(role).await;
        let made = client.call::<CreatePayment>(stand.path(), Nothing {}, spec).await;
        assert_eq!(made.is_ok(), may, "{role:?}");
        let seen = client.call::<ListPayments>(stand.path(), PaymentFilter::default(), Nothing {}).await;
        assert_eq!(seen.is_ok(), may, "{role:?}");
    }
    let world = World::on(Server::start().await).await;
    let (organization_id, owner) = world.organization().await;
    let path = contract::organizations::OrganizationPath { organization_id };
    let spec = PaymentSpec { currency: "USD".parse().unwrap(), amount_micros: 5 * DOLLAR };
    let refused = world.as_(&owner).call::<CreatePayment>(path, Nothing {}, spec).await.unwrap_err();
    assert!(refused.is(Code::PaymentsOff) && refused.to_string().contains("credit"), "{refused}");
    assert_eq!(stand.stripe.event("payment_intent.succeeded", "pi_1").send(&world.server.base).await, 409);
}
