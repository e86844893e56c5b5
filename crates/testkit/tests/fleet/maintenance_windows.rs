//! Maintenance windows: told beforehand, once; nodes are emptied at the start
//! and given back at the end, and nobody else's are touched.

use std::{sync::Arc, time::Duration};

use contract::{
    Code, Nothing,
    events::{EventFilter, ListEvents, RecordedEvent},
    id::{NodeId, OrganizationId, PoolId, ProjectId},
    maintenance_windows::{
        AnnouncedWindow, CancelMaintenanceWindow, CreateMaintenanceWindow, ListAnnouncedWindows,
        ListMaintenanceWindows, MaintenanceWindow, MaintenanceWindowPath, MaintenanceWindowSpec,
    },
    nodes::{CordonNode, DrainNode, DrainSpec, Node, NodePath, UncordonNode},
    organizations::{Because, OrganizationPath},
    webhooks::{CreateWebhook, NewWebhook, WebhookSpec},
};
use gpuaasd::roles::Role;
use testkit::{Agent, Database, Fleet, Member, Receiver, Server, server::eventually, world::set_policy};

const HOUR: Duration = Duration::from_secs(3600);

/// A fleet in which work happens only when the test settles it.
async fn fleet() -> Fleet {
    fleet_with(&[Role::Api, Role::Nodes]).await
}

async fn fleet_with(roles: &[Role]) -> Fleet {
    Fleet::on(Server::with(Arc::new(Database::new().await), roles, |_| ()).await).await
}

fn because() -> Because {
    Because { reason: "test".parse().unwrap() }
}

fn window(fleet: &Fleet, node_id: Option<NodeId>, pool_id: Option<PoolId>) -> MaintenanceWindowSpec {
    let now = fleet.world.server.control_plane.db.clock.estimate();
    let reason = "new driver".parse().unwrap();
    MaintenanceWindowSpec { node_id, pool_id, starts_at: now + HOUR, ends_at: now + 3 * HOUR, reason }
}

async fn plan(fleet: &Fleet, spec: MaintenanceWindowSpec) -> MaintenanceWindow {
    let made = fleet.operator.call::<CreateMaintenanceWindow>(Nothing {}, Nothing {}, spec).await.unwrap();
    fleet.world.server.settle().await;
    made
}

async fn state(fleet: &Fleet) -> String {
    let page = fleet.operator.call::<ListMaintenanceWindows>(Nothing {}, Default::default(), Nothing {}).await;
    page.unwrap().items[0].state.as_str().to_owned()
}

async fn settle_after(fleet: &Fleet, by: Duration) {
    fleet.advance(by);
    fleet.world.server.settle().await;
}

/// An active allocation of the project that holds the node's first slot. How it came to be is not what is tested.
async fn occupy(fleet: &Fleet, agent: &Agent, organization: OrganizationId, project: ProjectId) {
    let mut above = fleet.world.server.database.superuser().await;
    sqlx::raw_sql(
        "SET session_replication_role = replica;
         INSERT INTO skus (id, name, shape, gpu_counts, numa_bound) SELECT gen_random_uuid(), 'slice', 'gpu_slice', '{1}', false
           ON CONFLICT DO NOTHING",
    )
    .execute(&mut above)
    .await
    .unwrap();
    sqlx::query(
        "WITH holder AS (
           INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state, active_at)
           SELECT gen_random_uuid(), $2, $3, skus.id, 1, 1, false, 'gtest', 'test', 'active', app_now() FROM skus RETURNING id),
         slot AS (
           UPDATE slots SET held_by = (SELECT id FROM holder) WHERE node_id = $1 AND place = 0 RETURNING id, gpu_uuid)
         INSERT INTO allocation_parts (organization_id, allocation_id, node_id, gpus, slots)
         SELECT $2, holder.id, $1, ARRAY[slot.gpu_uuid], ARRAY[slot.id] FROM holder, slot",
    )
    .bind(agent.node.uuid())
    .bind(organization.uuid())
    .bind(project.uuid())
    .execute(&mut above)
    .await
    .unwrap();
}

async fn allocation_state(fleet: &Fleet) -> String {
    let mut above = fleet.world.server.database.superuser().await;
    sqlx::query_scalar("SELECT state FROM allocations").fetch_one(&mut above).await.unwrap()
}

