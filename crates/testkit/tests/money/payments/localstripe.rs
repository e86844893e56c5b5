//! Against `localstripe`, which somebody else wrote after the same documents:
//! intents, refunds and events that it signs. It has no checkout and does not
//! say what an intent received, so that a whole payment is for the scripted one.

use std::{process::Stdio, sync::Arc, time::Duration};

use gpuaasd::roles::Role;
use kernel::money::{Currency, Money};
use serde_json::{Value, json};
use testkit::{
    Database, Server, Stripe,
    process::free_port,
    server::eventually,
    stripe::{KEY, WEBHOOK_SECRET},
};
use tokio::{net::TcpStream, process::Command};

use crate::payments::stand::{DOLLAR, Stand};

const TOOL: &[(&str, &str)] = &[
    ("requirements.txt", include_str!("../../../tools/localstripe/requirements.txt")),
    ("serve.py", include_str!("../../../tools/localstripe/serve.py")),
];

async fn post(address: String, form: &str) -> Value {
    let request = reqwest::Client::new()
        .post(address)
        .bearer_auth(KEY)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form.to_owned());
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn localstripe_takes_our_requests_and_we_take_its_events() {
    let (tool, port) =
        (tokio::task::spawn_blocking(|| testkit::python::tool("localstripe", TOOL)).await.unwrap(), free_port());
    let _child = Command::new(tool.join("venv/bin/python"))
        .arg(tool.join("serve.py"))
        .arg(port.to_string())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    eventually("localstripe", || async { TcpStream::connect(("127.0.0.1", port)).await.is_ok() }).await;
    let there = format!("http://127.0.0.1:{port}");
    let server = Server::with(Arc::new(Database::new().await), &[Role::Api], |config| {
        config.stripe.url = Some(there.clone());
        config.stripe.secret_key = Some(KEY.into());
        config.stripe.webhook_secrets = vec!["whsec_new".into(), WEBHOOK_SECRET.into()];
    });
    let stand = Stand::on(server.await, Stripe::start().await).await;
    let hook =
        json!({ "url": format!("{}/v1/payments/stripe/events", stand.world.server.base), "secret": WEBHOOK_SECRET });
    let told = reqwest::Client::new()
        .post(format!("{there}/_config/webhooks/ours"))
        .header("content-type", "application/json")
        .body(hook.to_string());
    assert!(told.send().await.unwrap().status().is_success());

    let card = "type=card&card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2040&card[cvc]=123";
    let method = post(format!("{there}/v1/payment_methods"), card).await;
    let form = format!("amount=5000&currency=usd&confirm=true&payment_method={}", method["id"].as_str().unwrap());
    let intent = post(format!("{there}/v1/payment_intents"), &form).await["id"].as_str().unwrap().to_owned();

    let provider = stand.world.server.control_plane.money.payments.clone().unwrap();
    let found = provider.intent(&intent).await.unwrap().unwrap();
    assert_eq!(found.status, platform::ports::payments::IntentStatus::Succeeded);
    assert_eq!(provider.intent("pi_nowhere").await.unwrap(), None);
    let order = platform::ports::payments::RefundOrder {
        refund: contract::id::RefundId::generate().to_string(),
        intent: intent.clone(),
        amount: Money::from_micros(20 * DOLLAR, Currency::USD),
    };
    let refund = provider.refund(&order).await.unwrap();
    assert_eq!((refund.amount, refund.refund.as_deref()), (order.amount, Some(order.refund.as_str())));
    assert_eq!(provider.refunds(&intent).await.unwrap(), [refund]);

    // It tells a second later.
    eventually("an event signed by localstripe", || async {
        stand.events().await.iter().any(|it| it.kind == "payment_intent.succeeded")
    })
    .await;
    tokio::time::timeout(Duration::from_secs(30), stand.settle()).await.unwrap();
    assert!(stand.events().await.iter().all(|it| it.processed_at.is_some()));
    println!("localstripe: an intent read, a refund made and found again, its signed event accepted");
}
