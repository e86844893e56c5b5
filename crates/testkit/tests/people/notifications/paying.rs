//! Who is told of invoices, payments, refunds and disputes: those who pay.

use contract::{
    Role,
    id::{PaymentId, RefundId},
};
use serde_json::json;
use sqlx::Connection;
use testkit::MailServer;

use super::stand::{Stand, about};

/// A payment of 50 dollars, of which 20 were asked back; states are guarded by
/// lifecycles, which are not what is tested here.
async fn paid(stand: &Stand) -> (PaymentId, RefundId) {
    let (payment, refund) = (PaymentId::generate(), RefundId::generate());
    let (organization, id) = (stand.organization.uuid(), payment.uuid());
    let statements = format!(
        "SET session_replication_role = replica;
         INSERT INTO payments (id, organization_id, currency, amount, received, provider, created_by, state, last_error)
           VALUES ('{id}', '{organization}', 'USD', 50000000, 50000000, 'stripe', 'test', 'succeeded', 'declined by the payer''s bank');
         INSERT INTO refunds (id, organization_id, payment_id, amount, provider, reason, created_by, state)
           VALUES ('{}', '{organization}', '{id}', 20000000, 'stripe', 'asked for', 'test', 'succeeded');
         INSERT INTO disputes (provider, provider_id, organization_id, payment_id, amount, standing)
           VALUES ('stripe', 'dp_1', '{organization}', '{id}', 30000000, 'open')",
        refund.uuid()
    );
    let mut above = stand.world.server.database.superuser().await;
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(&mut above).await.unwrap();
    above.close().await.unwrap();
    (payment, refund)
}

#[tokio::test(flavor = "multi_thread")]
async fn payers_are_notified_of_payments_and_of_refunds() {
    let stand = Stand::new().await;
    let (billing, member) = (stand.member(Role::Billing).await, stand.member(Role::Member).await);
    let (payment, refund) = paid(&stand).await;
    let invoice = |kind: &str, number: &str, total: i64, due: i64| {
        json!({ "id": "invoice-1", "kind": kind, "number": number, "month": "2026-11", "currency": "USD",
            "total_micros": total, "due_micros": due })
    };
    let events = [
        ("invoice.issued", invoice("invoice", "2026-000001", 11_900_000, 1_900_000), "Invoice 2026-000001 for 2026-11"),
        ("invoice.issued", invoice("credit_note", "2026-000002", -4_000_000, 0), "Credit note 2026-000002 for 2026-11"),
        ("payment.succeeded", about(payment), "A payment of 50.00 USD was received"),
        ("payment.failed", about(payment), "A payment of 50.00 USD failed"),
        ("refund.succeeded", about(refund), "A refund of 20.00 USD was paid"),
        ("payment.dispute_opened", about(payment), "A payment of 30.00 USD is disputed"),
        ("payment.dispute_lost", about(payment), "The dispute about 30.00 USD was lost"),
    ];
    for (subject, data, title) in events {
        stand.is_told(subject, data).await;
        for told in [&stand.owner, &billing] {
            assert_eq!(stand.told(told).await[0].title, title, "{subject}");
        }
    }
    let bodies: Vec<String> = stand.told(&billing).await.into_iter().rev().map(|it| it.body).collect();
    assert!(bodies[0].contains("The total is 11.90 USD. The balance did not cover 1.90 USD of it"), "{}", bodies[0]);
    assert!(bodies[0].contains("run `gpuaas invoices download invoice-1`."), "{}", bodies[0]);
    assert!(bodies[1].contains("4.00 USD was returned to the prepaid balance."), "{}", bodies[1]);
    assert!(bodies[3].contains("Reason: declined by the payer's bank."), "{}", bodies[3]);
    assert_eq!(stand.told(&member).await, [], "who does not pay is not told");
    println!("{}", bodies.join("\n----\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_is_sent_by_mail_as_text_and_as_a_page() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let data = json!({ "id": "invoice-1", "kind": "invoice", "number": "2026-000001", "month": "2026-11",
        "currency": "EUR", "total_micros": 11_900_000, "due_micros": 0 });
    stand.is_told("invoice.issued", data).await;
    testkit::server::eventually("the mail to arrive", || async {
        stand.world.server.settle().await;
        !server.received().is_empty()
    })
    .await;
    let mail = server.received().remove(0);
    assert_eq!(mail.headers["subject"], "Invoice 2026-000001 for 2026-11");
    assert!(mail.text.contains("The total is 11.90 EUR, paid from the prepaid balance."), "{}", mail.text);
    assert!(mail.html.contains("11.90 EUR") && mail.defects.is_empty(), "{}", mail.html);
    println!("Subject: {}\n\n{}", mail.headers["subject"], mail.text);
}
