//! A fleet for tests: a server, an operator, a pool, and hosts that enroll into
//! it when the test says so.

use std::time::Duration;

use client::Client;
use contract::{
    Nothing,
    enrollment_tokens::{CreateEnrollmentToken, EnrollmentTokenSpec, NewEnrollmentToken},
    id::{NodeId, PoolId},
    nodes::{DrainNode, DrainSpec, GetNode, NodeDetail, NodeHealth, NodePath, NodeState},
    pools::{CreatePool, Isolation, PoolProvider, PoolSpec},
    regions::{CreateRegion, RegionSpec},
};
use fleet::tasks::{self, Order};
use kernel::{Access, Tx, clock};
use protocol::{Inventory, TaskId, Verb};

use crate::{Agent, Server, World, agent, server::eventually};

/// A world with an operator and a pool of simulated hosts.
pub struct Fleet {
    pub world: World,
    pub operator: Client,
    pub pool: PoolId,
}

impl Fleet {
    pub async fn new() -> Fleet {
        Fleet::on(Server::start().await).await
    }

    pub async fn on(server: Server) -> Fleet {
        let world = World::on(server).await;
        let operator = world.as_(&world.operator().await);
        let pool = add_pool(&operator, "sim-a", PoolProvider::Sim).await;
        Fleet { world, operator, pool }
    }

    pub async fn token_for(&self, pool_id: PoolId) -> NewEnrollmentToken {
        issue(&self.operator, pool_id).await
    }

    pub async fn token(&self) -> String {
        self.token_for(self.pool).await.secret.expose().to_owned()
    }

    /// A host that enrolled and said what it is made of.
    pub async fn host(&self, name: &str, gpus: u32) -> Agent {
        let mut agent =
            Agent::enroll(&self.world.server, &self.token().await, agent::inventory(name, gpus)).await.unwrap();
        agent.introduce().await.unwrap();
        agent
    }

    /// The code with which an enrollment is refused.
    pub async fn enroll_err(&self, token: &str, inventory: Inventory) -> String {
        let refused = Agent::enroll(&self.world.server, token, inventory).await.err().expect("it is refused");
        refused.code().to_owned()
    }

    pub async fn node(&self, id: NodeId) -> NodeDetail {
        let path = NodePath { node_id: id };
        self.operator.call::<GetNode>(path, Default::default(), Default::default()).await.unwrap()
    }

    pub async fn state(&self, id: NodeId) -> (String, String) {
        let node = self.node(id).await.node;
        (node.state.as_str().to_owned(), node.health.as_str().to_owned())
    }

    /// Waits until the node is so.
    pub async fn is(&self, id: NodeId, state: NodeState, health: NodeHealth) {
        eventually(&format!("{state} and {health}"), || async {
            self.state(id).await == (state.to_string(), health.to_string())
        })
        .await;
    }

    /// Empties a node at once.
    pub async fn drain(&self, id: NodeId) {
        let spec = DrainSpec { deadline_seconds: contract::Within::new(0).unwrap(), reason: "test".parse().unwrap() };
        self.operator.call::<DrainNode>(NodePath { node_id: id }, Default::default(), spec).await.unwrap();
    }

    pub async fn tx(&self) -> Tx {
        Tx::system(&self.world.server.control_plane.db, "test", Access::Write).await.unwrap()
    }

    /// Orders something harmless.
    pub async fn order(&self, node: NodeId, version: i64) -> TaskId {
        let order = Order {
            node,
            kind: "node",
            subject: node.uuid(),
            resource: format!("test-{version}"),
            version,
            verb: Verb::EnsureSanitized {},
            lifetime: Duration::from_secs(86_400),
        };
        let mut tx = self.tx().await;
        let now = clock::now(&mut tx).await.unwrap();
        let id = tasks::order(&mut tx, &self.world.server.control_plane.fleet.signer, now, order).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    /// What was reported about a task.
    pub async fn outcome(&self, task: TaskId) -> Option<serde_json::Value> {
        let mut connection = self.world.server.database.superuser().await;
        sqlx::query_scalar("SELECT outcome FROM tasks WHERE id = $1")
            .bind(task)
            .fetch_one(&mut connection)
            .await
            .unwrap()
    }

    pub fn advance(&self, by: Duration) {
        self.world.server.control_plane.db.clock.advance(by);
    }
}

pub async fn issue(operator: &Client, pool_id: PoolId) -> NewEnrollmentToken {
    let spec = EnrollmentTokenSpec { pool_id, lifetime_minutes: None };
    operator.call::<CreateEnrollmentToken>(Nothing {}, Default::default(), spec).await.unwrap()
}

/// The secrets of so many tokens.
pub async fn issue_tokens(operator: &Client, pool: PoolId, count: usize) -> Vec<String> {
    let mut secrets = Vec::with_capacity(count);
    for _ in 0..count {
        secrets.push(issue(operator, pool).await.secret.expose().to_owned());
    }
    secrets
}

/// A pool in a region of its own.
pub async fn add_pool(operator: &Client, name: &str, provider: PoolProvider) -> PoolId {
    let region = RegionSpec { name: format!("region-{name}").parse().unwrap() };
    let region = operator.call::<CreateRegion>(Nothing {}, Default::default(), region).await.unwrap();
    let spec = PoolSpec {
        name: name.parse().unwrap(),
        region_id: region.id,
        provider,
        isolation: Isolation::UserRevoke,
        isolates_vms: false,
    };
    operator.call::<CreatePool>(Nothing {}, Default::default(), spec).await.unwrap().id
}
