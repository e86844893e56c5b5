//! Replacing agents: the real program is given a real new one, or one that does
//! not reach us and is rolled back; and a pool is updated a few nodes at a time.

use std::{path::Path, sync::Arc};

use contract::{
    Code, Nothing,
    agents::{AgentUpdateSpec, AgentUpdateState, ListAgents, StopPoolUpdate, UpdateNode, UpdatePool},
    id::NodeId,
    nodes::{Node, NodePath},
    organizations::Because,
    policies::{PlatformPolicyPath, PolicyValue, SetPlatformPolicy},
    pools::PoolPath,
};
use gpuaasd::roles::Role;
use protocol::{Done, Outcome, Task, Verb, agent_binary::AgentBinary};
use testkit::{Agent, Database, Fleet, Server, host::Host, process::binary, server::eventually};

const TARGET: &str = agent::TARGET;
const OLD: &str = agent::VERSION;

/// Agents that are served, in a folder of their own.
struct Shelf(tempfile::TempDir);

impl Shelf {
    fn new() -> Shelf {
        Shelf(tempfile::tempdir().unwrap())
    }

    fn put(&self, version: &str, target: &str, bytes: &[u8]) {
        let place = self.0.path().join(version).join(target);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("gpuaas-node"), bytes).unwrap();
    }

    async fn fleet(&self, roles: &[Role]) -> Fleet {
        let folder = Some(self.0.path().to_owned());
        let server = Server::with(Arc::new(Database::new().await), roles, |it| it.node.agents_dir = folder).await;
        Fleet::on(server).await
    }
}

fn spec(version: Option<&str>) -> AgentUpdateSpec {
    AgentUpdateSpec { version: version.map(|it| it.parse().unwrap()), reason: "test".parse().unwrap() }
}

async fn order(fleet: &Fleet, node_id: NodeId, version: Option<&str>) -> Result<Node, client::ClientError> {
    fleet.operator.call::<UpdateNode>(NodePath { node_id }, Nothing {}, spec(version)).await
}

/// The same program under another version of the same length.
fn another_version(version: &str) -> Vec<u8> {
    assert_eq!(version.len(), OLD.len());
    let mut bytes = std::fs::read(binary("gpuaas-node")).unwrap();
    let places: Vec<usize> =
        bytes.windows(OLD.len()).enumerate().filter(|(_, it)| *it == OLD.as_bytes()).map(|(at, _)| at).collect();
    for at in places {
        bytes[at..at + OLD.len()].copy_from_slice(version.as_bytes());
    }
    bytes
}

