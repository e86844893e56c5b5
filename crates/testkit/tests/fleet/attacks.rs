//! What somebody can try who got hold of a node's certificate or of a token, or
//! who can write tasks into the database: hosts and the control plane refuse it,
//! and each refusal is counted.
//!
//! Forged tasks are laid into the database so that the real control plane
//! delivers them over the real protocol to agents that must not act. No more is
//! claimed of a thief of the database: who can write any row of it can add
//! people, roles and keys, and so ask for what is refused here in a proper way.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use contract::{allocations::AllocationState, id::NodeId};
use protocol::{
    Done, GpuRef, Login, LoginSpec, Outcome, PROTOCOL, PollAnswer, PollRequest, RenewAnswer, RenewRequest, Report,
    Shape, SignedTask, SigningKey, Task, Verb, WorkloadSpec, paths,
};
use rcgen::KeyPair;
use testkit::{
    Agent, Cloud,
    agent::{self, Identity, Line, csr},
    cloud::ask,
    server::eventually,
};

/// A counter as the metrics page shows it; nought while it was never counted.
async fn counted(cloud: &Cloud, name: &str) -> u64 {
    let page = reqwest::get(format!("{}/metrics", cloud.world().server.base)).await.unwrap().text().await.unwrap();
    let line = page.lines().find(|it| it.starts_with(name) && it[name.len()..].starts_with(' '));
    line.and_then(|it| it.rsplit(' ').next()).and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// Waits until a counter is past what it was.
async fn is_counted(cloud: &Cloud, attack: &str, name: &str, before: u64) {
    eventually(&format!("{attack} in {name}"), || async { counted(cloud, name).await > before }).await;
    println!("{attack}: refused, counted in {name}");
}

fn refused_by_agents(reason: &str) -> String {
    format!("gpuaas_agent_refused_tasks_total{{reason=\"{reason}\"}}")
}

fn refused_by_us(kind: &str) -> String {
    format!("gpuaas_node_refusals_total{{kind=\"{kind}\"}}")
}

/// Would give somebody a login with a GPU of the first host.
async fn wicked(cloud: &Cloud, node: NodeId) -> Task {
    let slot = cloud.fleet.node(node).await.slots.remove(0);
    let spec = LoginSpec {
        shape: Shape::GpuSlice,
        gpus: vec![GpuRef { uuid: slot.gpu_uuid, pci: slot.pci }],
        login: Login { user: "gffffffffffff".into(), keys: vec![] },
        self_test: true,
        limits: None,
    };
    let verb = Verb::EnsureAllocation { workload: WorkloadSpec::Login(spec) };
    let (now, epoch) =
        (cloud.world().server.control_plane.db.clock.estimate(), cloud.world().server.control_plane.db.epoch());
    let life = (now, now + Duration::from_secs(3600));
    Task::new(&node.to_string(), "allocation-forged", (i64::from(epoch), 1), life, verb)
}

/// Lays a task where the control plane finds it for a node.
async fn plant(cloud: &Cloud, node: NodeId, task: &Task, signed: &SignedTask) {
    let mut above = cloud.world().server.database.superuser().await;
    let bytes = |text: &str| BASE64_STANDARD.decode(text).unwrap();
    sqlx::query(
        "INSERT INTO tasks (id, node_id, kind, subject_id, version, verb, key_id, payload, signature, expires_at)
         VALUES ($1, $2, 'node', $2, $3, $4, $5, $6, $7, app_now() + interval '1 hour')",
    )
    .bind(task.id)
    .bind(node.uuid())
    .bind(task.version)
    .bind(task.verb.name())
    .bind(&signed.key_id)
    .bind(bytes(&signed.payload))
    .bind(bytes(&signed.signature))
    .execute(&mut above)
    .await
    .unwrap();
    cloud.world().server.control_plane.db.bell.ring([fleet::tasks::READY]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_foreign_late_or_changed_task_is_not_done() {
    let cloud = Cloud::new(2, 1).await;
    let (a, b) = (cloud.id_of(&cloud.hosts.node(0)), cloud.id_of(&cloud.hosts.node(1)));
    let good = wicked(&cloud, a).await;
    let signer = &cloud.world().server.control_plane.fleet.signer;
    let genuine = |task: &Task| signer.sign(task).unwrap();
    let fresh = || Task { id: uuid::Uuid::now_v7(), ..good.clone() };

    let other = SigningKey::from_seed(&SigningKey::random_seed()).unwrap();
    let by_other = SignedTask::sign(&good, &other).unwrap();
    let pretended = SignedTask { key_id: genuine(&good).key_id, ..by_other.clone() };
    let text = String::from_utf8(BASE64_STANDARD.decode(genuine(&good).payload).unwrap()).unwrap();
    let changed = text.replace("gffffffffffff", "gfffffffffffe");
    assert_ne!(changed, text);
    let tampered = SignedTask { payload: BASE64_STANDARD.encode(changed), ..genuine(&good) };
    let late = Task {
        issued_at: good.issued_at - Duration::from_secs(7200),
        expires_at: good.issued_at - Duration::from_secs(3600),
        ..fresh()
    };
    let foreign = Task { node: b.to_string(), ..fresh() };
    let older = Task { epoch: good.epoch - 1, ..fresh() };
    let unspoken = Task { protocol: PROTOCOL + 8, ..fresh() };
    let attacks = [
        ("a task signed by another key", "unknown_key", fresh(), by_other),
        ("a task signed by another key under our key's name", "bad_signature", fresh(), pretended),
        ("a task whose payload was changed", "bad_signature", fresh(), tampered),
        ("a task whose time is over", "expired", late.clone(), genuine(&late)),
        ("a task for another node", "foreign_node", foreign.clone(), genuine(&foreign)),
        ("a task of an epoch that is over", "stale", older.clone(), genuine(&older)),
        ("a task of a protocol that nobody speaks", "wrong_protocol", unspoken.clone(), genuine(&unspoken)),
    ];
    let count = attacks.len() as i64;
    for (attack, reason, task, signed) in attacks {
        let name = refused_by_agents(reason);
        let before = counted(&cloud, &name).await;
        plant(&cloud, a, &task, &signed).await;
        is_counted(&cloud, attack, &name, before).await;
    }
    assert_eq!(cloud.logins(), 0, "no agent acted on any of them");
    // The same task, genuine and in time, would have been done: the tests above can fail.
    let harmless = Task { resource: "allocation-genuine".into(), ..fresh() };
    plant(&cloud, a, &harmless, &genuine(&harmless)).await;
    eventually("the genuine one to be done", || async { cloud.logins() == 1 }).await;
    // Heartbeats, which carry the agent's own count, are written once a second.
    eventually("the agent's own count", || async {
        let mut above = cloud.world().server.database.superuser().await;
        let refused = sqlx::query_scalar("SELECT refused FROM node_heartbeats WHERE node_id = $1").bind(a.uuid());
        // Its first heartbeat may not be written yet.
        let refused: Option<i64> = refused.fetch_optional(&mut above).await.unwrap();
        refused.is_some_and(|it| it >= count)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_task_is_answered_and_not_done_again() {
    let cloud = Cloud::new(1, 1).await;
    let tenant = cloud.tenant().await;
    let active = tenant.get_one(ask(1)).await;
    tenant.gives_back(active.id).await;
    assert_eq!(cloud.logins(), 0);
    let name = "gpuaas_agent_repeated_tasks_total";
    let before = counted(&cloud, name).await;
    let mut above = cloud.world().server.database.superuser().await;
    let replay = "UPDATE tasks SET delivered_at = NULL, reported_at = NULL, outcome = NULL
                  WHERE subject_id = $1 AND verb = 'ensure_allocation'";
    let replayed = sqlx::query(replay).bind(active.id.uuid()).execute(&mut above).await.unwrap();
    assert_eq!(replayed.rows_affected(), 1);
    cloud.world().server.control_plane.db.bell.ring([fleet::tasks::READY]);
    is_counted(&cloud, "a replayed task", name, before).await;
    let answered = "SELECT count(*) FROM tasks WHERE subject_id = $1 AND outcome IS NULL";
    eventually("its stored report", || async { cloud.asked::<i64>(answered, active.id).await == 0 }).await;
    assert_eq!(cloud.logins(), 0, "the login that was removed did not come back");
    assert_eq!(tenant.get(active.id).await.state, AllocationState::Released);
    cloud.has_free(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_certificate_opens_one_node_and_no_other() {
    let cloud = Cloud::new(2, 1).await;
    let (a, b) = (cloud.hosts.node(0), cloud.hosts.node(1));
    let b_id = cloud.id_of(&b);
    cloud.silences(&b).await;
    let task = cloud.fleet.order(b_id, 1).await;

    let stolen = a.identity().unwrap();
    let key = KeyPair::from_pem(&stolen.pair.key).unwrap();
    let address = cloud.world().server.node_address.unwrap();
    let identity = Identity { chain: &stolen.pair.certificate, key: &key };
    let mut line = Line::open(address, &stolen.roots, Some(identity)).await.unwrap();
    let inventory_hash = agent::inventory("a", 1).hash();
    let mut poll = PollRequest {
        protocol: PROTOCOL,
        generation: 77,
        sequence: 1,
        agent_version: "0.1.0".into(),
        inventory_hash,
        inventory: None,
        health: vec![],
        samples: vec![],
        reports: vec![],
        refused: Default::default(),
        wait_ms: 700,
    };
    let answer: PollAnswer = line.send(paths::POLL, &poll).await.unwrap();
    assert!(answer.tasks.is_empty(), "the tasks of B are not for A");

    let name = refused_by_us("foreign_report");
    let before = counted(&cloud, &name).await;
    let outcome = Outcome::Done { result: Done::Keys { count: 0 } };
    let epoch = i64::from(cloud.world().server.control_plane.db.epoch());
    poll.reports = vec![Report { task, resource: "test-1".into(), epoch, version: 1, generation: 77, outcome }];
    let answer: PollAnswer = line.send(paths::POLL, &poll).await.unwrap();
    assert_eq!(answer.accepted, [task], "the thief is told nothing");
    is_counted(&cloud, "a stolen certificate of A that speaks for B", &name, before).await;
    assert_eq!(cloud.fleet.outcome(task).await, None, "what A says of B's task counts for nothing");

    let name = refused_by_us("foreign_name");
    let before = counted(&cloud, &name).await;
    let request = RenewRequest { protocol: PROTOCOL, csr: csr(&key, &[&fleet::ca::node_uri(b_id)]) };
    let refused = line.send::<RenewAnswer>(paths::RENEW, &request).await.unwrap_err();
    assert_eq!(refused.code(), "foreign_name");
    is_counted(&cloud, "a stolen certificate of A that asks for one of B", &name, before).await;

    let name = refused_by_us("replayed_token");
    let before = counted(&cloud, &name).await;
    let token = cloud.fleet.token().await;
    Agent::enroll(&cloud.world().server, &token, agent::inventory("c", 1)).await.unwrap();
    assert_eq!(cloud.fleet.enroll_err(&token, agent::inventory("d", 1)).await, "replayed_token");
    is_counted(&cloud, "a token that is used twice", &name, before).await;

    b.speak();
    eventually("B to do its own task", || async { cloud.fleet.outcome(task).await.is_some() }).await;
}
