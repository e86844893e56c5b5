//! The node API, spoken to by a scripted agent over real TLS: who gets in, who
//! does not, and what becomes of what hosts say.

use std::time::Duration;

use contract::{
    enrollment_tokens::{EnrollmentTokenPath, RevokeEnrollmentToken},
    nodes::{
        AttestSlot, CordonNode, NodeDetail, NodeHealth, NodePath, NodeState, RestoreNode, RetireNode, RetireSpec,
        SlotCondition, SlotPath,
    },
    organizations::Because,
    pools::PoolProvider,
};
use protocol::{
    Done, HealthEvent, HealthKind, Inventory, Outcome, PROTOCOL, PollRequest, RenewAnswer, RenewRequest, Task, paths,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};
use testkit::{
    Agent, Fleet,
    agent::{self, Identity, Line, csr},
    fleet::add_pool,
    server::eventually,
};

fn because() -> Because {
    Because { reason: "test".parse().unwrap() }
}

fn done() -> Outcome {
    Outcome::Done { result: Done::Keys { count: 0 } }
}

fn counted(kind: &str) -> f64 {
    counter(&format!("gpuaas_node_refusals_total{{kind=\"{kind}\"}}"))
}

fn counter(name: &str) -> f64 {
    let page = platform::telemetry::metrics_page();
    let line = page.lines().find(|it| it.starts_with(name));
    line.and_then(|it| it.rsplit(' ').next()).and_then(|it| it.parse().ok()).unwrap_or(0.0)
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(flavor = "multi_thread")]
async fn a_host_enrolls_and_is_ready_once_it_has_spoken() {
    let fleet = Fleet::new().await;
    let token = fleet.token_for(fleet.pool).await;
    assert_eq!(token.ca_fingerprint, fleet.world.server.control_plane.fleet.ca.authority().root_fingerprint());
    let server = &fleet.world.server;
    let mut agent = Agent::enroll(server, token.secret.expose(), agent::inventory("gpu-01.hall", 2)).await.unwrap();
    assert_eq!(fleet.state(agent.node).await, ("enrolling".into(), "unknown".into()));
    let answer = agent.introduce().await.unwrap();
    assert!(!answer.want_inventory && !answer.renew);
    assert_eq!(answer.task_keys.unwrap(), agent.task_keys, "told once to every new agent");
    assert!(answer.roots.unwrap().contains("BEGIN CERTIFICATE"));
    let NodeDetail { node, slots, .. } = fleet.node(agent.node).await;
    assert_eq!((node.state, node.health), (NodeState::Ready.into(), NodeHealth::Ok.into()));
    assert_eq!((node.name.as_str(), node.gpus, node.gpus_free), ("gpu-01.hall", 2, 2));
    assert_eq!((slots[1].numa, slots[1].fabric.as_deref()), (Some(0), Some("mlx5_1")));
    assert!(agent.poll().await.unwrap().task_keys.is_none());
    eventually("the heartbeat", || async { fleet.node(agent.node).await.node.last_seen_at.is_some() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_spent_once_and_only_while_it_works() {
    let fleet = Fleet::new().await;
    let host = |name: &str| agent::inventory(name, 1);
    let before = (counted("replayed_token"), counted("wrong_token"));
    let token = fleet.token().await;
    Agent::enroll(&fleet.world.server, &token, host("a")).await.unwrap();
    assert_eq!(fleet.enroll_err(&token, host("b")).await, "replayed_token");
    assert_eq!(fleet.enroll_err("gpn_nonsense", host("b")).await, "wrong_token");
    assert!(counted("replayed_token") > before.0 && counted("wrong_token") > before.1);
    let revoked = fleet.token_for(fleet.pool).await;
    let path = EnrollmentTokenPath { enrollment_token_id: revoked.token.id };
    fleet.operator.call::<RevokeEnrollmentToken>(path, Default::default(), Default::default()).await.unwrap();
    assert_eq!(fleet.enroll_err(revoked.secret.expose(), host("b")).await, "revoked_token");
    let late = fleet.token().await;
    fleet.advance(2 * HOUR);
    assert_eq!(fleet.enroll_err(&late, host("b")).await, "expired_token");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_enrollments_of_one_address_leave_a_bounded_number_of_audit_entries() {
    let fleet = Fleet::new().await;
    testkit::world::set_policy(&fleet.operator, "audit.refusals_per_minute", "3").await;
    fleet.world.server.control_plane.policies.refresh(&fleet.world.server.control_plane.db).await.unwrap();
    let started = std::time::Instant::now();
    for _ in 0..30 {
        assert_eq!(fleet.enroll_err("gpn_nonsense", agent::inventory("a", 1)).await, "wrong_token");
    }
    let entries = "SELECT count(*) FROM audit WHERE action = 'node.enroll' AND outcome = 'refused'";
    let mut above = fleet.world.server.database.superuser().await;
    let entries: i64 = sqlx::query_scalar(entries).fetch_one(&mut above).await.unwrap();
    let minutes = i64::try_from(started.elapsed().as_secs() / 60).unwrap() + 2;
    assert!((1..=3 * minutes).contains(&entries), "30 refused enrollments left {entries} entries");
}

#[tokio::test(flavor = "multi_thread")]
async fn enrollment_token_admits_one_of_two_hosts() {
    let fleet = Fleet::new().await;
    let (token, server) = (fleet.token().await, &fleet.world.server);
    let enroll = |name: &'static str| Agent::enroll(server, &token, agent::inventory(name, 1));
    let (a, b) = tokio::join!(enroll("a"), enroll("b"));
    assert!(a.is_ok() ^ b.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_another_pool_lets_no_host_in_that_does_not_belong_there() {
    let fleet = Fleet::new().await;
    let metal = add_pool(&fleet.operator, "metal", PoolProvider::Enrolled).await;
    let second = add_pool(&fleet.operator, "sim-b", PoolProvider::Sim).await;
    let token = fleet.token_for(metal).await;
    let host = agent::inventory("a", 1);
    assert_eq!(fleet.enroll_err(token.secret.expose(), host.clone()).await, "wrong_pool");
    fleet.host("a", 1).await;
    let token = fleet.token_for(second).await;
    assert_eq!(fleet.enroll_err(token.secret.expose(), host).await, "impossible_inventory", "its GPUs are known");
    let again = fleet.token().await;
    assert_eq!(fleet.enroll_err(&again, agent::inventory("a", 1)).await, "name_taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_a_foreign_name_is_refused_and_spends_nothing() {
    let fleet = Fleet::new().await;
    let (mut a, b) = (fleet.host("a", 1).await, fleet.host("b", 1).await);
    let before = counted("foreign_name");
    let token = fleet.token().await;
    let foreign = fleet::ca::node_uri(b.node);
    let key = KeyPair::generate().unwrap();
    let request = csr(&key, &[&foreign]);
    let refused = Agent::enroll_with(&fleet.world.server, &token, agent::inventory("c", 1), key, request).await;
    assert_eq!(refused.err().unwrap().code(), "foreign_name");
    let request = RenewRequest { protocol: PROTOCOL, csr: csr(&a.key, &[&foreign]) };
    let refused = a.connect().await.unwrap().send::<RenewAnswer>(paths::RENEW, &request).await;
    assert_eq!(refused.unwrap_err().code(), "foreign_name");
    let request = RenewRequest { protocol: PROTOCOL, csr: "nonsense".into() };
    let refused = a.connect().await.unwrap().send::<RenewAnswer>(paths::RENEW, &request).await;
    assert_eq!(refused.unwrap_err().code(), "bad_csr");
    assert!(counted("foreign_name") >= before + 2.0);
    Agent::enroll(&fleet.world.server, &token, agent::inventory("c", 1)).await.unwrap();
    a.renew().await.unwrap();
    a.poll().await.unwrap();
}

/// A stolen certificate is good for its own node and for nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn the_certificate_of_one_node_does_not_open_another() {
    let fleet = Fleet::new().await;
    let (mut a, mut b) = (fleet.host("a", 1).await, fleet.host("b", 1).await);
    let task = fleet.order(b.node, 1).await;
    assert!(a.wait(700).await.unwrap().tasks.is_empty(), "the tasks of B are not for A");
    let tasks = b.wait(5_000).await.unwrap().tasks;
    let [Task { id, .. }] = b.verified(&tasks)[..] else { panic!("{tasks:?}") };
    assert_eq!(id, task);
    let of_b = b.verified(&tasks).remove(0);
    let answer = a.report(&of_b, done()).await.unwrap();
    assert_eq!(answer.accepted, [task], "A need not say it again");
    assert_eq!(fleet.outcome(task).await, None, "and it counts for nothing");
    b.report(&of_b, done()).await.unwrap();
    assert!(fleet.outcome(task).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_authority_or_none_gets_nobody_in() {
    let fleet = Fleet::new().await;
    let mut b = fleet.host("b", 1).await;
    let before = counted("foreign_certificate");
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_key = KeyPair::generate().unwrap();
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate().unwrap();
    let mut leaf = CertificateParams::default();
    leaf.subject_alt_names = vec![SanType::URI(fleet::ca::node_uri(b.node).as_str().try_into().unwrap())];
    let chain = leaf.signed_by(&key, &issuer).unwrap().pem();
    let line = Line::open(b.address, &b.roots, Some(Identity { chain: &chain, key: &key })).await;
    let poll = b.quiet();
    // TLS 1.3 lets the client believe that it is connected until it reads.
    if let Ok(mut line) = line {
        let refused = line.send::<protocol::PollAnswer>(paths::POLL, &poll).await;
        assert_eq!(refused.unwrap_err().code(), "broken");
    }
    assert!(counted("foreign_certificate") > before);
    let server = &fleet.world.server;
    let roots = server.control_plane.fleet.ca.authority().roots_pem().to_owned();
    let mut stranger = Line::open(server.node_address.unwrap(), &roots, None).await.unwrap();
    let refused = stranger.send::<protocol::PollAnswer>(paths::POLL, &poll).await;
    assert_eq!(refused.unwrap_err().code(), "no_certificate");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_certificate_may_only_renew_and_only_for_a_while() {
    let fleet = Fleet::new().await;
    let (mut a, mut b) = (fleet.host("a", 1).await, fleet.host("b", 1).await);
    fleet.advance(17 * HOUR);
    assert!(a.poll().await.unwrap().renew, "after two thirds it should renew");
    fleet.advance(8 * HOUR);
    assert_eq!(a.poll().await.unwrap_err().code(), "certificate_expired");
    assert_eq!(a.connect().await.unwrap().get(&paths::agent("1", "x")).await.unwrap().0, 403);
    a.renew().await.unwrap();
    assert!(!a.poll().await.unwrap().renew);
    fleet.advance(200 * HOUR);
    assert_eq!(b.renew().await.unwrap_err().code(), "certificate_expired", "the window is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_certificate_is_cut_off_and_stays_out() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 1).await;
    let (path, before) = (NodePath { node_id: agent.node }, counted("certificate_revoked"));
    let operator = &fleet.operator;
    testkit::world::set_policy(operator, "nodes.poll_seconds", "50").await;
    fleet.world.server.control_plane.policies.refresh(&fleet.world.server.control_plane.db).await.unwrap();
    operator.call::<CordonNode>(path.clone(), Default::default(), because()).await.unwrap();
    let retire = async {
        let spec = RetireSpec { reason: because().reason, lost: false };
        operator.call::<RetireNode>(path.clone(), Default::default(), spec).await.unwrap();
    };
    // It waits as long as a poll may: one that is not cut off is answered in the end.
    let (cut, ()) = tokio::join!(agent.wait(50_000), retire);
    assert_eq!(cut.unwrap_err().code(), "broken", "the poll that waited was cut off");
    assert_eq!(agent.poll().await.unwrap_err().code(), "certificate_revoked");
    assert_eq!(agent.renew().await.unwrap_err().code(), "certificate_revoked");
    assert!(counted("certificate_revoked") >= before + 2.0);
    let back = Agent::enroll(&fleet.world.server, &fleet.token().await, agent::inventory("a", 1)).await.unwrap();
    assert_ne!(back.node, agent.node, "a retired node does not come back; the host may");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_lies_is_marked_and_nothing_of_it_is_believed() {
    let fleet = Fleet::new().await;
    let before = counted("impossible_inventory");
    for (name, lie) in [
        ("more", (|it: &mut Inventory| it.gpus = agent::inventory("more", 3).gpus) as fn(&mut Inventory)),
        ("other", |it| it.gpus[0].uuid = "GPU-other".into()),
        ("twice", |it| it.gpus[1].uuid = it.gpus[0].uuid.clone()),
        ("pci", |it| it.gpus[1].pci = it.gpus[0].pci.clone()),
        ("moved", |it| it.gpus[1].pci = "0000:77:00.0".into()),
        ("stolen", |it| it.gpus[1].uuid = "GPU-more-0".into()),
    ] {
        let mut agent = fleet.host(name, 2).await;
        let (honest, slots) = (agent.inventory.clone(), fleet.node(agent.node).await.slots);
        lie(&mut agent.inventory);
        agent.introduce().await.unwrap();
        let seen = fleet.node(agent.node).await;
        assert_eq!(seen.node.health, NodeHealth::Lying, "{name}");
        assert!(seen.node.health_reason.is_some(), "{name}");
        assert_eq!(seen.slots, slots, "{name}: nothing was taken over");
        agent.inventory = honest;
        agent.introduce().await.unwrap();
        assert_eq!(fleet.state(agent.node).await, ("ready".into(), "lying".into()), "{name}: a person must look");
    }
    assert!(counted("impossible_inventory") >= before + 6.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn hardware_is_changed_in_maintenance() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 2).await;
    agent.inventory.gpus[1].uuid = "GPU-new".into();
    agent.introduce().await.unwrap();
    fleet.is(agent.node, NodeState::Ready, NodeHealth::Lying).await;
    fleet.drain(agent.node).await;
    fleet.is(agent.node, NodeState::Maintenance, NodeHealth::Lying).await;
    agent.introduce().await.unwrap();
    fleet.is(agent.node, NodeState::Maintenance, NodeHealth::Ok).await;
    let path = NodePath { node_id: agent.node };
    fleet.operator.call::<RestoreNode>(path, Default::default(), because()).await.unwrap();
    let NodeDetail { node, slots, .. } = fleet.node(agent.node).await;
    assert_eq!((node.state, node.gpus, slots.len()), (NodeState::Ready.into(), 2, 3));
    let gone = slots.iter().find(|it| it.gpu_uuid == "GPU-a-1").unwrap();
    assert_eq!(gone.condition, SlotCondition::Missing);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gpu_that_is_gone_is_missing_and_back_as_it_was() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 2).await;
    let whole = agent.inventory.clone();
    agent.inventory.gpus.remove(1);
    agent.introduce().await.unwrap();
    let seen = fleet.node(agent.node).await;
    assert_eq!((seen.node.gpus, seen.node.health), (1, NodeHealth::Ok.into()));
    assert_eq!(seen.slots[1].condition, SlotCondition::Missing);
    agent.inventory = whole;
    agent.introduce().await.unwrap();
    assert_eq!(fleet.node(agent.node).await.slots[1].condition, SlotCondition::Clean);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_inventory_is_asked_for() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 2).await;
    assert!(!agent.poll().await.unwrap().want_inventory);
    agent.inventory.kernel = "6.2".into();
    assert!(agent.poll().await.unwrap().want_inventory);
    agent.introduce().await.unwrap();
    assert!(!agent.poll().await.unwrap().want_inventory);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_reaches_a_poll_that_waits_and_its_report_is_stored_once() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 1).await;
    let node = agent.node;
    let (answer, task) = tokio::join!(agent.wait(20_000), fleet.order(node, 1));
    let tasks = agent.verified(&answer.unwrap().tasks);
    assert_eq!(tasks.iter().map(|it| it.id).collect::<Vec<_>>(), [task]);
    let answer = agent.report(&tasks[0], done()).await.unwrap();
    assert_eq!(answer.accepted, [task]);
    let kept = fleet.outcome(task).await;
    let other = Outcome::Failed { step: "x".into(), code: "x".into(), detail: "x".into(), retryable: false };
    assert_eq!(agent.report(&tasks[0], other).await.unwrap().accepted, [task]);
    assert_eq!(fleet.outcome(task).await, kept, "the first word counts");
    assert!(agent.poll().await.unwrap().tasks.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn task_ordered_while_a_host_was_offline_is_found_at_once() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 1).await;
    agent.hang_up();
    let task = fleet.order(agent.node, 1).await;
    let tasks = agent.poll().await.unwrap().tasks;
    assert_eq!(agent.verified(&tasks)[0].id, task);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_task_is_delivered_again_after_a_restart_and_when_its_report_is_overdue() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 1).await;
    let task = fleet.order(agent.node, 1).await;
    let first = agent.wait(20_000).await.unwrap().tasks;
    assert_eq!(agent.verified(&first)[0].id, task);
    assert!(agent.poll().await.unwrap().tasks.is_empty(), "not twice to one agent");
    agent.restart();
    let again = agent.introduce().await.unwrap().tasks;
    assert_eq!(again, first, "the same task to the next one");
    fleet.advance(2 * Duration::from_secs(60));
    let overdue = agent.wait(20_000).await.unwrap().tasks;
    assert_eq!(overdue, first, "and again when nothing is heard of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_host_is_marked_and_its_next_word_clears_it() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 1).await;
    eventually("the heartbeat", || async { fleet.node(agent.node).await.node.last_seen_at.is_some() }).await;
    fleet.advance(Duration::from_secs(60));
    fleet.is(agent.node, NodeState::Ready, NodeHealth::Silent).await;
    agent.poll().await.unwrap();
    fleet.is(agent.node, NodeState::Ready, NodeHealth::Ok).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_gpu_is_withdrawn_until_a_person_attests_it() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 2).await;
    let event = |kind, fatal| HealthEvent {
        gpu: Some("GPU-a-1".into()),
        kind,
        code: Some(79),
        detail: "fell off the bus".into(),
        fatal,
    };
    agent.complain(vec![event(HealthKind::Xid, false)]).await.unwrap();
    assert_eq!(fleet.state(agent.node).await.1, "ok", "what is not fatal is only counted");
    agent.complain(vec![event(HealthKind::Xid, true)]).await.unwrap();
    let NodeDetail { node, slots, .. } = fleet.node(agent.node).await;
    assert_eq!((node.health, node.gpus_free), (NodeHealth::Degraded.into(), 1));
    assert_eq!(slots[1].condition, SlotCondition::Quarantined);
    assert!(slots[1].condition_reason.as_ref().unwrap().contains("xid 79: fell off the bus"));
    agent.complain(vec![event(HealthKind::Recovered, false)]).await.unwrap();
    assert_eq!(fleet.state(agent.node).await.1, "ok");
    let path = SlotPath { node_id: agent.node, slot_id: slots[1].id };
    let attested = fleet.operator.call::<AttestSlot>(path.clone(), Default::default(), because()).await.unwrap();
    assert_eq!(attested.condition, SlotCondition::Clean);
    let again = fleet.operator.call::<AttestSlot>(path, Default::default(), because()).await;
    assert!(again.is_err(), "a clean slot needs no attestation");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_tasks_of_agents_are_added_up() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 1).await;
    let name = "gpuaas_agent_refused_tasks_total{reason=\"bad_signature\"}";
    let before = counter(name);
    agent.refused.bad_signature = 3;
    agent.poll().await.unwrap();
    agent.poll().await.unwrap();
    agent.refused.bad_signature = 5;
    agent.poll().await.unwrap();
    assert!(counter(name) >= before + 5.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_poll_is_refused() {
    let fleet = Fleet::new().await;
    let mut agent = fleet.host("a", 1).await;
    let mut line = agent.connect().await.unwrap();
    let mut send = async |bytes: Vec<u8>| {
        let refused = line.send_bytes::<protocol::PollAnswer>(paths::POLL, bytes).await.unwrap_err();
        refused.code().to_owned()
    };
    assert_eq!(send(b"{".to_vec()).await, "malformed");
    let later = PollRequest { protocol: 9, ..agent.quiet() };
    assert_eq!(send(serde_json::to_vec(&later).unwrap()).await, "wrong_protocol");
    let null = PollRequest { agent_version: "a\0b".into(), ..agent.quiet() };
    assert_eq!(send(serde_json::to_vec(&null).unwrap()).await, "malformed");
    let (status, ..) = line.get("/node/v1/other").await.unwrap();
    assert_eq!(status, 404);
    let mut line = agent.connect().await.unwrap();
    let huge = line.send_bytes::<protocol::PollAnswer>(paths::POLL, vec![b' '; 2 << 20]).await.unwrap_err();
    assert!(["too_large", "broken"].contains(&huge.code()), "{huge:?}");
}