/// A new agent that starts, and finds nobody where it looks for us.
fn lost_version(version: &str, identity: &Path, port: u16) -> Vec<u8> {
    let (real, file) = (binary("gpuaas-node").display().to_string(), identity.display().to_string());
    format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo gpuaas-node {version} && exit 0\n\
         sed -i 's/:{port}\"/:9\"/' {file}\n\
         (sleep 2; sed -i 's/:9\"/:{port}\"/' {file}) </dev/null >/dev/null 2>&1 &\n\
         exec {real} \"$@\"\n"
    )
    .into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_replaces_the_agent_of_a_real_host_and_one_that_is_lost_comes_back() {
    let shelf = Shelf::new();
    let fleet = shelf.fleet(&Role::ALL).await;
    let host = Host::enrolled(&fleet, &["--prove-within-ms", "4000"]).await;
    let new = "0.1.9";
    shelf.put(new, TARGET, &another_version(new));
    shelf.put("9.9.9", "riscv64-unknown-linux-gnu", b"for others");

    let refused = order(&fleet, host.node, Some("7.7.7")).await.unwrap_err();
    assert!(refused.is(Code::InvalidValue) && refused.to_string().contains("gpuaas agents list"), "{refused}");
    assert!(order(&fleet, host.node, Some("9.9.9")).await.unwrap_err().is(Code::InvalidValue), "of another platform");

    // The newest that fits, without being named.
    let ordered = order(&fleet, host.node, None).await.unwrap();
    assert_eq!((ordered.agent_version.as_deref(), ordered.agent_wanted.as_deref()), (Some(OLD), Some(new)));
    eventually("the new agent", || async {
        let node = fleet.node(host.node).await.node;
        node.agent_update == Some(AgentUpdateState::Updated.into()) && node.agent_version.as_deref() == Some(new)
    })
    .await;
    println!("updated: {:?}", fleet.node(host.node).await.node);
    let again = order(&fleet, host.node, Some(new)).await.unwrap();
    assert_eq!(again.agent_update, Some(AgentUpdateState::Updated.into()), "what is so is not ordered again");

    let port = fleet.world.server.node_address.unwrap().port();
    shelf.put("9.9.9", TARGET, &lost_version("9.9.9", &host.state().join("identity.json"), port));
    order(&fleet, host.node, Some("9.9.9")).await.unwrap();
    eventually("the old agent to be back", || async {
        let node = fleet.node(host.node).await.node;
        node.agent_update == Some(AgentUpdateState::RolledBack.into())
    })
    .await;
    let node = fleet.node(host.node).await.node;
    println!("rolled back: {node:?}");
    assert_eq!((node.agent_version.as_deref(), node.agent_wanted.as_deref()), (Some(new), Some("9.9.9")));
    assert!(node.agent_update_reason.unwrap().contains("did not reach the control plane"));
    assert!(std::fs::read(host.binary()).unwrap().starts_with(b"\x7fELF"), "a script is no longer in place");
}

/// What a scripted host was told about its agent.
async fn told(host: &mut Agent) -> Task {
    loop {
        // The first word of a poll may be answered at once, with nothing.
        let tasks = host.wait(20_000).await.unwrap().tasks;
        if let Some(task) = host.verified(&tasks).into_iter().find(|it| matches!(it.verb, Verb::EnsureAgent { .. })) {
            return task;
        }
    }
}

async fn at_once(fleet: &Fleet, most: u64) {
    let path = PlatformPolicyPath { key: "nodes.update_at_once".into() };
    let body = PolicyValue { value: most.to_string() };
    fleet.operator.call::<SetPlatformPolicy>(path, Nothing {}, body).await.unwrap();
    fleet.world.server.control_plane.policies.refresh(&fleet.world.server.control_plane.db).await.unwrap();
}

async fn states(fleet: &Fleet, hosts: &[Agent]) -> Vec<String> {
    let mut states = Vec::new();
    for host in hosts {
        let node = fleet.node(host.node).await.node;
        states.push(node.agent_update.map(|it| it.as_str().to_owned()).unwrap_or_default());
    }
    states
}

fn count(states: &[String], state: AgentUpdateState) -> usize {
    states.iter().filter(|it| **it == state.to_string()).count()
}

/// Which hosts are in that state.
fn places(states: &[String], state: &str) -> Vec<usize> {
    (0..states.len()).filter(|at| states[*at] == state).collect()
}

