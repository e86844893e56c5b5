//! What staff hear of the whole platform, and how a picture of the fleet is kept up to date.

use contract::{
    events::{ListPlatformEvents, PlatformEventFilter},
    nodes::{ChangeMark, CordonNode, ListNodeChanges, NodeChanges, NodeChangesRange, NodePath, NodeTaskState},
    organizations::{Because, OrganizationPath},
    permission::PlatformRole,
    projects::{CreateProject, ProjectSpec},
};
use testkit::{Fleet, Watch, World};

async fn create(world: &World, organization: contract::id::OrganizationId, owner: &testkit::Member, name: &str) {
    let (path, spec) =
        (OrganizationPath { organization_id: organization }, ProjectSpec { name: name.parse().unwrap() });
    world.as_(owner).call::<CreateProject>(path, Default::default(), spec).await.unwrap();
}

/// The next event with this subject, whatever else is told before.
async fn next(watch: &mut Watch, subject: &str) -> serde_json::Value {
    loop {
        let frame = watch.next().await;
        if frame["event"]["subject"] == subject {
            return frame["event"].clone();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_get_events_of_everybody_and_members_of_nobody_else() {
    let world = World::new().await;
    let operator = world.operator().await;
    let (first, owner) = world.organization().await;
    let (second, other) = world.organization().await;
    assert!(world.watch_platform(&owner.token, "").await.is_err(), "members are not staff");
    let mut watch = world.watch_platform(&operator.token, "subject=project.").await.unwrap();
    assert_eq!(watch.next().await["type"], "ready");
    create(&world, first, &owner, "one").await;
    create(&world, second, &other, "two").await;
    for organization in [first, second] {
        let event = next(&mut watch, "project.created").await;
        assert_eq!(event["organization_id"], organization.to_string());
    }
    watch.send(r#"{"type":"ping"}"#).await;
    assert_eq!(watch.next().await["type"], "pong");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_goes_on_after_the_event_that_was_received_last() {
    let world = World::new().await;
    let operator = world.operator().await;
    let (organization, owner) = world.organization().await;
    let mut watch = world.watch_platform(&operator.token, "subject=project.").await.unwrap();
    create(&world, organization, &owner, "heard").await;
    let heard = next(&mut watch, "project.created").await["id"].as_str().unwrap().to_owned();
    drop(watch);
    create(&world, organization, &owner, "missed-one").await;
    create(&world, organization, &owner, "missed-two").await;
    let query = format!("subject=project.&after={heard}");
    let mut watch = world.watch_platform(&operator.token, &query).await.unwrap();
    create(&world, organization, &owner, "live").await;
    let mut resources = Vec::new();
    for _ in 0..3 {
        resources.push(next(&mut watch, "project.created").await["id"].as_str().unwrap().to_owned());
    }
    let unique: std::collections::HashSet<_> = resources.iter().collect();
    assert_eq!(unique.len(), 3, "each is told once: {resources:?}");
    assert!(!resources.contains(&heard));

    // An event that is not known, or no longer, cannot be gone on after.
    let query = format!("after={}", contract::id::EventId::generate());
    let mut watch = world.watch_platform(&operator.token, &query).await.unwrap();
    assert_eq!(watch.next().await["type"], "ready");
    assert_eq!(watch.next().await["type"], "gap");
    // A member's watch goes on in the same way.
    let path = format!("subject=project.&after={heard}");
    let mut theirs = world.watch(organization, &owner.token, &path["subject=".len()..]).await;
    next(&mut theirs, "project.created").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn support_receives_nothing_that_it_may_not_read() {
    let world = World::new().await;
    let support = world.person_with(Some(PlatformRole::Support)).await;
    let auditor = world.person_with(Some(PlatformRole::Auditor)).await;
    let operator = world.as_(&world.operator().await);
    let (organization, owner) = world.organization().await;
    let path = OrganizationPath { organization_id: organization };
    let spec = contract::corrections::CorrectionSpec {
        amount_micros: 5_000_000,
        currency: "USD".parse().unwrap(),
        reason: "a gift".parse().unwrap(),
    };
    operator.call::<contract::corrections::GrantCredit>(path, Default::default(), spec).await.unwrap();
    create(&world, organization, &owner, "seen").await;
    let subjects = async |member: &testkit::Member| {
        let filter = PlatformEventFilter { organization_id: Some(organization), ..PlatformEventFilter::default() };
        let page = world.as_(member).call::<ListPlatformEvents>(Default::default(), filter, Default::default()).await;
        page.unwrap().items.into_iter().map(|it| it.subject).collect::<Vec<_>>()
    };
    let (to_support, to_auditor) = (subjects(&support).await, subjects(&auditor).await);
    assert!(to_support.iter().any(|it| it == "project.created"), "{to_support:?}");
    assert!(!to_support.iter().any(|it| it.starts_with("journal.")), "{to_support:?}");
    assert!(to_auditor.iter().any(|it| it.starts_with("journal.")), "{to_auditor:?}");
    let member = world.as_(&owner);
    let listed = member.call::<ListPlatformEvents>(Default::default(), Default::default(), Default::default());
    assert!(listed.await.is_err(), "members are not staff");
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_nodes_are_listed_since_a_mark_and_others_are_not() {
    let fleet = Fleet::new().await;
    let (first, second) = (fleet.host("a", 2).await, fleet.host("b", 1).await);
    let ask = async |after: Option<ChangeMark>| -> NodeChanges {
        fleet
            .operator
            .call::<ListNodeChanges>(Default::default(), NodeChangesRange { after }, Default::default())
            .await
            .unwrap()
    };
    let start = ask(None).await;
    assert!(start.nodes.is_empty() && !start.is_cut, "only a mark is answered first");
    let because = Because { reason: "a fan is loud".parse().unwrap() };
    let path = NodePath { node_id: first.node };
    fleet.operator.call::<CordonNode>(path, Default::default(), because).await.unwrap();
    let changes = ask(Some(start.mark)).await;
    let cordoned = changes.nodes.iter().find(|it| it.id == first.node).expect("it changed");
    assert_eq!(cordoned.state.as_str(), "cordoned");
    // Long after its own changes nothing is told of the other.
    let later = ask(Some(changes.mark)).await;
    let mark = ask(Some(later.mark)).await;
    assert!(mark.nodes.iter().all(|it| it.id != second.node), "{:?}", mark.nodes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_shows_its_host_its_certificates_and_its_tasks() {
    let fleet = Fleet::new().await;
    let agent = fleet.host("a", 2).await;
    fleet.order(agent.node, 1).await;
    let detail = fleet.node(agent.node).await;
    assert!(detail.host.is_some_and(|it| it.cpus > 0 && !it.os.is_empty()));
    let [certificate] = &detail.certificates[..] else { panic!("{:?}", detail.certificates) };
    assert!(certificate.revoked_at.is_none() && certificate.expires_at > certificate.issued_at);
    let [task] = &detail.tasks[..] else { panic!("{:?}", detail.tasks) };
    assert!(task.state == NodeTaskState::Waiting || task.state == NodeTaskState::Delivered, "{task:?}");
}
