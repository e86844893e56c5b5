//! Allocations from end to end: simulated hosts that enroll and speak the real
//! protocol, tenants who ask for their GPUs, and an operator who looks on.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use agent::sim::{self, NodeHandle, SimConfig, Tokens};
use client::{Client, ClientError};
use contract::{
    Nothing,
    allocations::{
        Allocation, AllocationPath, AllocationSpec, AllocationState, AnyAllocationPath, CreateAllocation,
        ExplainAllocation, Explanation, ForceReleaseAllocation, GetAllocation, ReleaseAllocation, StartAllocation,
        StopAllocation,
    },
    id::{AllocationId, NodeId, OrganizationId, PoolId, ProjectId, SkuId, UserId},
    nodes::Slot,
    organizations::Because,
    prices::{Price, PriceSpec, SetPrice},
    projects::ProjectPath,
    skus::{CreateSku, Shape, Sku, SkuPath, SkuSpec},
    ssh_keys::{AddSshKey, PROOF_NAMESPACE, SshKey, SshKeySpec, SshSignature},
};

use crate::{Fleet, Member, Server, World, fleet::issue_tokens, server::eventually};

/// The one SKU on offer: slices of 1, 2, 4 or 8 GPUs of any model.
pub const SKU: &str = "slice";

/// A server, a SKU, and hosts with GPUs.
pub struct Cloud {
    pub fleet: Fleet,
    pub sku: Sku,
    pub hosts: sim::Handle,
}

/// Somebody who asks for GPUs.
#[derive(Clone)]
pub struct Tenant {
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub owner: Member,
    pub client: Client,
}

/// What the tests ask for unless they say otherwise.
pub fn ask(gpus: u16) -> AllocationSpec {
    AllocationSpec {
        name: None,
        sku: SKU.parse().unwrap(),
        gpus: contract::Within::new(u64::from(gpus)).unwrap(),
        nodes: contract::Within::new(1).unwrap(),
        region: None,
        same_fabric: false,
        spread_group: None,
        lease_minutes: None,
        tags: Default::default(),
        ssh_keys: Some(vec![]),
    }
}

pub fn because() -> Because {
    Because { reason: "test".parse().unwrap() }
}

/// Puts `SKU` on offer, for nothing.
pub async fn add_sku(operator: &Client) -> Sku {
    add_slice(operator, SKU, &[1, 2, 4, 8]).await
}

/// Puts slices of any model on offer, for nothing: what has no price is not sold.
pub async fn add_slice(operator: &Client, name: &str, gpu_counts: &[u16]) -> Sku {
    let spec = SkuSpec {
        name: name.parse().unwrap(),
        shape: Shape::GpuSlice,
        gpu_model: None,
        gpu_counts: gpu_counts.to_vec(),
        numa_bound: false,
        limits: Default::default(),
    };
    let sku = operator.call::<CreateSku>(Nothing {}, Default::default(), spec).await.unwrap();
    set_price(operator, sku.id, 0).await;
    sku
}

/// A price of a GPU and hour, in millionths of a dollar, from now on.
pub fn price_of(price_micros: i64) -> PriceSpec {
    let currency = "USD".parse().unwrap();
    PriceSpec { unit: None, kind: None, currency, price_micros, per_units: None, effective_at: None }
}

/// What a GPU of a SKU costs an hour from now on, in millionths of a dollar.
pub async fn set_price(operator: &Client, sku_id: SkuId, price_micros: i64) -> Price {
    let spec = price_of(price_micros);
    operator.call::<SetPrice>(SkuPath { sku_id }, Default::default(), spec).await.unwrap()
}

const HEARTBEAT: Duration = Duration::from_millis(500);

/// Hosts of a pool that are in this process and connect to a node listener.
pub async fn hosts(fleet: &Fleet, pool: PoolId, url: String, nodes: usize, gpus: u32) -> sim::Handle {
    let tokens = Tokens::List(issue_tokens(&fleet.operator, pool, nodes).await);
    let roots = fleet.world.server.control_plane.fleet.ca.authority().roots_pem().to_owned();
    let mut config = SimConfig::new(url, roots, tokens).heartbeat(HEARTBEAT);
    (config.nodes, config.gpus_per_node, config.name) = (nodes, gpus, format!("sim-{}", pool.uuid().simple()));
    sim::Fleet::start(config).await.unwrap()
}

