//! One host, one control plane, a tenant and a rival for the same GPUs.

use std::{process::Stdio, time::Duration};

use client::{Client, Request};
use contract::{
    allocations::{AllocationPath, AllocationState, CreateAllocation, ReleaseAllocation},
    id::AllocationId,
    projects::ProjectPath,
};
use testkit::{
    Plane, Plant, Tenant,
    cloud::ask,
    process::{Daemon, binary},
    server::eventually,
};
use tokio::{process::Child, task::JoinHandle};

/// All the GPUs of the host: who has them leaves nothing to anybody else.
pub const GPUS: u16 = 2;

pub struct Stand {
    pub plant: Plant,
    pub plane: Option<Plane>,
    folder: tempfile::TempDir,
}

impl Stand {
    pub async fn new() -> Stand {
        // What a dead process held is taken over soon.
        let policies = [("work.lease_seconds", "5"), ("work.sweep_seconds", "5"), ("nodes.redeliver_seconds", "5")];
        let plant = Plant::new(1, &policies).await;
        let plane = plant.plane().await;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("roots.pem"), &plant.roots).unwrap();
        std::fs::write(folder.path().join("tokens"), plant.tokens.join("\n")).unwrap();
        Stand { plant, plane: Some(plane), folder }
    }

    pub fn plane(&self) -> &Plane {
        self.plane.as_ref().expect("a control plane runs")
    }

    pub fn tenant(&self) -> Tenant {
        self.plant.tenant_at(self.plane())
    }

    /// As `kill -9`; what it held stays behind.
    pub async fn kill_plane(&mut self) -> (u16, u16) {
        let Plane { daemon, port, node_port } = self.plane.take().expect("a control plane runs");
        Daemon::kill(daemon).await;
        (port, node_port)
    }

    pub async fn start_plane(&mut self, (port, node_port): (u16, u16)) {
        self.plane = Some(self.plant.plane_at(port, node_port).await);
    }

    /// The host's agent, which ends at a named point if one is given.
    pub fn start_agent(&self, crash_at: Option<&str>) -> Child {
        self.start_agent_with(&crash_at.map_or_else(Vec::new, |it| vec!["--crash-at", it]))
    }

    /// One that takes its time for every step.
    pub fn start_agent_slow(&self) -> Child {
        self.start_agent_with(&["--latency-ms", "400"])
    }

    fn start_agent_with(&self, more: &[&str]) -> Child {
        let mut command = tokio::process::Command::new(binary("gpuaas-node"));
        command.args(["sim", "--url", &self.plane().url(), "--nodes", "1", "--gpus", &GPUS.to_string()]);
        command.args(["--heartbeat-ms", "500"]).env("GPUAAS_NODE_LOG", "error");
        command.arg("--ca-file").arg(self.folder.path().join("roots.pem"));
        command.arg("--tokens").arg(self.folder.path().join("tokens"));
        command.arg("--data-dir").arg(self.folder.path());
        command.args(more);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap()
    }

    pub async fn has_free(&self, count: i64) {
        // Ready: its agent has kept who it is, for which it spent its only token.
        let free = "SELECT count(*) FROM slots JOIN nodes ON nodes.id = slots.node_id
                    WHERE nodes.state = 'ready' AND slots.condition = 'clean' AND slots.held_by IS NULL";
        eventually("free GPUs", || async { self.plant.count(free).await == count }).await;
    }

    /// Asks as somebody who does not give up before they have an answer.
    pub fn asks(&self) -> JoinHandle<AllocationId> {
        let tenant = self.tenant();
        let path = ProjectPath { project_id: tenant.project };
        tokio::spawn(persist::<CreateAllocation, _>(tenant.client, path, ask(GPUS), |it| it.id))
    }

    pub fn releases(&self, id: AllocationId) -> JoinHandle<AllocationId> {
        let tenant = self.tenant();
        let path = AllocationPath { project_id: tenant.project, allocation_id: id };
        tokio::spawn(persist::<ReleaseAllocation, _>(tenant.client, path, Default::default(), |it| it.id))
    }

    /// From here on nothing is killed any more: it ends, and then the rival gets its GPUs.
    pub async fn ends_well(&self, id: AllocationId) {
        let tenant = self.tenant();
        let active = tenant.reaches(id, AllocationState::Active).await;
        let rival = tenant.ask(ask(GPUS)).await;
        tenant.waits(rival).await;
        assert_eq!(active.parts[0].gpus.len(), usize::from(GPUS));
        tenant.release(id).await.unwrap();
        self.hands_over(id, rival).await;
    }

    /// Waits until one is released and the other has its GPUs, and releases that too.
    pub async fn hands_over(&self, id: AllocationId, rival: AllocationId) {
        let tenant = self.tenant();
        let released = tenant.reaches(id, AllocationState::Released).await;
        let next = tenant.reaches(rival, AllocationState::Active).await;
        assert!(released.ended_at <= next.active_at, "nobody gets what another still holds");
        tenant.gives_back(rival).await;
        self.has_free(i64::from(GPUS)).await;
    }

    /// Nothing is stuck, nothing was doubled, everything was cleaned by evidence.
    pub async fn is_sound(&self) -> String {
        let count = async |statement| self.plant.count(statement).await;
        let stuck = count("SELECT count(*) FROM allocations WHERE state NOT IN ('active', 'released', 'failed')").await;
        let doubled = count(
            "SELECT count(*) FROM allocation_parts a JOIN allocation_parts b ON a.allocation_id < b.allocation_id AND a.slots && b.slots
             JOIN allocations x ON x.id = a.allocation_id JOIN allocations y ON y.id = b.allocation_id
             WHERE x.active_at IS NOT NULL AND y.active_at IS NOT NULL
               AND tstzrange(x.active_at, x.ended_at) && tstzrange(y.active_at, y.ended_at)",
        );
        let unclean = count("SELECT count(*) FROM slots WHERE condition <> 'clean' OR held_by IS NOT NULL").await;
        let unproven = count(
            "SELECT count(*) FROM allocation_parts p JOIN allocations a ON a.id = p.allocation_id
             WHERE a.state IN ('released', 'failed') AND p.evidence IS NULL",
        );
        let all = count("SELECT count(*) FROM allocations").await;
        let (doubled, unproven) = (doubled.await, unproven.await);
        assert_eq!(
            (stuck, doubled, unclean, unproven),
            (0, 0, 0, 0),
            "stuck, doubled, unclean slots, without evidence"
        );
        format!("{all} allocations, 0 stuck, 0 doubled, every slot clean by evidence")
    }
}

/// Sends one request until it is answered, always under the same key.
async fn persist<E, T>(client: Client, path: E::Path, body: E::Body, pick: impl Fn(E::Response) -> T) -> T
where
    E: contract::Endpoint,
    E::Query: Default,
{
    let request = Request::<E>::new(path, Default::default(), body);
    for _ in 0..200 {
        match client.send(&request).await {
            Ok(answer) => return pick(answer),
            Err(client::ClientError::Problem(problem)) if problem.status < 500 => panic!("{problem}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    panic!("no answer to a request that was repeated for long");
}
