//! Who is believed: signatures by Stripe's own library, and everything that
//! only looks like them.

use std::{io::Write, process::Stdio};

use testkit::stripe::{Event, WEBHOOK_SECRET};

use crate::payments::stand::{DOLLAR, Stand};

/// The header that Stripe's Python library makes for a body.
async fn signed(body: &str, secret: &str, at: i64) -> String {
    let (body, secret) = (body.to_owned(), secret.to_owned());
    let made = tokio::task::spawn_blocking(move || {
        let tool = testkit::python::tool("stripe", testkit::stripe::TOOL);
        let mut child = std::process::Command::new(tool.join("venv/bin/python"))
            .arg(tool.join("sign.py"))
            .args([&secret, &at.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    });
    let output = made.await.unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_of_stripes_own_library_are_believed_and_nothing_else() {
    let stand = Stand::new().await;
    let base = &stand.world.server.base;
    let payment = stand.open(50).await;
    let intent = stand.stripe.pay(&payment.id.to_string());
    let event = stand.stripe.event("payment_intent.succeeded", &intent);
    let now = jiff::Timestamp::now().as_second();
    let good = signed(&event.body, WEBHOOK_SECRET, now).await;
    let of = |secret: &'static str, at: i64| signed(&event.body, secret, at);
    let tampered = Event { body: event.body.replace("5000", "9000") };
    for (case, event, header, expected) in [
        ("tampered body", &tampered, good.clone(), 401),
        ("too old", &event, of(WEBHOOK_SECRET, now - 400).await, 401),
        ("from the future", &event, of(WEBHOOK_SECRET, now + 400).await, 401),
        ("another secret", &event, of("whsec_other", now).await, 401),
        (
            "time made younger",
            &event,
            of(WEBHOOK_SECRET, now - 400).await.replace(&(now - 400).to_string(), &now.to_string()),
            401,
        ),
        ("no header", &event, String::new(), 400),
        ("nonsense", &event, "t=now,v1=yes".into(), 400),
    ] {
        assert_eq!(event.send_with(base, &header).await, expected, "{case}");
    }
    stand.settle().await;
    assert_eq!((stand.events().await.len(), stand.wallet().await), (0, 0), "nothing of it was kept");
    assert_eq!(event.send_with(base, &good).await, 200);
    assert_eq!(event.send_with(base, &good).await, 200, "a replay is absorbed");
    stand.settle().await;
    assert_eq!(event.send_with(base, &format!("{good},v1={}", "0".repeat(64))).await, 200, "two while one is replaced");
    stand.settle().await;
    assert_eq!((stand.events().await.len(), stand.wallet().await), (1, 50 * DOLLAR));
    println!("signed by stripe-python: accepted, replays absorbed; tampered, old, future and foreign ones refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_body_that_is_no_event_or_too_large_is_refused() {
    let stand = Stand::new().await;
    assert_eq!(stand.send(&Event { body: "{}".into() }).await, 400);
    assert_eq!(stand.send(&Event { body: "x".repeat(600 * 1024) }).await, 413);
    let address = format!("{}/v1/payments/stripe/events", stand.world.server.base);
    assert_eq!(reqwest::get(address).await.unwrap().status(), 405);
    assert_eq!(stand.events().await.len(), 0);
}
