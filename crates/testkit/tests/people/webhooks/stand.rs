//! A server, an organization and a receiver, and the calls that tests repeat.

use std::{sync::Arc, time::Duration};

use client::{Client, ClientError};
use contract::{
    Nothing,
    id::{OrganizationId, WebhookId},
    organizations::OrganizationPath,
    projects::{CreateProject, Project, ProjectSpec},
    webhook_deliveries::{
        GetWebhookDelivery, ListWebhookDeliveries, ResendWebhookDelivery, WebhookDelivery, WebhookDeliveryFilter,
        WebhookDeliveryPath,
    },
    webhooks::{CreateWebhook, GetWebhook, ListWebhooks, NewWebhook, Webhook, WebhookFilter, WebhookPath, WebhookSpec},
};
use gpuaasd::roles::Role;
use sqlx::Connection;
use testkit::{Database, Receiver, Server, World, server::eventually, world::set_policy};

/// Events are carried; they are sent only when the test settles the work.
pub struct Stand {
    pub world: World,
    pub operator: Client,
    pub owner: Client,
    pub organization: OrganizationId,
    pub receiver: Receiver,
}

impl Stand {
    pub async fn new() -> Stand {
        Stand::with(&[Role::Api, Role::Relay]).await
    }

    pub async fn with(roles: &[Role]) -> Stand {
        Stand::on(Arc::new(Database::new().await), roles).await
    }

    pub async fn on(database: Arc<Database>, roles: &[Role]) -> Stand {
        let world = World::on(Server::with(database, roles, |_| ()).await).await;
        let operator = world.as_(&world.operator().await);
        let (organization, owner) = world.organization().await;
        let owner = world.as_(&owner);
        let stand = Stand { world, operator, owner, organization, receiver: Receiver::start().await };
        stand.policy("webhooks.allow_http_loopback", "true").await;
        stand
    }

    pub async fn policy(&self, key: &str, value: &str) {
        set_policy(&self.operator, key, value).await;
        let control_plane = &self.world.server.control_plane;
        control_plane.policies.refresh(&control_plane.db).await.unwrap();
    }

    pub fn at(&self) -> OrganizationPath {
        OrganizationPath { organization_id: self.organization }
    }

    pub fn path(&self, webhook_id: WebhookId) -> WebhookPath {
        WebhookPath { organization_id: self.organization, webhook_id }
    }

    pub async fn create(&self, url: &str, events: &str) -> Result<NewWebhook, ClientError> {
        self.owner.call::<CreateWebhook>(self.at(), Nothing {}, spec(url, events)).await
    }

    pub async fn hook(&self, events: &str) -> NewWebhook {
        self.create(&self.receiver.url, events).await.unwrap()
    }

    pub async fn hooks(&self) -> Vec<Webhook> {
        self.owner.call::<ListWebhooks>(self.at(), WebhookFilter::default(), Nothing {}).await.unwrap().items
    }

    pub async fn get(&self, id: WebhookId) -> Webhook {
        self.owner.call::<GetWebhook>(self.path(id), Nothing {}, Nothing {}).await.unwrap()
    }

    pub async fn project(&self, name: &str) -> Project {
        let body = ProjectSpec { name: name.parse().unwrap() };
        self.owner.call::<CreateProject>(self.at(), Nothing {}, body).await.unwrap()
    }

    pub async fn deliveries(&self, id: WebhookId) -> Vec<WebhookDelivery> {
        let query = WebhookDeliveryFilter::default();
        self.owner.call::<ListWebhookDeliveries>(self.path(id), query, Nothing {}).await.unwrap().items
    }

    /// Waits until the webhook has so many deliveries, newest first.
    pub async fn fanned_out(&self, id: WebhookId, count: usize) -> Vec<WebhookDelivery> {
        eventually("the fan-out", || async { self.deliveries(id).await.len() >= count }).await;
        let deliveries = self.deliveries(id).await;
        assert_eq!(deliveries.len(), count, "{deliveries:?}");
        deliveries
    }

    /// One event of one webhook that goes nowhere yet.
    pub async fn one(&self) -> (NewWebhook, WebhookDelivery) {
        let hook = self.hook("project.created").await;
        self.project("one").await;
        let delivery = self.fanned_out(hook.webhook.id, 1).await.remove(0);
        (hook, delivery)
    }

    pub async fn look(&self, delivery: &WebhookDelivery) -> WebhookDelivery {
        self.owner.call::<GetWebhookDelivery>(self.one_path(delivery), Nothing {}, Nothing {}).await.unwrap()
    }

    pub async fn resend(&self, delivery: &WebhookDelivery) -> Result<WebhookDelivery, ClientError> {
        self.owner.call::<ResendWebhookDelivery>(self.one_path(delivery), Nothing {}, Nothing {}).await
    }

    pub fn one_path(&self, delivery: &WebhookDelivery) -> WebhookDeliveryPath {
        let (organization_id, webhook_id) = (self.organization, delivery.webhook_id);
        WebhookDeliveryPath { organization_id, webhook_id, delivery_id: delivery.id }
    }

    /// Whether the fan-out has read all there is.
    pub async fn is_caught_up(&self) -> bool {
        let mut connection = self.world.server.database.superuser().await;
        let behind: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM outbox o JOIN consumers c ON c.name = 'webhooks.fan_out'
               WHERE (o.epoch, o.xid, o.place) > (c.epoch, c.xid, c.place))",
        )
        .fetch_one(&mut connection)
        .await
        .unwrap();
        connection.close().await.unwrap();
        !behind
    }

    pub async fn settle(&self) {
        self.world.server.settle().await;
    }

    pub fn advance(&self, seconds: u64) {
        self.world.server.control_plane.db.clock.advance(Duration::from_secs(seconds));
    }
}

pub fn spec(url: &str, events: &str) -> WebhookSpec {
    let events = events.split(' ').map(|it| it.parse().unwrap()).collect();
    WebhookSpec { url: url.parse().unwrap(), events, description: Some("for the tests".parse().unwrap()) }
}
