//! Control plane, gateways and a host with the driver `linux`, each a process.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use client::Client;
use contract::{
    Nothing,
    access_sessions::{AccessSession, AccessSessionFilter, AccessSessionState, ListAccessSessions},
    allocations::{Allocation, AllocationSpec},
    id::PoolId,
    members::{MemberPath, RemoveMember},
    nodes::{ListNodes, NodeState},
    organizations::OrganizationPath,
    pools::PoolProvider,
};
use testkit::{
    Door, Member, Plane, Plant, SharedName, Tenant,
    cloud::ask,
    fleet::{add_pool, issue},
    process::binary,
    server::eventually,
};

pub struct Site {
    pub plant: Plant,
    pub plane: Option<Plane>,
    pub door: Door,
    pub tenant: Tenant,
    host: tempfile::TempDir,
    pub agent: Option<tokio::process::Child>,
    pub active: Option<Allocation>,
    /// Allocations beside it.
    more: Vec<Allocation>,
    pool: PoolId,
}

impl Site {
    /// With an allocation that is active. Pages of `origins` may use the gateway.
    pub async fn new(policies: &[(&str, &str)], origins: &str) -> Site {
        Site::behind(None, policies, origins).await
    }

    /// Whose gateway has a name that others may share.
    pub async fn behind(shared: Option<&SharedName>, policies: &[(&str, &str)], origins: &str) -> Site {
        testkit::needs_root();
        let mut all = vec![("rate_limit.terminal_ticket_per_minute", "100000")];
        all.extend_from_slice(policies);
        let plant = Plant::new(1, &all).await;
        let plane = plant.plane().await;
        let operator = plant.operator_at(&plane);
        let pool = add_pool(&operator, "metal", PoolProvider::Enrolled).await;
        let door = Door::behind(shared, &operator, pool, "edge-a", &plane.url(), origins).await;
        if let Some(shared) = shared {
            shared.leads_to(door.port);
        }
        let tenant = plant.tenant_at(&plane);
        let host = folder();
        let more = Vec::new();
        let mut site = Site { plant, plane: Some(plane), door, tenant, host, agent: None, active: None, more, pool };
        site.enroll(pool).await;
        site.active = Some(site.tenant.get_one(ask(1)).await);
        site
    }

    /// A second gateway for the same hosts.
    pub async fn second_door(&self, shared: &SharedName) -> Door {
        let plane = self.plane.as_ref().expect("it runs");
        Door::behind(Some(shared), &self.operator(), self.pool, "edge-b", &plane.url(), "").await
    }

    pub fn operator(&self) -> Client {
        self.plant.operator_at(self.plane.as_ref().expect("it runs"))
    }

    pub fn client_of(&self, person: &Member) -> Client {
        self.plane.as_ref().expect("it runs").daemon.client(&person.token)
    }

    /// Somebody else of the organization.
    pub fn colleague(&self) -> Tenant {
        let owner = self.plant.colleague.clone();
        Tenant { client: self.client_of(&owner), owner, ..self.tenant.clone() }
    }

    /// The owner removes somebody from the organization.
    pub async fn removes(&self, who: &Member) {
        let path = MemberPath { organization_id: self.tenant.organization, user_id: who.id };
        self.tenant.client.call::<RemoveMember>(path, Nothing {}, Nothing {}).await.unwrap();
    }

    pub async fn sessions(&self, state: Option<AccessSessionState>) -> Vec<AccessSession> {
        let path = OrganizationPath { organization_id: self.tenant.organization };
        let filter = AccessSessionFilter { state, ..AccessSessionFilter::default() };
        self.tenant.client.call::<ListAccessSessions>(path, filter, Nothing {}).await.unwrap().items
    }

    /// One more allocation on the same host.
    pub async fn one_more(&mut self, spec: AllocationSpec) -> Allocation {
        let one = self.tenant.get_one(spec).await;
        self.more.push(one.clone());
        one
    }

    /// A folder of the host that everybody may read.
    pub fn shared(&self) -> &Path {
        self.host.path()
    }

    fn state(&self) -> PathBuf {
        self.host.path().join("state")
    }

    fn agent(&self, arguments: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(binary("gpuaas-node"));
        command.args(arguments).arg("--data-dir").arg(self.state());
        command.stdin(Stdio::null()).env("GPUAAS_NODE_LOG", "warn").kill_on_drop(true);
        command
    }

    async fn enroll(&mut self, pool: PoolId) {
        let plane = self.plane.as_ref().expect("it runs");
        let operator = self.plant.operator_at(plane);
        let token = issue(&operator, pool).await;
        let url = plane.url();
        let enroll =
            ["enroll", "--url", &url, "--token", token.secret.expose(), "--ca-fingerprint", &token.ca_fingerprint];
        let output = self.agent(&enroll).output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.run_agent();
        eventually("the node to be ready", || async {
            let nodes = operator.call::<ListNodes>(Default::default(), Default::default(), Default::default()).await;
            nodes.unwrap().items.iter().any(|it| it.state == NodeState::Ready)
        })
        .await;
    }

    pub fn run_agent(&mut self) {
        self.agent = Some(self.agent(&["run", "--heartbeat-ms", "500"]).spawn().unwrap());
    }

    pub fn allocation(&self) -> &Allocation {
        self.active.as_ref().expect("it is active")
    }

    /// The host's user of the allocation.
    pub fn uid(&self) -> u32 {
        let user = nix::unistd::User::from_name(&self.allocation().login).unwrap().expect("the user is there");
        user.uid.as_raw()
    }

    /// What runs as the allocation's user.
    pub fn processes(&self) -> Vec<String> {
        let listed = std::process::Command::new("ps")
            .args(["-o", "stat=,args=", "-U", &self.uid().to_string()])
            .output()
            .unwrap();
        let text = String::from_utf8(listed.stdout).unwrap();
        text.lines().filter(|it| !it.starts_with('Z')).map(str::to_owned).collect()
    }

    /// Gives everything back, so that nothing of it stays on this machine.
    pub async fn clear(mut self) {
        let all = self.more.iter().chain(&self.active);
        for id in all.map(|it| it.id) {
            self.tenant.gives_back(id).await;
        }
        (self.active, self.more) = (None, Vec::new());
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // Only what a failed test left behind.
        for active in self.more.iter().chain(&self.active) {
            let _ = std::process::Command::new("userdel").args(["--force", "--remove", &active.login]).output();
        }
    }
}

/// A folder that every user may look into, with what the agent is told.
fn folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["homes", "state"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    // Ids and keys of this test alone: others look for what is left in theirs.
    let first_uid = 1_000_000 + std::process::id() * 32;
    let settings = format!(
        "simulated_gpus = 2\nhome_root = {:?}\nkeys_root = {:?}\nfirst_uid = {first_uid}\nlast_uid = {}\n",
        folder.path().join("homes"),
        folder.path().join("keys"),
        first_uid + 31
    );
    std::fs::write(folder.path().join("state/agent.toml"), settings).unwrap();
    folder
}