async fn announced(fleet: &Fleet, organization: OrganizationId, owner: &Member) -> Vec<AnnouncedWindow> {
    let path = OrganizationPath { organization_id: organization };
    let client = fleet.world.as_(owner);
    client.call::<ListAnnouncedWindows>(path, Default::default(), Nothing {}).await.unwrap().items
}

/// What the organization was told of, newest first.
async fn heard(fleet: &Fleet, organization: OrganizationId, owner: &Member, subject: &str) -> Vec<RecordedEvent> {
    let path = OrganizationPath { organization_id: organization };
    let query = EventFilter { subject: Some(subject.to_owned()), ..EventFilter::default() };
    fleet.world.as_(owner).call::<ListEvents>(path, query, Nothing {}).await.unwrap().items
}

async fn notices(fleet: &Fleet, organization: OrganizationId, owner: &Member) -> Vec<String> {
    let events = heard(fleet, organization, owner, "maintenance_window.").await;
    events.into_iter().rev().map(|it| it.subject.replace("maintenance_window.", "")).collect()
}

async fn announcements(fleet: &Fleet, organization: OrganizationId, owner: &Member) -> usize {
    heard(fleet, organization, owner, "maintenance_window.announced").await.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_is_emptied_at_the_start_and_given_back_at_the_end() {
    let fleet = fleet().await;
    let (busy, idle, spare) = (fleet.host("busy", 1).await, fleet.host("idle", 1).await, fleet.host("spare", 1).await);
    let cordon = NodePath { node_id: spare.node };
    fleet.operator.call::<CordonNode>(cordon, Nothing {}, because()).await.unwrap();
    let (organization, owner) = fleet.world.organization().await;
    let project = fleet.world.project(organization).await;
    occupy(&fleet, &busy, organization, project).await;
    let (stranger, other) = fleet.world.organization().await;

    let made = plan(&fleet, window(&fleet, None, Some(fleet.pool))).await;
    settle_after(&fleet, HOUR / 2).await;
    let told = announced(&fleet, organization, &owner).await;
    assert_eq!((told.len(), told[0].id, told[0].project_ids.as_slice()), (1, made.id, &[project][..]));
    assert_eq!(announcements(&fleet, organization, &owner).await, 1, "once, however often it is looked at");
    assert!(announced(&fleet, stranger, &other).await.is_empty());
    assert_eq!(announcements(&fleet, stranger, &other).await, 0);
    assert_eq!(fleet.state(idle.node).await.0, "ready", "nothing happens before the start");

    settle_after(&fleet, HOUR).await;
    assert_eq!(state(&fleet).await, "active");
    assert_eq!(fleet.state(busy.node).await.0, "draining");
    assert_eq!(fleet.state(idle.node).await.0, "maintenance");
    assert_eq!(allocation_state(&fleet).await, "releasing", "its time is over at the start");

    settle_after(&fleet, 2 * HOUR).await;
    assert_eq!(state(&fleet).await, "over");
    for (agent, after) in [(&busy, "ready"), (&idle, "ready"), (&spare, "cordoned")] {
        assert_eq!(fleet.state(agent.node).await.0, after);
    }
    settle_after(&fleet, HOUR).await;
    let told = notices(&fleet, organization, &owner).await;
    println!("told to the organization: {told:?}");
    assert_eq!(told, ["announced", "start_announced", "end_announced"], "each once");
    let start = heard(&fleet, organization, &owner, "maintenance_window.start_announced").await.remove(0);
    assert_eq!(start.data["project_id"], project.to_string());
    assert_eq!(start.data["reason"], "new driver");
    assert!(notices(&fleet, stranger, &other).await.is_empty(), "nobody else is told");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancellation_of_a_window_notifies_everyone_it_was_announced_to() {
    let fleet = fleet().await;
    let agent = fleet.host("a", 1).await;
    let (organization, owner) = fleet.world.organization().await;
    let project = fleet.world.project(organization).await;
    occupy(&fleet, &agent, organization, project).await;
    let made = plan(&fleet, window(&fleet, Some(agent.node), None)).await;
    let path = MaintenanceWindowPath { maintenance_window_id: made.id };
    fleet.operator.call::<CancelMaintenanceWindow>(path, Nothing {}, because()).await.unwrap();
    fleet.world.server.settle().await;
    settle_after(&fleet, 5 * HOUR).await;
    assert_eq!(notices(&fleet, organization, &owner).await, ["announced", "cancel_announced"]);
    assert_eq!(allocation_state(&fleet).await, "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn drain_notifies_tenants_of_its_deadline_and_of_its_cancellation() {
    let fleet = fleet().await;
    let agent = fleet.host("a", 1).await;
    let (organization, owner) = fleet.world.organization().await;
    let project = fleet.world.project(organization).await;
    occupy(&fleet, &agent, organization, project).await;
    let path = || NodePath { node_id: agent.node };
    let drain = |seconds: u64| DrainSpec {
        deadline_seconds: contract::Within::new(seconds).unwrap(),
        reason: "internal".parse().unwrap(),
    };
    let drained = fleet.operator.call::<DrainNode>(path(), Nothing {}, drain(3600)).await.unwrap();
    let later = fleet.operator.call::<DrainNode>(path(), Nothing {}, drain(7200)).await.unwrap();
    fleet.operator.call::<UncordonNode>(path(), Nothing {}, because()).await.unwrap();
    let told: Vec<(String, serde_json::Value)> = heard(&fleet, organization, &owner, "allocation.drain")
        .await
        .into_iter()
        .rev()
        .map(|it| (it.subject, it.data["deadline_at"].clone()))
        .collect();
    println!("told to the organization: {told:?}");
    let at = |node: &Node| serde_json::to_value(node.drain_deadline_at).unwrap();
    assert_eq!(
        told,
        [
            ("allocation.drain_announced".to_owned(), at(&drained)),
            ("allocation.drain_announced".to_owned(), at(&later)),
            ("allocation.drain_called_off".to_owned(), serde_json::Value::Null),
        ]
    );
    let event = heard(&fleet, organization, &owner, "allocation.drain").await.remove(0);
    assert!(!event.data.to_string().contains("internal"), "the operator's reason stays with the operators");
}

/// A webhook of the organization for the notices that this file is about.
async fn hook(fleet: &Fleet, organization: OrganizationId, owner: &Member, receiver: &Receiver) -> NewWebhook {
    let events = ["maintenance_window.*", "allocation.drain_announced", "allocation.drain_called_off"];
    let body = WebhookSpec {
        url: receiver.url.parse().unwrap(),
        events: events.iter().map(|it| it.parse().unwrap()).collect(),
        description: None,
    };
    let path = OrganizationPath { organization_id: organization };
    fleet.world.as_(owner).call::<CreateWebhook>(path, Nothing {}, body).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhooks_of_who_is_concerned_receive_the_notices_signed_and_nobody_elses_do() {
    let fleet = fleet_with(&[Role::Api, Role::Nodes, Role::Relay]).await;
    let server = &fleet.world.server;
    set_policy(&fleet.operator, "webhooks.allow_http_loopback", "true").await;
    server.control_plane.policies.refresh(&server.control_plane.db).await.unwrap();
    let agent = fleet.host("a", 1).await;
    let (organization, owner) = fleet.world.organization().await;
    let project = fleet.world.project(organization).await;
    occupy(&fleet, &agent, organization, project).await;
    let (stranger, other) = fleet.world.organization().await;
    let (receiver, foreign) = (Receiver::start().await, Receiver::start().await);
    let secret = hook(&fleet, organization, &owner, &receiver).await.secret;
    hook(&fleet, stranger, &other, &foreign).await;
    let hears = async |count: usize| {
        eventually("the notices to arrive", || async {
            server.settle().await;
            receiver.heard().len() >= count
        })
        .await;
    };

    let path = || NodePath { node_id: agent.node };
    let drain =
        DrainSpec { deadline_seconds: contract::Within::new(3600).unwrap(), reason: "internal".parse().unwrap() };
    let drained = fleet.operator.call::<DrainNode>(path(), Nothing {}, drain).await.unwrap();
    hears(1).await;
    fleet.operator.call::<UncordonNode>(path(), Nothing {}, because()).await.unwrap();
    hears(2).await;
    let made = plan(&fleet, window(&fleet, Some(agent.node), None)).await;
    hears(3).await;
    fleet.advance(HOUR + HOUR / 2);
    hears(4).await;
    fleet.advance(2 * HOUR);
    hears(5).await;

    let heard = receiver.heard();
    let told: Vec<String> = heard.iter().map(|it| it.event()["subject"].as_str().unwrap().to_owned()).collect();
    println!("sent to the webhook: {told:?}");
    assert_eq!(
        told,
        [
            "allocation.drain_announced",
            "allocation.drain_called_off",
            "maintenance_window.announced",
            "maintenance_window.start_announced",
            "maintenance_window.end_announced",
        ],
        "each once, in the order in which it happened"
    );
    for request in &heard {
        assert!(request.is_signed_by(secret.expose()) && !request.is_signed_by("whsec_other"));
        assert_eq!(request.event()["organization_id"], organization.to_string());
        assert_eq!(request.event()["data"]["project_id"], project.to_string());
        assert!(!request.event().to_string().contains("internal"), "the operator's reason stays with the operators");
    }
    let deadline = serde_json::to_value(drained.drain_deadline_at).unwrap();
    assert_eq!(heard[0].event()["data"]["deadline_at"], deadline);
    assert_eq!(heard[2].event()["data"]["id"], made.id.to_string());
    assert_eq!(heard[2].event()["data"]["reason"], "new driver");
    assert!(foreign.heard().is_empty(), "nobody else is told");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_is_called_off_gives_its_node_back_and_touches_no_other() {
    let fleet = fleet().await;
    let (planned, beside) = (fleet.host("planned", 1).await, fleet.host("beside", 1).await);
    let made = plan(&fleet, window(&fleet, Some(planned.node), None)).await;
    settle_after(&fleet, HOUR + HOUR / 2).await;
    eventually("the node to be empty", || async {
        fleet.world.server.settle().await;
        fleet.state(planned.node).await.0 == "maintenance"
    })
    .await;
    assert_eq!(fleet.state(beside.node).await.0, "ready");
    let path = || MaintenanceWindowPath { maintenance_window_id: made.id };
    fleet.operator.call::<CancelMaintenanceWindow>(path(), Nothing {}, because()).await.unwrap();
    fleet.world.server.settle().await;
    assert_eq!((state(&fleet).await.as_str(), fleet.state(planned.node).await.0.as_str()), ("canceled", "ready"));
    let again = fleet.operator.call::<CancelMaintenanceWindow>(path(), Nothing {}, because()).await;
    assert!(again.unwrap_err().is(Code::Conflict));
    settle_after(&fleet, 5 * HOUR).await;
    assert_eq!(state(&fleet).await, "canceled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_nobody_was_there_to_start_empties_nothing() {
    let fleet = fleet().await;
    let agent = fleet.host("a", 1).await;
    plan(&fleet, window(&fleet, Some(agent.node), None)).await;
    settle_after(&fleet, 10 * HOUR).await;
    assert_eq!((state(&fleet).await.as_str(), fleet.state(agent.node).await.0.as_str()), ("over", "ready"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_cannot_be_is_refused() {
    let fleet = fleet().await;
    let agent = fleet.host("a", 1).await;
    let good = window(&fleet, Some(agent.node), None);
    let wrong = [
        MaintenanceWindowSpec { pool_id: Some(fleet.pool), ..good.clone() },
        MaintenanceWindowSpec { node_id: None, ..good.clone() },
        MaintenanceWindowSpec { node_id: Some(NodeId::generate()), ..good.clone() },
        MaintenanceWindowSpec { starts_at: good.starts_at - 2 * HOUR, ..good.clone() },
        MaintenanceWindowSpec { ends_at: good.starts_at, ..good.clone() },
        MaintenanceWindowSpec { ends_at: good.ends_at + 800 * HOUR, ..good.clone() },
    ];
    for spec in wrong {
        let refused = fleet.operator.call::<CreateMaintenanceWindow>(Nothing {}, Nothing {}, spec).await;
        assert!(refused.unwrap_err().is(Code::InvalidValue));
    }
    let path = MaintenanceWindowPath { maintenance_window_id: contract::id::MaintenanceWindowId::generate() };
    let refused = fleet.operator.call::<CancelMaintenanceWindow>(path, Nothing {}, because()).await;
    assert!(refused.unwrap_err().is(Code::NotFound));
}
