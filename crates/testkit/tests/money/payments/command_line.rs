//! The commands that people pay with, as programs.

use std::sync::Arc;

use gpuaasd::roles::Role;
use testkit::{
    Database, Server, Stripe,
    process::{CommandOutput, binary, said},
    server::eventually,
};
use tokio::process::Command;

use crate::payments::stand::{DOLLAR, Stand};

async fn gpuaas(stand: &Stand, token: &str, arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(binary("gpuaas"));
    command
        .args(arguments)
        .env("GPUAAS_URL", &stand.world.server.base)
        .env("GPUAAS_TOKEN", token)
        .env("GPUAAS_ORGANIZATION", stand.organization.to_string())
        .env("GPUAAS_CONFIG", "/nonexistent/gpuaas.toml")
        .kill_on_drop(true);
    let said = said(command).await;
    println!("$ gpuaas {}\n{}{}", arguments.join(" "), said.out, said.err);
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_made_waited_for_given_back_and_compared() {
    let stripe = Stripe::start().await;
    let database = Arc::new(Database::new().await);
    let server = Server::with(database, &[Role::Api, Role::Reconcile], |config| stripe.configure(config)).await;
    let stand = Stand::on(server, stripe).await;
    let staff = stand.world.operator().await;
    let owner = stand.owner.token.clone();
    let made = gpuaas(&stand, &owner, &["payments", "create", "--amount", "50", "--currency", "USD"]).await;
    assert!(made.is_success && made.out.contains("https://checkout.stripe.test/"), "{made:?}");
    let quiet = gpuaas(&stand, &owner, &["payments", "create", "--amount", "7", "--currency", "USD", "--quiet"]).await;
    assert!(quiet.out.starts_with("https://checkout.stripe.test/") && quiet.out.lines().count() == 1, "{quiet:?}");

    let waiting = gpuaas(&stand, &owner, &["payments", "create", "--amount", "20", "--currency", "USD", "--wait"]);
    let paying = async {
        eventually("the third page", || async { stand.stripe.sessions().len() == 3 }).await;
        let newest = stand.stripe.sessions()[2].clone();
        let payment = newest["client_reference_id"].as_str().unwrap().to_owned();
        let intent = stand.stripe.pay(&payment);
        assert_eq!(stand.send(&stand.stripe.event("payment_intent.succeeded", &intent)).await, 200);
        payment
    };
    let (waited, payment) = tokio::join!(waiting, paying);
    assert!(waited.is_success && waited.out.contains("succeeded"), "{waited:?}");
    assert_eq!(stand.wallet().await, 20 * DOLLAR);

    let arguments = ["payments", "refund", &payment, "--amount", "12.50", "--reason", "ended early"];
    let refund = gpuaas(&stand, &staff.token, &arguments).await;
    assert!(refund.is_success, "{refund:?}");
    eventually("the refund", || async { stand.wallet().await == 7_500_000 }).await;
    let too_much =
        gpuaas(&stand, &staff.token, &["payments", "refund", &payment, "--amount", "8", "--reason", "more"]).await;
    assert!(!too_much.is_success && too_much.err.contains("at most 7.50"), "{too_much:?}");
    let shown = gpuaas(&stand, &owner, &["payments", "get", &payment]).await;
    assert!(shown.out.contains("12.50"), "{shown:?}");
    for arguments in [
        &["payments", "list", "--state", "pending"][..],
        &["payments", "list", "--all"],
        &["payments", "refunds", &payment],
        &["payments", "events"],
        &["payments", "drift"],
    ] {
        let token = if arguments.contains(&"pending") { &owner } else { &staff.token };
        assert!(gpuaas(&stand, token, arguments).await.is_success);
    }
}