impl Cloud {
    pub async fn new(nodes: usize, gpus: u32) -> Cloud {
        Cloud::on(Server::start().await, nodes, gpus).await
    }

    pub async fn on(server: Server, nodes: usize, gpus: u32) -> Cloud {
        let fleet = Fleet::on(server).await;
        let url = format!("https://{}", fleet.world.server.node_address.unwrap());
        let hosts = hosts(&fleet, fleet.pool, url, nodes, gpus).await;
        let sku = add_sku(&fleet.operator).await;
        let cloud = Cloud { fleet, sku, hosts };
        cloud.has_free(nodes * gpus as usize).await;
        cloud
    }

    pub fn world(&self) -> &World {
        &self.fleet.world
    }

    pub async fn tenant(&self) -> Tenant {
        Tenant::new(self.world()).await
    }

    /// A public key of the tenant's owner.
    pub async fn add_key(&self, tenant: &Tenant, name: &str) -> SshKey {
        new_key(self.world(), tenant.owner.id, name).await
    }

    pub fn id_of(&self, host: &NodeHandle) -> NodeId {
        host.id().expect("it is enrolled").parse().unwrap()
    }

    /// Every slot of every host.
    pub async fn slots(&self) -> Vec<(NodeId, Slot)> {
        let mut all = Vec::new();
        for host in self.hosts.nodes() {
            let id = self.id_of(&host);
            all.extend(self.fleet.node(id).await.slots.into_iter().map(|it| (id, it)));
        }
        all
    }

    /// Waits until so many GPUs can be given out.
    pub async fn has_free(&self, count: usize) {
        eventually(&format!("{count} free GPUs"), || async {
            let mut free = 0;
            for host in self.hosts.nodes() {
                free += self.fleet.node(self.id_of(&host)).await.node.gpus_free as usize;
            }
            free == count
        })
        .await;
    }

    /// How many logins there are on all hosts together.
    pub fn logins(&self) -> usize {
        self.hosts.nodes().map(|it| it.logins().len()).sum()
    }

    /// Silences a host, and waits until what was under way cannot arrive any more:
    /// until its last heartbeat stays for longer than it takes to the next.
    pub async fn silences(&self, host: &NodeHandle) {
        host.silence();
        let node = self.id_of(host);
        let mut seen = self.fleet.node(node).await.node.last_seen_at;
        loop {
            tokio::time::sleep(HEARTBEAT * 2).await;
            match self.fleet.node(node).await.node.last_seen_at {
                now if now == seen => return,
                later => seen = later,
            }
        }
    }

    pub async fn force_release(&self, id: AllocationId) -> Result<Allocation, ClientError> {
        force_release(&self.fleet.operator, id).await
    }

    /// What a statement about one allocation answers.
    pub async fn asked<T>(&self, statement: &'static str, id: AllocationId) -> T
    where
        T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        let mut above = self.world().server.database.superuser().await;
        sqlx::query_scalar(statement).bind(id.uuid()).fetch_one(&mut above).await.unwrap()
    }

    /// What hosts said when they cleaned an allocation, one for each of its nodes.
    pub async fn evidence(&self, id: AllocationId) -> Vec<Option<serde_json::Value>> {
        let mut above = self.world().server.database.superuser().await;
        sqlx::query_scalar("SELECT evidence FROM allocation_parts WHERE allocation_id = $1")
            .bind(id.uuid())
            .fetch_all(&mut above)
            .await
            .unwrap()
    }
}

/// Registers the key of a file, whose private half is beside it, for a tenant.
pub async fn add_key(world: &World, tenant: &Tenant, name: &str, key: &Path) -> SshKey {
    register(world, tenant.owner.id, name, key).await
}

/// A key of somebody's own that the real program made, registered for them.
pub async fn new_key(world: &World, user: UserId, name: &str) -> SshKey {
    let folder = tempfile::tempdir().unwrap();
    register(world, user, name, &make_key(folder.path(), name)).await
}

