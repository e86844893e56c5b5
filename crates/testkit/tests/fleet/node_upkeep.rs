//! What happens to nodes over their life: draining, wiping, coming back; and to
//! the CA that they are known by.

use std::{sync::Arc, time::Duration};

use contract::{
    enrollment_tokens::{EnrollmentTokenPath, RevokeEnrollmentToken},
    id::NodeId,
    nodes::{AttestNode, DrainNode, DrainSpec, NodeHealth, NodePath, NodeState, UncordonNode},
    organizations::Because,
    pools::PoolProvider,
};
use fleet::{ca, nodes};
use gpuaasd::roles::Role;
use kernel::secrets::Secret;
use protocol::{
    Done, DriverKind, Inventory, Outcome, Verb, agent_binary::AgentBinary, agent_binary::sha256_hex, paths,
};
use testkit::{
    Agent, Database, Fleet, Server, Tenant, agent,
    cloud::{add_sku, ask},
    fleet::add_pool,
    process,
    server::eventually,
};

fn because() -> Because {
    Because { reason: "test".parse().unwrap() }
}

fn evidence() -> Outcome {
    Outcome::Done {
        result: Done::Evidence {
            stages: vec![],
            processes_killed: 0,
            home_removed: true,
            user_removed: true,
            gpu_processes_left: 0,
        },
    }
}

/// A real host without a wipe script.
fn metal(name: &str) -> Inventory {
    Inventory { driver: DriverKind::Linux, isolates_vms: false, ..agent::inventory(name, 2) }
}

async fn request_sanitizing(fleet: &Fleet, node: NodeId) {
    let mut tx = fleet.tx().await;
    assert!(nodes::request_sanitizing(&mut tx, node, "another organization is next").await.unwrap());
    tx.commit().await.unwrap();
}

