//! Receivers of one organization that hang, and what others notice of it.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use client::Client;
use contract::{
    Nothing, Role as MemberRole,
    id::OrganizationId,
    invitations::{CreateInvitation, InvitationSpec},
    organizations::OrganizationPath,
    payments::{CreatePayment, GetPayment, PaymentPath, PaymentSpec, PaymentState},
    projects::{CreateProject, ProjectSpec},
    refunds::{AnyPaymentPath, CreateRefund, ListRefunds, RefundFilter, RefundSpec, RefundState},
    webhooks::{CreateWebhook, WebhookSpec},
};
use gpuaasd::roles::Role;
use sqlx::Connection;
use testkit::{
    Database, Receiver, Server, Stripe, World, receiver::ReceiverBehavior, rounds, server::eventually,
    stripe::WEBHOOK_SECRET, world::set_policy,
};
use uuid::Uuid;

struct Stand {
    world: World,
    operator: Client,
    stripe: Stripe,
    mails: tempfile::TempDir,
    _recordings: tempfile::TempDir,
}

impl Stand {
    async fn new() -> Stand {
        let (stripe, mails, recordings) =
            (Stripe::start().await, tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // Calls are given up after a while: no other test's transaction may hold events up for as long.
        let server = Server::with(Arc::new(Database::alone().await), &Role::ALL, |config| {
            stripe.configure(config);
            config.mail.folder = Some(mails.path().to_owned());
            config.recordings.folder = Some(recordings.path().to_owned());
        });
        let world = World::on(server.await).await;
        let operator = world.as_(&world.operator().await);
        for (key, value) in [
            ("webhooks.allow_http_loopback", "true"),
            ("webhooks.max", "1000"),
            ("webhooks.timeout_seconds", "30"),
            ("rate_limit.default_per_minute", "100000"),
        ] {
            set_policy(&operator, key, value).await;
        }
        world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
        Stand { world, operator, stripe, mails, _recordings: recordings }
    }

    async fn one(&self, statement: &str) -> i64 {
        let mut above = self.world.server.database.superuser().await;
        let value = sqlx::query_scalar(sqlx::AssertSqlSafe(statement.to_owned())).fetch_one(&mut above).await.unwrap();
        above.close().await.unwrap();
        value
    }

    /// So many webhooks of one organization that never answer, with more to send
    /// than could ever be under way, and every call to them that may be under way is.
    async fn hang(&self, hooks: usize) -> Receiver {
        let receiver = Receiver::start().await;
        receiver.behave(ReceiverBehavior::Hang);
        let (organization_id, owner) = self.world.organization().await;
        let owner = self.world.as_(&owner);
        let path = || OrganizationPath { organization_id };
        for _ in 0..hooks {
            let events = vec!["project.created".parse().unwrap()];
            let spec = WebhookSpec { url: receiver.url.parse().unwrap(), events, description: None };
            owner.call::<CreateWebhook>(path(), Nothing {}, spec).await.unwrap();
        }
        for nth in 0..5 {
            let spec = ProjectSpec { name: format!("p{nth}").parse().unwrap() };
            owner.call::<CreateProject>(path(), Nothing {}, spec).await.unwrap();
        }
        let sent = "SELECT count(*) FROM webhook_deliveries";
        eventually("the fan-out", || async { self.one(sent).await == 5 * hooks as i64 }).await;
        // Either everything that is due was looked at, or so much is leased that nothing else is claimed.
        let settled = "SELECT count(*) FROM (SELECT count(*) FILTER (WHERE lease_until > app_now()) AS leased,
              count(*) FILTER (WHERE lease_until IS NULL AND due_at < app_now()) AS due FROM work WHERE kind = 'webhook_delivery') AS it
            WHERE leased >= 32 OR due = 0";
        eventually("them to hang", || async { receiver.heard().len() >= 4 && self.one(settled).await == 1 }).await;
        receiver
    }

    /// A recording whose session is over, and which waits to be sealed.
    async fn recording(&self, organization: OrganizationId) -> Uuid {
        let (recording, session) = (Uuid::now_v7(), Uuid::now_v7());
        let mut above = self.world.server.database.superuser().await;
        sqlx::raw_sql("SET session_replication_role = replica").execute(&mut above).await.unwrap();
        sqlx::query(
            "INSERT INTO access_sessions (id, organization_id, project_id, allocation_id, node_id, kind, actor, principal_id,
               address, gateway_id, generation, grace_seconds, until, state, ended_at)
             VALUES ($1, $2, $1, $1, $1, 'terminal', 'user:x', $1, '192.0.2.1', $1, 1, 60, app_now(), 'ended', app_now())",
        )
        .bind(session)
        .bind(organization.uuid())
        .execute(&mut above)
        .await
        .unwrap();
        sqlx::query(
            "INSERT INTO recordings (id, organization_id, session_id, has_input, state) VALUES ($1, $2, $3, false, 'recording')",
        )
        .bind(recording)
        .bind(organization.uuid())
        .bind(session)
        .execute(&mut above)
        .await
        .unwrap();
        sqlx::query("INSERT INTO work (kind, id) VALUES ('recording', $1)")
            .bind(recording)
            .execute(&mut above)
            .await
            .unwrap();
        above.close().await.unwrap();
        recording
    }
}

