//! What goes with a webhook, limits, and the key that seals secrets.

use std::time::Duration;

use contract::{
    Code, Nothing,
    webhook_deliveries::WebhookDeliveryState as State,
    webhooks::{
        ChangeWebhook, CreateWebhook, DeleteWebhook, DisableWebhook, EnableWebhook, RotateWebhookSecret, TestWebhook,
        WebhookChange, WebhookSpec, WebhookState,
    },
};
use kernel::secrets::Keyring;
use sqlx::Connection;
use testkit::server::eventually;

use crate::webhooks::stand::{Stand, spec};

#[tokio::test(flavor = "multi_thread")]
async fn disabled_webhook_is_sent_nothing_until_it_is_enabled() {
    let stand = Stand::new().await;
    let id = stand.hook("project.created").await.webhook.id;
    let disabled = stand.owner.call::<DisableWebhook>(stand.path(id), Nothing {}, Nothing {}).await.unwrap();
    assert_eq!((disabled.state, disabled.disabled_reason), (WebhookState::Disabled.into(), None));
    let again = stand.owner.call::<DisableWebhook>(stand.path(id), Nothing {}, Nothing {}).await;
    assert!(again.unwrap_err().is(Code::Conflict));
    stand.project("unheard").await;
    eventually("the fan-out", || async { stand.is_caught_up().await }).await;
    assert!(stand.deliveries(id).await.is_empty());
    stand.owner.call::<EnableWebhook>(stand.path(id), Nothing {}, Nothing {}).await.unwrap();
    stand.project("heard").await;
    stand.fanned_out(id, 1).await;
    stand.settle().await;
    let heard: Vec<_> = stand.receiver.heard().iter().map(|it| it.event()["subject"].clone()).collect();
    assert_eq!(heard, ["project.created"], "only what happened after it was enabled");
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_deliveries_of_a_deleted_webhook_are_exhausted() {
    let stand = Stand::new().await;
    let (hook, delivery) = stand.one().await;
    let path = || stand.path(hook.webhook.id);
    let deleted = stand.owner.call::<DeleteWebhook>(path(), Nothing {}, Nothing {}).await.unwrap();
    assert_eq!(deleted.state, WebhookState::Deleted);
    let again = stand.owner.call::<DeleteWebhook>(path(), Nothing {}, Nothing {}).await.unwrap();
    assert_eq!(again, deleted, "asking again changes nothing");
    stand.settle().await;
    assert!(stand.receiver.heard().is_empty());
    let delivery = stand.look(&delivery).await;
    assert_eq!(delivery.state, State::Exhausted);
    assert_eq!(delivery.error.as_deref(), Some("was not sent: the webhook is deleted"));
    assert!(stand.hooks().await.is_empty());
    for refused in [
        stand.owner.call::<TestWebhook>(path(), Nothing {}, Nothing {}).await.err(),
        stand.owner.call::<RotateWebhookSecret>(path(), Nothing {}, Nothing {}).await.err(),
        stand.owner.call::<EnableWebhook>(path(), Nothing {}, Nothing {}).await.err(),
        stand.owner.call::<DisableWebhook>(path(), Nothing {}, Nothing {}).await.err(),
        stand.owner.call::<ChangeWebhook>(path(), Nothing {}, WebhookChange::default()).await.err(),
        stand.resend(&delivery).await.err(),
    ] {
        assert!(refused.unwrap().is(Code::Conflict));
    }

    // The keeper sweeps both when their time is up, not before.
    let db = &stand.world.server.control_plane.db;
    let sweep = async || {
        let keep = Duration::from_secs(30 * 86_400);
        let deliveries = people::webhook_deliveries::forget_old(db, keep, 100).await.unwrap();
        (deliveries, people::webhooks::forget_old(db, keep, 100).await.unwrap())
    };
    assert_eq!(sweep().await, (0, 0));
    stand.advance(31 * 86_400);
    assert_eq!(sweep().await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_and_the_patterns_are_checked() {
    let stand = Stand::new().await;
    stand.policy("webhooks.max", "1").await;
    for events in ["allocations.*", "project.exploded"] {
        let error = stand.create("https://example.com/", events).await.unwrap_err();
        assert!(error.is(Code::InvalidValue) && error.to_string().contains(events), "{error}");
    }
    let none = WebhookSpec { events: Vec::new(), ..spec("https://example.com/", "*") };
    let error = stand.owner.call::<CreateWebhook>(stand.at(), Nothing {}, none).await.unwrap_err();
    assert!(error.is(Code::InvalidValue), "{error}");
    let first = stand.create("https://example.com/", "*").await.unwrap().webhook;
    assert!(stand.create("https://example.com/", "*").await.unwrap_err().is(Code::LimitReached));
    stand.owner.call::<DeleteWebhook>(stand.path(first.id), Nothing {}, Nothing {}).await.unwrap();
    stand.create("https://example.com/", "*").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_that_seals_secrets_can_be_replaced() {
    let stand = Stand::new().await;
    stand.hook("*").await;
    let new = Keyring::generate_entry().expose_text().unwrap().to_owned();
    let both = Keyring::parse(&format!("{new}\ntest:{}=", "A".repeat(43))).unwrap();
    let db = &stand.world.server.control_plane.db;
    let mut tx = kernel::Tx::system(db, "test", kernel::Access::Write).await.unwrap();
    for (column, held) in people::webhooks::SECRETS.iter().zip([1, 0]) {
        assert_eq!(column.rewrap(&mut tx, &both).await.unwrap(), held);
        assert_eq!(column.rewrap(&mut tx, &both).await.unwrap(), 0);
    }
    tx.commit().await.unwrap();
    let sealed: Vec<u8> = {
        let mut connection = stand.world.server.database.superuser().await;
        let sealed = sqlx::query_scalar("SELECT secret FROM webhooks").fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        sealed
    };
    assert_eq!(kernel::secrets::Sealed::from_bytes(&sealed).unwrap().key_id(), both.active());
}