/// A key that the real program made in a folder; the private half has no ending.
pub fn make_key(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(name);
    let mut make = Command::new("ssh-keygen");
    make.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(&file);
    assert!(make.status().expect("ssh-keygen is installed").success());
    file
}

/// What somebody sends to register the key of a file.
pub fn key_spec(user: UserId, name: &str, key: &Path) -> SshKeySpec {
    let public_key = std::fs::read_to_string(key.with_extension("pub")).unwrap().trim().parse().unwrap();
    SshKeySpec { name: name.parse().unwrap(), public_key, proof: prove(user, key) }
}

/// Somebody's id, signed by a key.
pub fn prove(user: UserId, key: &Path) -> SshSignature {
    let mut sign = Command::new("ssh-keygen");
    sign.args(["-q", "-Y", "sign", "-n", PROOF_NAMESPACE, "-f"]).arg(key);
    let mut child = sign.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(user.to_string().as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().parse().unwrap()
}

async fn register(world: &World, user: UserId, name: &str, key: &Path) -> SshKey {
    let spec = key_spec(user, name, key);
    world.signed_in(user).await.call::<AddSshKey>(Nothing {}, Default::default(), spec).await.unwrap()
}

pub async fn force_release(operator: &Client, id: AllocationId) -> Result<Allocation, ClientError> {
    let path = AnyAllocationPath { allocation_id: id };
    operator.call::<ForceReleaseAllocation>(path, Default::default(), because()).await
}

impl Tenant {
    pub async fn new(world: &World) -> Tenant {
        let (organization, owner) = world.organization().await;
        let project = world.project(organization).await;
        let client = world.as_(&owner);
        Tenant { organization, project, owner, client }
    }

    pub async fn try_ask(&self, spec: AllocationSpec) -> Result<Allocation, ClientError> {
        let path = ProjectPath { project_id: self.project };
        self.client.call::<CreateAllocation>(path, Default::default(), spec).await
    }

    pub async fn ask(&self, spec: AllocationSpec) -> AllocationId {
        self.try_ask(spec).await.unwrap().id
    }

    /// Asks and waits until it runs.
    pub async fn get_one(&self, spec: AllocationSpec) -> Allocation {
        let id = self.ask(spec).await;
        self.reaches(id, AllocationState::Active).await
    }

    fn at(&self, id: AllocationId) -> AllocationPath {
        AllocationPath { project_id: self.project, allocation_id: id }
    }

    pub async fn get(&self, id: AllocationId) -> Allocation {
        self.client.call::<GetAllocation>(self.at(id), Default::default(), Nothing {}).await.unwrap()
    }

    pub async fn why(&self, id: AllocationId) -> Explanation {
        self.client.call::<ExplainAllocation>(self.at(id), Default::default(), Nothing {}).await.unwrap()
    }

    pub async fn release(&self, id: AllocationId) -> Result<Allocation, ClientError> {
        self.client.call::<ReleaseAllocation>(self.at(id), Default::default(), Nothing {}).await
    }

    pub async fn stop(&self, id: AllocationId) -> Result<Allocation, ClientError> {
        self.client.call::<StopAllocation>(self.at(id), Default::default(), Nothing {}).await
    }

    pub async fn start(&self, id: AllocationId) -> Result<Allocation, ClientError> {
        self.client.call::<StartAllocation>(self.at(id), Default::default(), Nothing {}).await
    }

    /// Waits until it is in that state.
    pub async fn reaches(&self, id: AllocationId, state: AllocationState) -> Allocation {
        let mut looked = 0;
        loop {
            let seen = self.get(id).await;
            if seen.state == state {
                return seen;
            }
            looked += 1;
            assert!(looked < 6000, "waited two minutes for {id} to be {state}: {seen:?}, {:?}", self.why(id).await);
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Waits until it says what it waits for.
    pub async fn waits(&self, id: AllocationId) -> Allocation {
        eventually(&format!("{id} to wait"), || async {
            let seen = self.get(id).await;
            seen.state == AllocationState::Requested && seen.reason.is_some()
        })
        .await;
        self.get(id).await
    }

    pub async fn gives_back(&self, id: AllocationId) -> Allocation {
        self.release(id).await.unwrap();
        self.reaches(id, AllocationState::Released).await
    }
}
