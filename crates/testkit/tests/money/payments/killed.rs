//! `kill -9` between Stripe's answer and the commit: what was done there is
//! found again, and neither charged nor credited twice.

use std::sync::Arc;

use client::Client;
use contract::{
    Nothing,
    payments::{Payment, PaymentState},
    refunds::{AnyPaymentPath, CreateRefund, RefundSpec},
};
use testkit::{
    Database, Server, Stripe,
    process::{Daemon, free_port},
    server::eventually,
    stripe::InjectedFault,
    world::set_policy,
};

use crate::payments::stand::{DOLLAR, Stand};

async fn worker(stand: &Stand) -> Daemon {
    let variables = stand.stripe.variables();
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Daemon::serve(&stand.world.server.database.url(), free_port(), &variables).await
}

/// Kills a worker once Stripe has done what it was asked for and has not answered.
async fn killed_at(stand: &Stand, worker: Daemon, operation: &str, calls: usize) -> Daemon {
    eventually("the call", || async { stand.stripe.calls(operation) > calls }).await;
    worker.kill().await;
    stand.stripe.go_on();
    self::worker(stand).await
}

async fn becomes(stand: &Stand, payment: &Payment, state: PaymentState) {
    eventually("the payment", || async { stand.get(payment.id).await.state == state }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_answer_and_commit_neither_charges_nor_credits_twice() {
    let stripe = Stripe::start().await;
    let database = Arc::new(Database::new().await);
    let stand = Stand::on(Server::alone(database, |config| stripe.configure(config)).await, stripe).await;
    let operator: &Client = &stand.operator;
    set_policy(operator, "work.lease_seconds", "5").await;
    set_policy(operator, "payments.retry_seconds", "1").await;
    let mut running = worker(&stand).await;

    stand.stripe.inject("POST sessions", InjectedFault::Hold);
    let payment = stand.ask("USD", 50 * DOLLAR).await.unwrap();
    running = killed_at(&stand, running, "POST sessions", 0).await;
    becomes(&stand, &payment, PaymentState::Pending).await;
    assert_eq!(stand.stripe.sessions().len(), 1, "one page, asked for twice");

    let intent = stand.stripe.pay(&payment.id.to_string());
    stand.stripe.inject("GET payment_intents", InjectedFault::Hold);
    let before = stand.stripe.calls("GET payment_intents");
    assert_eq!(stand.stripe.event("payment_intent.succeeded", &intent).send(&running.base).await, 200);
    running = killed_at(&stand, running, "GET payment_intents", before).await;
    becomes(&stand, &payment, PaymentState::Succeeded).await;
    assert_eq!(stand.wallet().await, 50 * DOLLAR);

    stand.stripe.inject("POST refunds", InjectedFault::Hold);
    let spec = RefundSpec { amount_micros: Some(20 * DOLLAR), reason: "killed".parse().unwrap() };
    let path = AnyPaymentPath { payment_id: payment.id };
    operator.call::<CreateRefund>(path, Nothing {}, spec).await.unwrap();
    running = killed_at(&stand, running, "POST refunds", 0).await;
    eventually("the refund", || async { stand.get(payment.id).await.refunded_micros == 20 * DOLLAR }).await;
    assert_eq!((stand.stripe.refunds().len(), stand.wallet().await), (1, 30 * DOLLAR));
    assert_eq!(stand.one("SELECT count(*) FROM journals").await, 2);
    running.stop().await;
    println!("killed before it could write down a page, a payment and a refund: 1 page, 1 credit, 1 refund");
}