fn mails_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, |it| it.count())
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_webhooks_of_one_organization_hold_up_no_other_work() {
    let stand = Stand::new().await;
    let hooks = rounds(200);
    let receiver = stand.hang(hooks).await;

    let (organization_id, owner) = stand.world.organization().await;
    let owner = stand.world.as_(&owner);
    let path = || OrganizationPath { organization_id };
    let mut times: Vec<(&str, Duration)> = Vec::new();

    let started = Instant::now();
    let spec = PaymentSpec { currency: "USD".parse().unwrap(), amount_micros: 50_000_000 };
    let payment = owner.call::<CreatePayment>(path(), Nothing {}, spec).await.unwrap();
    let now = async || {
        let path = PaymentPath { organization_id, payment_id: payment.id };
        owner.call::<GetPayment>(path, Nothing {}, Nothing {}).await.unwrap().state
    };
    eventually("the payment to be open", || async { now().await == PaymentState::Pending }).await;
    let intent = stand.stripe.pay(&payment.id.to_string());
    let event = stand.stripe.event("payment_intent.succeeded", &intent);
    let at = stand.world.server.control_plane.db.clock.estimate().as_second();
    assert_eq!(event.send_with(&stand.world.server.base, &event.signed_with(WEBHOOK_SECRET, at)).await, 200);
    eventually("the payment to arrive", || async { now().await == PaymentState::Succeeded }).await;
    times.push(("payment", started.elapsed()));

    let started = Instant::now();
    let spec = RefundSpec { amount_micros: None, reason: "ended early".parse().unwrap() };
    let of = || AnyPaymentPath { payment_id: payment.id };
    stand.operator.call::<CreateRefund>(of(), Nothing {}, spec).await.unwrap();
    eventually("the refund", || async {
        let page = stand.operator.call::<ListRefunds>(of(), RefundFilter::default(), Nothing {}).await.unwrap();
        page.items.iter().any(|it| it.state == RefundState::Succeeded)
    })
    .await;
    times.push(("refund", started.elapsed()));

    let (started, before) = (Instant::now(), mails_in(stand.mails.path()));
    let spec = InvitationSpec { email: "guest@example.test".parse().unwrap(), role: MemberRole::Member };
    owner.call::<CreateInvitation>(path(), Nothing {}, spec).await.unwrap();
    eventually("the mail", || async { mails_in(stand.mails.path()) > before }).await;
    times.push(("mail", started.elapsed()));

    let started = Instant::now();
    let recording = stand.recording(organization_id).await;
    let sealed = format!("SELECT count(*) FROM recordings WHERE id = '{recording}' AND state = 'sealed'");
    eventually("the seal", || async { stand.one(&sealed).await == 1 }).await;
    times.push(("seal", started.elapsed()));

    let tried = stand.one("SELECT count(*) FROM webhook_deliveries WHERE attempts > 0").await;
    println!(
        "{hooks} hanging webhooks of one organization, {} calls under way; of another organization: {}",
        receiver.heard().len(),
        times.iter().map(|(what, time)| format!("{what} {time:.0?}")).collect::<Vec<_>>().join(", ")
    );
    assert_eq!(tried, 0, "everything of others was done before the first call was given up");
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_webhooks_of_one_organization_leave_slots_to_another() {
    let stand = Stand::new().await;
    stand.hang(20).await;
    let quick = Receiver::start().await;
    let (organization_id, owner) = stand.world.organization().await;
    let owner = stand.world.as_(&owner);
    let path = || OrganizationPath { organization_id };
    let events = vec!["project.created".parse().unwrap()];
    let spec = WebhookSpec { url: quick.url.parse().unwrap(), events, description: None };
    owner.call::<CreateWebhook>(path(), Nothing {}, spec).await.unwrap();
    let spec = ProjectSpec { name: "late".parse().unwrap() };
    owner.call::<CreateProject>(path(), Nothing {}, spec).await.unwrap();
    eventually("another organization's delivery", || async { quick.heard().len() == 1 }).await;
    let tried = stand.one("SELECT count(*) FROM webhook_deliveries WHERE attempts > 0 AND state = 'pending'").await;
    assert_eq!(tried, 0, "it was sent before the first call that hangs was given up");
}
