//! A server, an organization, and the events that tests repeat.

use std::{sync::Arc, time::Duration};

use client::Client;
use contract::{
    Nothing, Page, Role,
    id::{AllocationId, OrganizationId, ProjectId},
    mails::{ListMails, Mail, MailFilter},
    notification_kinds::NotificationKind,
    notifications::{
        CountUnreadNotifications, ListNotifications, Notification, NotificationFilter, NotificationPreferencePath,
        NotificationPreferenceSpec, SetNotificationPreference,
    },
};
use gpuaasd::roles;
use kernel::{
    Access, Tx,
    outbox::{self, NewEvent},
};
use serde_json::{Value, json};
use sqlx::Connection;
use testkit::{Database, MailServer, Member, Server, World, server::eventually, world::set_policy};
use uuid::Uuid;

/// Events are carried; mails are sent only when the test settles the work.
pub struct Stand {
    pub world: World,
    pub operator: Client,
    pub organization: OrganizationId,
    pub owner: Member,
}

pub const FROM: &str = "gpuaas <no-reply@gpu.example.test>";

impl Stand {
    /// Without mail.
    pub async fn new() -> Stand {
        Stand::with(None).await
    }

    pub async fn mailing(server: &MailServer) -> Stand {
        Stand::with(Some(server.url.clone())).await
    }

    async fn with(url: Option<String>) -> Stand {
        let database = Arc::new(Database::new().await);
        let server = Server::with(database, &[roles::Role::Api, roles::Role::Relay], |config| {
            config.mail.from = url.as_ref().map(|_| FROM.to_owned());
            config.mail.public_url = Some("https://gpu.example.test".into());
            config.mail.url = url;
        });
        let world = World::on(server.await).await;
        let operator = world.as_(&world.operator().await);
        let (organization, owner) = world.organization().await;
        Stand { world, operator, organization, owner }
    }

    pub async fn policy(&self, key: &str, value: &str) {
        set_policy(&self.operator, key, value).await;
        let control_plane = &self.world.server.control_plane;
        control_plane.policies.refresh(&control_plane.db).await.unwrap();
    }

    /// An event of the organization, as whoever owns the subject would emit it; its id is the cause.
    pub async fn happens(&self, subject: &str, data: Value) -> Uuid {
        let mut tx = Tx::system(&self.world.server.control_plane.db, "test", Access::Write).await.unwrap();
        let event = NewEvent {
            subject: subject.to_owned(),
            organization: Some(self.organization.uuid()),
            resource: data.get("id").and_then(Value::as_str).map(str::to_owned),
            version: None,
            data,
        };
        outbox::emit(&mut tx, event);
        tx.commit().await.unwrap();
        let mut connection = self.world.server.database.superuser().await;
        let newest = "SELECT id FROM outbox WHERE subject = $1 ORDER BY place DESC LIMIT 1";
        let id = sqlx::query_scalar(newest).bind(subject).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        id
    }

    /// As `happens`, and waits until everybody was told.
    pub async fn is_told(&self, subject: &str, data: Value) -> Uuid {
        let cause = self.happens(subject, data).await;
        eventually("the event to be consumed", || async { self.is_consumed(cause).await }).await;
        cause
    }

    pub async fn is_consumed(&self, cause: Uuid) -> bool {
        let mut connection = self.world.server.database.superuser().await;
        let statement =
            "SELECT EXISTS (SELECT FROM consumed WHERE consumer = 'notifications.tell' AND message_id = $1)";
        let is_there = sqlx::query_scalar(statement).bind(cause).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        is_there
    }

    /// An allocation of a project that somebody asked for.
    pub async fn allocation(&self, project: ProjectId, asked_by: &str) -> AllocationId {
        let id = AllocationId::generate();
        let mut connection = self.world.server.database.superuser().await;
        // Its states are guarded by its lifecycle, which is not what is tested here.
        sqlx::raw_sql("SET session_replication_role = replica").execute(&mut connection).await.unwrap();
        sqlx::query(
            "INSERT INTO allocations (id, organization_id, project_id, name, sku_id, gpus, nodes, same_fabric, login, created_by, state, reason, lease_ends_at)
             VALUES ($1, $2, $3, 'train-<1>', gen_random_uuid(), 1, 1, false, 'g', $4, 'active', $5, '2030-01-02 03:04:05Z')",
        )
        .bind(id.uuid())
        .bind(self.organization.uuid())
        .bind(project.uuid())
        .bind(asked_by)
        .bind(json!({ "code": "node_lost", "cause": { "kind": "retired", "said": "the host fell silent." } }))
        .execute(&mut connection)
        .await
        .unwrap();
        connection.close().await.unwrap();
        id
    }

    pub async fn member(&self, role: Role) -> Member {
        self.world.member_of(self.organization, role).await
    }

    pub async fn told(&self, member: &Member) -> Vec<Notification> {
        let query = NotificationFilter::default();
        let page: Page<Notification> =
            self.world.as_(member).call::<ListNotifications>(Nothing {}, query, Nothing {}).await.unwrap();
        page.items
    }

    pub async fn unread(&self, member: &Member) -> i64 {
        let client = self.world.as_(member);
        client.call::<CountUnreadNotifications>(Nothing {}, Nothing {}, Nothing {}).await.unwrap().unread
    }

    pub async fn prefer(&self, member: &Member, kind: NotificationKind, in_app: Option<bool>, email: Option<bool>) {
        let path = NotificationPreferencePath { notification_kind: kind };
        let body = NotificationPreferenceSpec { in_app, email };
        let client = self.world.signed_in(member.id).await;
        client.call::<SetNotificationPreference>(path, Nothing {}, body).await.unwrap();
    }

    pub async fn mails(&self) -> Vec<Mail> {
        let query = MailFilter::default();
        self.operator.call::<ListMails>(Nothing {}, query, Nothing {}).await.unwrap().items
    }

    /// Sends what is due, after so many seconds.
    pub async fn later(&self, seconds: u64) {
        self.world.server.control_plane.db.clock.advance(Duration::from_secs(seconds));
        self.world.server.settle().await;
    }
}

pub fn about(id: impl ToString) -> Value {
    json!({ "id": id.to_string(), "from": "active", "to": "releasing", "version": 2 })
}
