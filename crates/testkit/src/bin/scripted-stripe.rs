//! The scripted Stripe as a process, for tests in other languages. It prints the
//! settings of a server that uses it and where payers go, and ends when its
//! standard input does.

use std::{future::IntoFuture, sync::Arc};

use axum::{Router, extract::State, http::StatusCode, routing::post};
use serde_json::Value;
use testkit::Stripe;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() {
    let stripe = Arc::new(Stripe::start().await);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    for (name, value) in stripe.variables() {
        println!("{name}={value}");
    }
    println!("SCRIPTED_STRIPE_PAYERS=http://{}/\n", listener.local_addr().unwrap());
    let payers = Router::new().route("/", post(pay)).with_state(stripe);
    let ended = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    tokio::select! {
        served = axum::serve(listener, payers).into_future() => served.unwrap(),
        _ = ended => (),
    }
}

/// Pays the page of a payment and tells the server, whose answer is the answer.
async fn pay(State(stripe): State<Arc<Stripe>>, body: String) -> StatusCode {
    let wanted: Value = serde_json::from_str(&body).unwrap();
    let intent = stripe.pay(wanted["payment"].as_str().unwrap());
    let told = stripe.event("payment_intent.succeeded", &intent).send(wanted["server"].as_str().unwrap()).await;
    StatusCode::from_u16(told).unwrap()
}