/// A pool of scripted hosts in which work happens only when the test settles it.
async fn pool_of(shelf: &Shelf, hosts: u32) -> (Fleet, Vec<Agent>) {
    shelf.put("0.2.0", "x86_64-unknown-linux-gnu", b"new");
    let fleet = shelf.fleet(&[Role::Api, Role::Nodes]).await;
    let mut all = Vec::new();
    for at in 0..hosts {
        all.push(fleet.host(&format!("h{at}"), 1).await);
    }
    (fleet, all)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_is_updated_a_few_at_a_time_and_stops_when_one_is_rolled_back() {
    let shelf = Shelf::new();
    let (fleet, mut hosts) = pool_of(&shelf, 5).await;
    at_once(&fleet, 2).await;
    let path = || PoolPath { pool_id: fleet.pool };
    let ordered = fleet.operator.call::<UpdatePool>(path(), Nothing {}, spec(None)).await.unwrap();
    assert_eq!((ordered.version.as_str(), ordered.nodes), ("0.2.0", 5));
    let again = fleet.operator.call::<UpdatePool>(path(), Nothing {}, spec(Some("0.2.0"))).await.unwrap();
    assert_eq!(again.nodes, 0, "what is under way is not ordered again");
    fleet.world.server.settle().await;
    // Which of those that wait begin is not told: the visits race for the places.
    let begun = places(&states(&fleet, &hosts).await, "updating");
    let [first, second] = begun[..] else { panic!("two at a time: {begun:?}") };

    let task = told(&mut hosts[first]).await;
    let Verb::EnsureAgent { version, target, sha256, signature } = &task.verb else { unreachable!() };
    assert!(AgentBinary { version, target, sha256 }.is_signed_by(&hosts[first].task_keys, signature));
    hosts[first].report(&task, Outcome::Done { result: Done::Updated { version: "0.2.0".into() } }).await.unwrap();
    fleet.world.server.settle().await;
    let one_later = states(&fleet, &hosts).await;
    let updating = places(&one_later, "updating");
    assert_eq!((&*one_later[first], updating.len(), updating.contains(&second)), ("updated", 2, true), "{one_later:?}");
    let third = updating.into_iter().find(|it| *it != second).unwrap();

    let task = told(&mut hosts[second]).await;
    let (step, code, detail) = ("prove".into(), "rolled_back".into(), "it did not reach the control plane".into());
    hosts[second].report(&task, Outcome::Failed { step, code, detail, retryable: false }).await.unwrap();
    fleet.world.server.settle().await;
    let after = states(&fleet, &hosts).await;
    println!("after one was rolled back: {after:?}");
    let told = [first, second, third].map(|it| after[it].clone());
    assert_eq!(told, ["updated", "rolled_back", "updating"], "what was told goes on");
    assert_eq!(places(&after, "stopped").len(), 2, "what was not told is stopped: {after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_that_have_not_begun_can_be_called_off_or_replaced() {
    let shelf = Shelf::new();
    let (fleet, hosts) = pool_of(&shelf, 3).await;
    shelf.put("0.3.0", "x86_64-unknown-linux-gnu", b"newer");
    at_once(&fleet, 0).await;
    let path = || PoolPath { pool_id: fleet.pool };
    fleet.operator.call::<UpdatePool>(path(), Nothing {}, spec(Some("0.2.0"))).await.unwrap();
    fleet.world.server.settle().await;
    assert_eq!(count(&states(&fleet, &hosts).await, AgentUpdateState::Waiting), 3, "with none at once, they wait");
    let other = fleet.operator.call::<UpdatePool>(path(), Nothing {}, spec(Some("0.3.0"))).await.unwrap_err();
    assert!(other.is(Code::Conflict), "{other}");
    // One node may be given something else instead.
    let one = order(&fleet, hosts[0].node, Some("0.3.0")).await.unwrap();
    assert_eq!(
        (one.agent_wanted.as_deref(), one.agent_update),
        (Some("0.3.0"), Some(AgentUpdateState::Waiting.into()))
    );
    let because = Because { reason: "test".parse().unwrap() };
    fleet.operator.call::<StopPoolUpdate>(path(), Nothing {}, because).await.unwrap();
    fleet.world.server.settle().await;
    assert_eq!(count(&states(&fleet, &hosts).await, AgentUpdateState::Stopped), 3);
    let missing = PoolPath { pool_id: contract::id::PoolId::generate() };
    assert!(fleet.operator.call::<UpdatePool>(missing, Nothing {}, spec(None)).await.unwrap_err().is(Code::NotFound));
    let listed = fleet.operator.call::<ListAgents>(Nothing {}, Nothing {}, Nothing {}).await.unwrap().items;
    let versions: Vec<&str> = listed.iter().map(|it| it.version.as_str()).collect();
    assert_eq!(versions, ["0.3.0", "0.2.0"]);
}