/// Makes the node serve an organization and its slots dirty, as a tenant leaves it.
async fn use_up(fleet: &Fleet, node: NodeId) {
    let (organization, _) = fleet.world.organization().await;
    let mut connection = fleet.world.server.database.superuser().await;
    for (statement, id) in [
        ("UPDATE nodes SET serves = $2 WHERE id = $1", organization.uuid()),
        ("UPDATE slots SET condition = 'dirty' WHERE node_id = $1 AND $2 IS NOT NULL", organization.uuid()),
    ] {
        sqlx::query(statement).bind(node.uuid()).bind(id).execute(&mut connection).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_node_is_drained_and_a_drain_can_be_called_off() {
    let fleet = Fleet::new().await;
    let agent = fleet.host("a", 1).await;
    fleet.drain(agent.node).await;
    fleet.is(agent.node, NodeState::Maintenance, NodeHealth::Ok).await;
    assert!(fleet.node(agent.node).await.node.drain_deadline_at.is_none());

    let held = fleet.host("b", 1).await;
    let mut connection = fleet.world.server.database.superuser().await;
    sqlx::query("UPDATE slots SET held_by = gen_random_uuid() WHERE node_id = $1")
        .bind(held.node.uuid())
        .execute(&mut connection)
        .await
        .unwrap();
    let path = NodePath { node_id: held.node };
    let spec = DrainSpec { deadline_seconds: contract::Within::new(3600).unwrap(), reason: "test".parse().unwrap() };
    let drained = fleet.operator.call::<DrainNode>(path.clone(), Default::default(), spec).await.unwrap();
    assert_eq!(drained.state, NodeState::Draining);
    assert!(drained.drain_deadline_at.is_some());
    let back = fleet.operator.call::<UncordonNode>(path, Default::default(), because()).await.unwrap();
    assert_eq!((back.state, back.drain_deadline_at), (NodeState::Ready.into(), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_can_wipes_itself_and_serves_anyone_again() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 2).await;
    use_up(&fleet, agent.node).await;
    request_sanitizing(&fleet, agent.node).await;
    let tasks = agent.wait(20_000).await.unwrap().tasks;
    let task = agent.verified(&tasks).remove(0);
    assert_eq!(task.verb, Verb::EnsureSanitized {});
    let failed =
        Outcome::Failed { step: "wipe".into(), code: "wipe_script".into(), detail: "no".into(), retryable: true };
    agent.report(&task, failed).await.unwrap();
    let again = agent.wait(20_000).await.unwrap().tasks;
    let again = agent.verified(&again).remove(0);
    assert!(again.version > task.version, "a later try fences off the earlier one");
    agent.report(&again, evidence()).await.unwrap();
    fleet.is(agent.node, NodeState::Ready, NodeHealth::Ok).await;
    let node = fleet.node(agent.node).await.node;
    assert_eq!((node.serves, node.gpus_free), (None, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_cannot_wipe_itself_is_shut_out_until_a_person_attests_it() {
    let fleet = Fleet::new().await;
    let pool = add_pool(&fleet.operator, "metal", PoolProvider::Enrolled).await;
    let server = &fleet.world.server;
    let token = fleet.token_for(pool).await;
    let mut before = Agent::enroll(server, token.secret.expose(), metal("m")).await.unwrap();
    before.introduce().await.unwrap();
    use_up(&fleet, before.node).await;
    request_sanitizing(&fleet, before.node).await;
    eventually("the certificate to be revoked", || async {
        let mut line = match before.connect().await {
            Ok(line) => line,
            Err(_) => return false,
        };
        line.get(&paths::agent("1", "x")).await.is_ok_and(|(status, ..)| status == 403)
    })
    .await;
    // Attested too early it would be ready: what cannot be heard must not look well.
    fleet.is(before.node, NodeState::Sanitizing, NodeHealth::Unknown).await;
    // Installed again, the same machine is the same node, and is not used yet.
    let token = fleet.token_for(pool).await;
    let mut after = Agent::enroll(server, token.secret.expose(), metal("m")).await.unwrap();
    assert_eq!(after.node, before.node);
    after.introduce().await.unwrap();
    fleet.is(after.node, NodeState::Sanitizing, NodeHealth::Ok).await;
    before.hang_up();
    assert_eq!(before.poll().await.unwrap_err().code(), "certificate_revoked", "what was on it stays out");
    let path = NodePath { node_id: after.node };
    let attested = fleet.operator.call::<AttestNode>(path.clone(), Default::default(), because()).await.unwrap();
    assert_eq!((attested.state, attested.serves, attested.gpus_free), (NodeState::Ready.into(), None, 2));
    let again = fleet.operator.call::<AttestNode>(path, Default::default(), because()).await;
    assert!(again.is_err(), "only what is being wiped is attested");
}

#[tokio::test(flavor = "multi_thread")]
async fn request_that_waits_for_an_attestation_says_so_and_names_no_cleaning() {
    let fleet = Fleet::new().await;
    let pool = add_pool(&fleet.operator, "metal", PoolProvider::Enrolled).await;
    add_sku(&fleet.operator).await;
    let enroll = async || {
        let token = fleet.token_for(pool).await;
        let mut host = Agent::enroll(&fleet.world.server, token.secret.expose(), metal("m")).await.unwrap();
        host.introduce().await.unwrap();
        host
    };
    let before = enroll().await;
    use_up(&fleet, before.node).await;
    request_sanitizing(&fleet, before.node).await;
    fleet.is(before.node, NodeState::Sanitizing, NodeHealth::Unknown).await;
    let tenant = Tenant::new(&fleet.world).await;
    let id = tenant.ask(ask(1)).await;
    tenant.waits(id).await;
    let told = async |when: &str| {
        let why = tenant.why(id).await;
        println!("{when}: {}; {}", why.rule, why.change.as_deref().unwrap());
        assert_eq!(why.rule, "an operator must first attest that the suitable node was sanitized");
        let change = "wait until an operator has sanitized 1 of the hosts and attested it (`gpuaas nodes attest NODE --reason TEXT`)";
        assert_eq!(why.change.as_deref(), Some(change));
    };
    told("shut out").await;
    let mut after = enroll().await;
    fleet.is(after.node, NodeState::Sanitizing, NodeHealth::Ok).await;
    told("installed again").await;
    let path = NodePath { node_id: after.node };
    fleet.operator.call::<AttestNode>(path, Default::default(), because()).await.unwrap();
    let tasks = after.wait(20_000).await.unwrap().tasks;
    assert!(matches!(after.verified(&tasks)[0].verb, Verb::EnsureAllocation { .. }), "it is placed there");
}

/// The real agent's own code, with nothing in hand but the token's answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_recognizes_the_control_plane_by_the_fingerprint_that_came_with_its_token() {
    let fleet = Fleet::new().await;
    let token = fleet.token_for(fleet.pool).await;
    let enroll = async |fingerprint: &str, secret: &str| {
        let trust = trust::Trust::in_fingerprint(fingerprint).unwrap();
        let asked = trust::PendingRequest::new().unwrap();
        ::agent::enroll::enroll(&token.node_url, secret, &trust, agent::inventory("a", 1), asked).await
    };
    let other = "ab".repeat(32);
    assert!(enroll(&other, token.secret.expose()).await.is_err(), "another control plane gets no token to see");
    let identity = enroll(&token.ca_fingerprint, token.secret.expose()).await.unwrap();
    assert_eq!(fleet.state(identity.node_id.parse().unwrap()).await.0, "enrolling");
}

/// As a host does whose first answer got lost: the token is spent, and it has nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_lost_the_answer_to_its_token_asks_again_with_its_key() {
    let fleet = Fleet::new().await;
    let token = fleet.token_for(fleet.pool).await;
    let trust = trust::Trust::in_fingerprint(&token.ca_fingerprint).unwrap();
    let enroll = async |name: &str, asked: &trust::PendingRequest| {
        let inventory = agent::inventory(name, 1);
        ::agent::enroll::enroll(&token.node_url, token.secret.expose(), &trust, inventory, asked.clone()).await
    };
    let (own, other) = (trust::PendingRequest::new().unwrap(), trust::PendingRequest::new().unwrap());
    let lost = enroll("a", &own).await.unwrap();
    let refused = enroll("a", &other).await.unwrap_err().to_string();
    assert!(refused.contains("replayed_token"), "{refused}");
    let second = enroll("b", &own).await.unwrap_err().to_string();
    assert!(second.contains("replayed_token"), "one token makes one node: {second}");
    let again = enroll("a", &own).await.unwrap();
    assert_eq!(again.node_id, lost.node_id);
    assert_ne!(again.pair.certificate, lost.pair.certificate);
    fleet.advance(Duration::from_secs(2 * 3600));
    let late = enroll("a", &own).await.unwrap_err().to_string();
    assert!(late.contains("replayed_token"), "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn used_token_that_was_revoked_gives_its_key_no_more_certificates() {
    let fleet = Fleet::new().await;
    let token = fleet.token_for(fleet.pool).await;
    let trust = trust::Trust::in_fingerprint(&token.ca_fingerprint).unwrap();
    let asked = trust::PendingRequest::new().unwrap();
    let enroll = async || {
        let inventory = agent::inventory("a", 1);
        ::agent::enroll::enroll(&token.node_url, token.secret.expose(), &trust, inventory, asked.clone()).await
    };
    enroll().await.unwrap();
    enroll().await.expect("the answer may have been lost");
    let path = EnrollmentTokenPath { enrollment_token_id: token.token.id };
    let revoke = async || {
        fleet.operator.call::<RevokeEnrollmentToken>(path.clone(), Default::default(), Default::default()).await
    };
    revoke().await.expect("a used token can be revoked");
    revoke().await.expect("twice as well");
    let refused = enroll().await.unwrap_err().to_string();
    assert!(refused.contains("revoked_token"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_intermediate_needs_no_new_enrollment() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 1).await;
    let control_plane = &fleet.world.server.control_plane;
    let year = Duration::from_secs(365 * 86_400);
    let before = ca::overview(&control_plane.db, &control_plane.keyring).await.unwrap();
    assert!(before.is_root_key_here);

    let mut root = None;
    let keep = |it: &Secret| {
        root = Some(it.clone());
        Ok(())
    };
    ca::export_root(&control_plane.db, &control_plane.keyring, true, keep).await.unwrap().unwrap();
    let refused = ca::rotate(&control_plane.db, &control_plane.keyring, None, year).await.unwrap_err();
    assert!(refused.to_string().contains("--root-key"), "{refused}");
    let wrong = rcgen::KeyPair::generate().unwrap().serialize_pem();
    assert!(ca::rotate(&control_plane.db, &control_plane.keyring, Some(wrong.into()), year).await.is_err());
    let after = ca::rotate(&control_plane.db, &control_plane.keyring, root, year).await.unwrap();
    assert_eq!((after.is_root_key_here, after.replaced), (false, before.replaced + 1));
    assert_eq!(after.root_fingerprint, before.root_fingerprint);

    let old_chain = agent.chain.clone();
    control_plane.fleet.ca.refresh(year).await.unwrap();
    agent.hang_up();
    assert!(agent.poll().await.unwrap().roots.is_some(), "the agent is told what to trust from now on");
    agent.renew().await.unwrap();
    let intermediate = |chain: &str| chain.rsplit("BEGIN").next().unwrap().to_owned();
    assert_ne!(intermediate(&agent.chain), intermediate(&old_chain), "the new one signs");
    agent.poll().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_one_authority_and_a_node_may_change_between_them() {
    let database = Arc::new(Database::new().await);
    let (first, second) = tokio::join!(
        Server::with(database.clone(), &Role::ALL, |_| ()),
        Server::with(database.clone(), &Role::ALL, |_| ())
    );
    assert_eq!(
        first.control_plane.fleet.ca.authority().root_fingerprint(),
        second.control_plane.fleet.ca.authority().root_fingerprint()
    );
    assert_eq!(first.control_plane.fleet.signer.keys(), second.control_plane.fleet.signer.keys());
    let fleet = Fleet::on(first).await;
    let mut agent = fleet.host("a", 1).await;
    agent.address = second.node_address.unwrap();
    agent.hang_up();
    // The first word to a replica is answered at once.
    agent.poll().await.unwrap();
    // Ordered at one replica, delivered by the other to the poll that waits there.
    let node = agent.node;
    let last_seen = async || fleet.node(node).await.node.last_seen_at;
    let before = last_seen().await;
    let (answer, task) = tokio::join!(agent.wait(20_000), async {
        eventually("the poll to be noted", || async { last_seen().await != before }).await;
        fleet.order(node, 1).await
    });
    let mut tasks = answer.unwrap().tasks;
    if tasks.is_empty() {
        // It was answered because something else changed.
        tasks = agent.wait(20_000).await.unwrap().tasks;
    }
    assert_eq!(agent.verified(&tasks)[0].id, task);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_binary_comes_with_its_checksum_and_our_signature() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("0.2.0/x86_64-unknown-linux-gnu");
    std::fs::create_dir_all(&place).unwrap();
    let binary = vec![7; 300_000];
    std::fs::write(place.join("gpuaas-node"), &binary).unwrap();
    let database = Arc::new(Database::new().await);
    let agents_dir = Some(folder.path().to_owned());
    let server = Server::with(database, &Role::ALL, |config| config.node.agents_dir = agents_dir).await;
    let fleet = Fleet::on(server).await;
    let agent = fleet.host("a", 1).await;
    let mut line = agent.connect().await.unwrap();
    let (version, target) = ("0.2.0", "x86_64-unknown-linux-gnu");
    let (status, headers, body) = line.get(&paths::agent(version, target)).await.unwrap();
    assert_eq!((status, body.len()), (200, binary.len()));
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let sha256 = header(paths::SHA256_HEADER);
    assert_eq!(sha256, sha256_hex(&body));
    let named = AgentBinary { version, target, sha256: &sha256 };
    assert!(named.is_signed_by(&agent.task_keys, &header(paths::SIGNATURE_HEADER)));
    for missing in [paths::agent("0.3.0", target), paths::agent("..", "x")] {
        assert_eq!(line.get(&missing).await.unwrap().0, 404, "{missing}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ca_is_looked_after_at_the_command_line() {
    let fleet = Fleet::new().await;
    let url = fleet.world.server.database.url();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("root.pem");
    let file = file.to_str().unwrap();
    let shown = process::run(&["ca", "show"], &url).await;
    let fingerprint = fleet.world.server.control_plane.fleet.ca.authority().root_fingerprint().to_owned();
    assert!(shown.is_success && shown.out.contains(&fingerprint), "{shown:?}");
    let exported = process::run(&["ca", "export-root", file, "--remove"], &url).await;
    assert!(exported.is_success, "{exported:?}");
    let again = process::run(&["ca", "export-root", file], &url).await;
    assert!(!again.is_success && again.err.contains("--root-key"), "{again:?}");
    let refused = process::run(&["ca", "rotate"], &url).await;
    assert!(!refused.is_success && refused.err.contains("--root-key"), "{refused:?}");
    let rotated = process::run(&["ca", "rotate", "--root-key", file], &url).await;
    assert!(rotated.is_success && rotated.out.contains("stored elsewhere"), "{rotated:?}");
}
