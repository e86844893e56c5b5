//! What arrives, in which order, and what becomes of the rest.

use std::time::Duration;

use contract::{
    Code, Event, Nothing,
    events::{EventFilter, ListEvents},
    projects::{ProjectPath, ProjectSpec, RenameProject},
    webhook_deliveries::{
        ListWebhookDeliveries, WebhookDelivery, WebhookDeliveryFilter, WebhookDeliveryState as State,
    },
    webhooks::{EnableWebhook, RotateWebhookSecret, TestWebhook, WebhookDisabled, WebhookState},
};
use gpuaasd::roles::Role;
use sqlx::Connection;
use testkit::{receiver::ReceiverBehavior, server::eventually};

use crate::webhooks::stand::Stand;

#[tokio::test(flavor = "multi_thread")]
async fn an_event_arrives_signed_and_as_the_document_describes_it() {
    let stand = Stand::new().await;
    let (hook, delivery) = stand.one().await;
    let secret = hook.secret.expose();
    stand.settle().await;
    let heard = stand.receiver.heard();
    assert_eq!(heard.len(), 1);
    let request = &heard[0];
    assert_eq!(request.line, "POST /hook HTTP/1.1");
    assert!(request.is_signed_by(secret) && !request.is_signed_by("whsec_other"));
    assert_eq!(request.signatures(), 1);
    assert_eq!(request.headers["gpuaas-event-id"], delivery.event_id.to_string());
    assert_eq!(request.headers["gpuaas-delivery-id"], delivery.id.to_string());
    assert_eq!(request.headers["content-type"], "application/json");
    let event = request.event();
    assert_eq!(event["message_id"], delivery.event_id.to_string());
    assert_eq!(event["subject"], "project.created");
    assert_eq!(event["organization_id"], stand.organization.to_string());
    assert_eq!(event["data"]["name"], "one");
    assert!(event["at"].is_string() && event["correlation_id"].is_string());
    let delivery = stand.look(&delivery).await;
    assert_eq!((delivery.state, delivery.attempts), (State::Delivered.into(), 1));
    assert_eq!((delivery.last_status, delivery.error), (Some(200), None));
    assert!(delivery.delivered_at.is_some() && delivery.next_attempt_at.is_none());

    let mut connection = stand.world.server.database.superuser().await;
    for table in ["webhooks", "webhook_deliveries", "outbox", "audit", "idempotency"] {
        let statement = format!("SELECT count(*) FROM {table} AS it WHERE it::text LIKE '%' || $1 || '%'");
        let shown: i64 =
            sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).bind(secret).fetch_one(&mut connection).await.unwrap();
        assert_eq!(shown, 0, "the secret is in {table}");
    }
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_makes_one_delivery_for_each_webhook_that_wants_it() {
    let stand = Stand::new().await;
    let wide = stand.hook("* project.* project.created").await.webhook.id;
    let narrow = stand.hook("project.renamed").await.webhook.id;
    let project = stand.project("one").await;
    let body = ProjectSpec { name: "two".parse().unwrap() };
    let path = ProjectPath { project_id: project.id };
    stand.owner.call::<RenameProject>(path, Nothing {}, body).await.unwrap();
    let subjects = |it: Vec<WebhookDelivery>| it.into_iter().map(|it| it.subject).collect::<Vec<_>>();
    assert_eq!(subjects(stand.fanned_out(narrow, 1).await), ["project.renamed"]);
    // It hears of itself and of the other one, too.
    let expected = ["project.renamed", "project.created", "webhook.created", "webhook.created"];
    assert_eq!(subjects(stand.fanned_out(wide, 4).await), expected);

    // A consumer that reads everything once more adds nothing.
    let mut connection = stand.world.server.database.superuser().await;
    sqlx::query("DELETE FROM consumed").execute(&mut connection).await.unwrap();
    let back = "UPDATE consumers SET epoch = 0, xid = '0'::xid8, place = 0 WHERE name = 'webhooks.fan_out'";
    sqlx::query(back).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    stand.settle().await;
    stand.project("three").await;
    stand.fanned_out(wide, 5).await;
    stand.fanned_out(narrow, 1).await;
    stand.settle().await;
    assert_eq!(stand.receiver.heard().len(), 6, "deliveries cause no deliveries");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_delivery_is_tried_again_ever_more_slowly_then_exhausted_and_can_be_sent_again() {
    let stand = Stand::new().await;
    stand.policy("webhooks.attempts", "3").await;
    stand.receiver.behave(ReceiverBehavior::Answer(500));
    let (_, delivery) = stand.one().await;
    let attempts = async |after: u64| {
        stand.advance(after);
        stand.settle().await;
        stand.settle().await;
        (stand.receiver.heard().len(), stand.look(&delivery).await)
    };
    let (heard, first) = attempts(0).await;
    assert_eq!((heard, first.attempts, first.state), (1, 1, State::Pending.into()));
    assert_eq!((first.last_status, first.error.as_deref()), (Some(500), Some("received status 500")));
    assert!(first.next_attempt_at.is_some());
    assert_eq!(attempts(25).await.0, 1, "the first pause is half a minute");
    assert_eq!(attempts(10).await.0, 2);
    assert_eq!(attempts(50).await.0, 2, "the second one is twice as long");
    let (heard, last) = attempts(15).await;
    assert_eq!((heard, last.attempts, last.state), (3, 3, State::Exhausted.into()));
    assert!(last.next_attempt_at.is_none());
    assert_eq!(attempts(3600).await.0, 3);

    stand.receiver.behave(ReceiverBehavior::Answer(204));
    let again = stand.resend(&delivery).await.unwrap();
    assert_eq!((again.state, again.attempts), (State::Pending.into(), 0));
    let (heard, last) = attempts(0).await;
    assert_eq!((heard, last.attempts, last.state, last.last_status), (4, 1, State::Delivered.into(), Some(204)));
    let heard = stand.receiver.heard();
    assert_eq!(heard[0].body, heard[3].body);
    assert_ne!(heard[0].headers["gpuaas-signature"], heard[3].headers["gpuaas-signature"], "each is signed again");
    // What arrived can be sent again, too.
    stand.resend(&delivery).await.unwrap();
    assert_eq!(attempts(0).await.0, 5);
    let query = WebhookDeliveryFilter { state: Some(State::Exhausted), ..WebhookDeliveryFilter::default() };
    let path = stand.path(delivery.webhook_id);
    let exhausted = stand.owner.call::<ListWebhookDeliveries>(path, query, Nothing {}).await.unwrap();
    assert!(exhausted.items.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn during_a_rotation_both_secrets_sign_and_then_the_new_one_alone() {
    let stand = Stand::new().await;
    stand.policy("webhooks.rotation_hours", "2").await;
    let (old, _) = stand.one().await;
    let path = stand.path(old.webhook.id);
    let new = stand.owner.call::<RotateWebhookSecret>(path, Nothing {}, Nothing {}).await.unwrap();
    let (id, until) = (new.webhook.id, new.webhook.previous_secret_until);
    let (old, new) = (old.secret.expose(), new.secret.expose());
    assert!(old != new && old.starts_with("whsec_") && until.is_some());
    stand.settle().await;
    stand.advance(3 * 3600);
    stand.project("two").await;
    stand.fanned_out(id, 2).await;
    stand.settle().await;
    let heard = stand.receiver.heard();
    assert!(heard[0].is_signed_by(old) && heard[0].is_signed_by(new) && heard[0].signatures() == 2);
    assert!(!heard[1].is_signed_by(old) && heard[1].is_signed_by(new) && heard[1].signatures() == 1);
    assert_eq!(stand.get(id).await.previous_secret_until, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_keeps_failing_is_disabled_with_notice_and_can_be_enabled() {
    let stand = Stand::new().await;
    stand.policy("webhooks.attempts", "1").await;
    stand.policy("webhooks.disable_after_failures", "2").await;
    stand.receiver.behave(ReceiverBehavior::Answer(404));
    let id = stand.hook("project.created").await.webhook.id;
    let others = stand.create(&stand.receiver.url, "webhook.disabled").await.unwrap().webhook.id;
    stand.project("one").await;
    stand.fanned_out(id, 1).await;
    stand.settle().await;
    assert_eq!((stand.get(id).await.failures, stand.get(id).await.state), (1, WebhookState::Active.into()));
    // One that arrives ends the row.
    stand.receiver.behave(ReceiverBehavior::Answer(200));
    stand.project("two").await;
    stand.fanned_out(id, 2).await;
    stand.settle().await;
    assert_eq!(stand.get(id).await.failures, 0);

    stand.receiver.behave(ReceiverBehavior::Answer(404));
    for (count, name) in [(3, "three"), (4, "four")] {
        stand.project(name).await;
        stand.fanned_out(id, count).await;
    }
    stand.settle().await;
    let disabled = stand.get(id).await;
    assert_eq!(disabled.state, WebhookState::Disabled);
    let reason = disabled.disabled_reason.unwrap();
    assert_eq!(reason, "2 deliveries in a row failed; the last one received status 404");
    let filter = EventFilter { subject: Some(WebhookDisabled::INFO.subject.into()), ..EventFilter::default() };
    let told = stand.owner.call::<ListEvents>(stand.at(), filter, Nothing {}).await.unwrap().items;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].data["id"], id.to_string());
    stand.fanned_out(others, 1).await;

    // Nothing more is made for it, and what there is cannot be sent.
    stand.project("five").await;
    eventually("the news of the fifth", || async { stand.is_caught_up().await }).await;
    let deliveries = stand.fanned_out(id, 4).await;
    assert!(stand.resend(&deliveries[0]).await.unwrap_err().is(Code::Conflict));
    // But it can be tried whether it works again.
    stand.receiver.behave(ReceiverBehavior::Answer(200));
    let before = stand.receiver.heard().len();
    let test = stand.owner.call::<TestWebhook>(stand.path(id), Nothing {}, Nothing {}).await.unwrap();
    stand.settle().await;
    assert_eq!(stand.look(&test).await.state, State::Delivered);
    let tested = &stand.receiver.heard()[before..];
    assert!(tested.iter().any(|it| it.event()["subject"] == "webhook.tested"));
    assert_eq!(stand.get(id).await.state, WebhookState::Disabled);

    let enabled = stand.owner.call::<EnableWebhook>(stand.path(id), Nothing {}, Nothing {}).await.unwrap();
    assert_eq!((enabled.state, enabled.failures, enabled.disabled_reason), (WebhookState::Active.into(), 0, None));
    let again = stand.owner.call::<EnableWebhook>(stand.path(id), Nothing {}, Nothing {}).await;
    assert!(again.unwrap_err().is(Code::Conflict));
    stand.project("six").await;
    let deliveries = stand.fanned_out(id, 6).await;
    stand.settle().await;
    assert_eq!(stand.look(&deliveries[0]).await.state, State::Delivered);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_events_of_a_resource_have_their_first_turn_in_order() {
    let stand = Stand::with(&Role::ALL).await;
    stand.receiver.behave(ReceiverBehavior::Slowly(Duration::from_millis(30)));
    stand.hook("project.renamed").await;
    let project = stand.project("start").await;
    for nth in 0..12 {
        let body = ProjectSpec { name: format!("name-{nth}").parse().unwrap() };
        let path = ProjectPath { project_id: project.id };
        stand.owner.call::<RenameProject>(path, Nothing {}, body).await.unwrap();
    }
    eventually("all to arrive", || async { stand.receiver.heard().len() >= 12 }).await;
    let heard = stand.receiver.heard();
    let names: Vec<String> = heard.iter().map(|it| it.event()["data"]["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, (0..12).map(|nth| format!("name-{nth}")).collect::<Vec<_>>());
}
