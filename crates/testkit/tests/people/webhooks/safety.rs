//! Where nothing is sent, who sees nothing, and receivers that misbehave.

use std::sync::Arc;

use contract::{
    Code, Nothing,
    organizations::OrganizationPath,
    projects::{DeleteProject, GetProject, ProjectPath, ProjectState},
    webhook_deliveries::{
        GetWebhookDelivery, ListWebhookDeliveries, ResendWebhookDelivery, WebhookDeliveryPath,
        WebhookDeliveryState as State,
    },
    webhooks::{
        ChangeWebhook, CreateWebhook, DeleteWebhook, EnableWebhook, GetWebhook, ListWebhooks, RotateWebhookSecret,
        TestWebhook, WebhookChange, WebhookFilter, WebhookPath,
    },
};
use gpuaasd::roles::Role;
use testkit::{Database, Receiver, Server, receiver::ReceiverBehavior, server::eventually};

use crate::webhooks::stand::{Stand, spec};

#[tokio::test(flavor = "multi_thread")]
async fn address_that_is_not_public_gets_no_delivery() {
    let stand = Stand::new().await;
    let refuse = async |url: &str| {
        let error = stand.create(url, "*").await.unwrap_err();
        assert!(error.is(Code::InvalidValue), "{url}: {error}");
        let problem = error.problem().unwrap().clone();
        assert_eq!(problem.field.as_deref(), Some("url"), "{url}");
    };
    for url in [
        "http://example.com/",
        "http://10.0.0.1/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[fd00::1]/",
        "https://[::ffff:192.168.0.1]/",
        "https://224.0.0.1/",
        "https://user:password@example.com/", // secret-scan: allow
    ] {
        refuse(url).await;
    }
    let (_, literal) = stand.one().await;
    let by_name = stand.receiver.url.replace("127.0.0.1", "localhost");
    let named = stand.create(&by_name, "project.created").await.unwrap().webhook.id;
    stand.project("two").await;
    let named = stand.fanned_out(named, 1).await.remove(0);

    // The check is made again for every attempt, so a name that comes to lead
    // elsewhere, or a policy that changes, takes effect at once.
    stand.policy("webhooks.allow_http_loopback", "false").await;
    stand.policy("webhooks.attempts", "1").await;
    for url in [stand.receiver.url.as_str(), "https://localhost/", "https://127.1/", "https://[::1]/"] {
        refuse(url).await;
    }
    stand.settle().await;
    for delivery in [&literal, &named] {
        let delivery = stand.look(delivery).await;
        assert_eq!(delivery.state, State::Exhausted);
        assert!(delivery.error.unwrap().contains("not a public address"));
    }
    assert!(stand.receiver.heard().is_empty());

    // And back: what was refused can be sent again.
    stand.policy("webhooks.allow_http_loopback", "true").await;
    stand.resend(&named).await.unwrap();
    stand.settle().await;
    assert_eq!(stand.receiver.heard().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_hangs_talks_for_ever_or_sends_elsewhere_does_no_harm() {
    let stand = Stand::new().await;
    stand.policy("webhooks.timeout_seconds", "1").await;
    stand.policy("webhooks.attempts", "1").await;
    let (_, delivery) = stand.one().await;
    let elsewhere = Receiver::start().await;
    for (manner, state, error) in [
        (ReceiverBehavior::Hang, State::Exhausted, Some("received no response within 1 seconds")),
        (ReceiverBehavior::Endless, State::Delivered, None),
        (
            ReceiverBehavior::Redirect(elsewhere.url.clone()),
            State::Exhausted,
            Some("received status 302; redirects are not followed"),
        ),
    ] {
        stand.receiver.behave(manner.clone());
        stand.resend(&delivery).await.unwrap();
        stand.settle().await;
        let delivery = stand.look(&delivery).await;
        assert_eq!((delivery.state, delivery.error.as_deref()), (state.into(), error), "{manner:?}");
    }
    assert_eq!(stand.receiver.heard().len(), 3);
    assert!(elsewhere.heard().is_empty());
    // Nobody there at all.
    let unused = testkit::process::free_port();
    let change =
        WebhookChange { url: Some(format!("http://127.0.0.1:{unused}/").parse().unwrap()), ..Default::default() };
    stand.owner.call::<ChangeWebhook>(stand.path(delivery.webhook_id), Nothing {}, change).await.unwrap();
    stand.resend(&delivery).await.unwrap();
    stand.settle().await;
    let error = stand.look(&delivery).await.error.unwrap();
    assert_eq!(error, "was not sent: cannot connect to the receiver");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_hangs_holds_up_nobody_else() {
    let database = Arc::new(Database::alone().await);
    let stand = Stand::on(database.clone(), &[Role::Api, Role::Relay]).await;
    stand.policy("webhooks.timeout_seconds", "30").await;
    stand.receiver.behave(ReceiverBehavior::Hang);
    let quick = Receiver::start().await;
    let hanging = stand.hook("project.created").await.webhook.id;
    for nth in 0..40 {
        stand.project(&format!("p{nth}")).await;
    }
    stand.fanned_out(hanging, 40).await;
    stand.create(&quick.url, "project.*").await.unwrap();
    // Nothing was sent until now, so that no call was under way while all this was made.
    let _sending = Server::with(database, &[Role::Reconcile], |_| ()).await;
    eventually("it to hang", || async { stand.receiver.heard().len() >= 4 }).await;
    let project = stand.project("late").await;
    let path = || ProjectPath { project_id: project.id };
    stand.owner.call::<DeleteProject>(path(), Nothing {}, Nothing {}).await.unwrap();
    eventually("the others' work", || async {
        let project = stand.owner.call::<GetProject>(path(), Nothing {}, Nothing {}).await.unwrap();
        project.state == ProjectState::Deleted && quick.heard().len() == 3
    })
    .await;
    let calls = stand.receiver.heard().len();
    let given_up: i32 = stand.deliveries(hanging).await.iter().map(|it| it.attempts).sum();
    assert_eq!(given_up, 0, "everything of others was done before the first call was given up");
    assert_eq!(calls, 4, "a webhook has its share of calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_sees_and_receives_nothing() {
    let stand = Stand::new().await;
    let (hook, delivery) = stand.one().await;
    let (other, stranger) = stand.world.organization().await;
    let stranger = stand.world.as_(&stranger);
    let at = OrganizationPath { organization_id: other };
    let listening = Receiver::start().await;
    let body = spec(&listening.url, "*");
    let own = stranger.call::<CreateWebhook>(at.clone(), Nothing {}, body).await.unwrap();
    stand.project("two").await;
    stand.fanned_out(hook.webhook.id, 2).await;
    stand.settle().await;
    assert!(listening.heard().iter().all(|it| it.event()["organization_id"] == other.to_string()));

    let listed = stranger.call::<ListWebhooks>(at, WebhookFilter::default(), Nothing {}).await.unwrap();
    assert_eq!(listed.items.iter().map(|it| it.id).collect::<Vec<_>>(), [own.webhook.id]);
    for organization_id in [other, stand.organization] {
        let path = || WebhookPath { organization_id, webhook_id: hook.webhook.id };
        let one = || WebhookDeliveryPath { organization_id, webhook_id: hook.webhook.id, delivery_id: delivery.id };
        let change = WebhookChange::default();
        for refused in [
            stranger.call::<GetWebhook>(path(), Nothing {}, Nothing {}).await.err(),
            stranger.call::<ChangeWebhook>(path(), Nothing {}, change).await.err(),
            stranger.call::<DeleteWebhook>(path(), Nothing {}, Nothing {}).await.err(),
            stranger.call::<RotateWebhookSecret>(path(), Nothing {}, Nothing {}).await.err(),
            stranger.call::<EnableWebhook>(path(), Nothing {}, Nothing {}).await.err(),
            stranger.call::<TestWebhook>(path(), Nothing {}, Nothing {}).await.err(),
            stranger.call::<ListWebhookDeliveries>(path(), Default::default(), Nothing {}).await.err(),
            stranger.call::<GetWebhookDelivery>(one(), Nothing {}, Nothing {}).await.err(),
            stranger.call::<ResendWebhookDelivery>(one(), Nothing {}, Nothing {}).await.err(),
        ] {
            assert!(refused.unwrap().is(Code::NotFound));
        }
    }
    // Nor through a webhook of one's own.
    let path = WebhookDeliveryPath { organization_id: other, webhook_id: own.webhook.id, delivery_id: delivery.id };
    let refused = stranger.call::<GetWebhookDelivery>(path, Nothing {}, Nothing {}).await;
    assert!(refused.unwrap_err().is(Code::NotFound));
}
