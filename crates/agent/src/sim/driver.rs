//! A host that exists only here: it remembers logins and GPUs as a real one would,
//! so that giving one GPU to two is noticed.

use super::sandbox::{Occupant, Sandbox};
use super::script::{Lie, Script};
use crate::driver::{Allocation, Driver, Failure, Readings, Result, Steps};
use crate::linux::is_login_name;
use crate::streams::Refused;
use crate::streams::shell::{Prepared, Program, Way};
use crate::{TARGET, VERSION, locked};
use protocol::agent_binary::sha256_hex;
use protocol::stream::refusals;
use protocol::{
    Done, DriverKind, Gpu, GpuRef, GpuSample, HealthEvent, HostSample, Inventory, Isolation, SelfTest, Task, Verb,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

const DRIVER_VERSION: &str = "580.00-sim";

/// What a pretended host looks like.
#[derive(Clone, Debug)]
pub struct SimHost {
    pub name: String,
    pub gpus: u32,
    pub model: String,
    pub gpu_memory_bytes: u64,
}

/// A login as the host knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimLogin {
    pub gpus: Vec<String>,
    pub keys: usize,
    pub stopped: bool,
}

pub struct SimDriver {
    host: SimHost,
    script: Mutex<Script>,
    logins: Mutex<BTreeMap<String, SimLogin>>,
    health: Mutex<Vec<HealthEvent>>,
    /// Of logins that had a stream.
    sandboxes: tokio::sync::Mutex<HashMap<String, Sandbox>>,
}

impl SimDriver {
    pub fn new(host: SimHost) -> Self {
        let script = Script { wipe_script: true, ..Script::default() };
        Self {
            host,
            script: Mutex::new(script),
            logins: Mutex::new(BTreeMap::new()),
            health: Mutex::new(Vec::new()),
            sandboxes: tokio::sync::Mutex::new(HashMap::new()),
        }
    }

    pub fn script(&self, change: impl FnOnce(&mut Script)) {
        change(&mut locked(&self.script));
    }

    pub fn logins(&self) -> BTreeMap<String, SimLogin> {
        locked(&self.logins).clone()
    }

    /// As a person does who sees to the host: nobody can log in any more.
    pub fn evict(&self) {
        locked(&self.logins).clear();
    }

    pub fn notice(&self, event: HealthEvent) {
        locked(&self.health).push(event);
    }

    async fn step(&self, steps: &mut Steps, name: &'static str) -> Result<()> {
        steps.enter(name);
        let (latency, failure) = {
            let mut script = locked(&self.script);
            (script.latency_of(name), scripted_failure(&mut script, name))
        };
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        failure.map_or(Ok(()), Err)
    }

    fn uuid(&self, index: u32, salt: &str) -> String {
        let hash = sha256_hex(format!("{}{index}{salt}", self.host.name).as_bytes());
        format!("GPU-{}-{}-{}-{}-{}", &hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..32])
    }

    fn gpu(&self, index: u32, salt: &str) -> Gpu {
        Gpu {
            index,
            uuid: self.uuid(index, salt),
            pci: format!("00000000:{:02x}:00.0", index + 16),
            model: self.host.model.clone(),
            memory_bytes: self.host.gpu_memory_bytes,
            numa: Some(index / self.host.gpus.div_ceil(2).max(1)),
            fabric: Some(format!("mlx5_{index}")),
            nvme: vec![format!("nvme{index}n1")],
            driver_version: Some(DRIVER_VERSION.into()),
            ecc: Some(true),
            mig: Some(false),
        }
    }

    fn gpus(&self) -> Vec<Gpu> {
        let lie = locked(&self.script).lie;
        let salt = if lie == Some(Lie::OtherUuids) { "other" } else { "" };
        let count = self.host.gpus + if let Some(Lie::MoreGpus(more)) = lie { more } else { 0 };
        let mut gpus: Vec<Gpu> = (0..count).map(|index| self.gpu(index, salt)).collect();
        if lie == Some(Lie::SlotTwice) {
            gpus.extend(gpus.first().cloned());
        }
        gpus
    }

    fn require(&self, wanted: &[GpuRef]) -> Result<()> {
        let there = |gpu: &GpuRef| (0..self.host.gpus).any(|index| self.uuid(index, "") == gpu.uuid);
        match wanted.iter().find(|gpu| !there(gpu)) {
            Some(gpu) => Err(Failure::lasting("missing_gpu", format!("{} is not on this host", gpu.uuid))),
            None => Ok(()),
        }
    }

    fn hand_over(&self, wanted: &Allocation<'_>) -> Result<Vec<String>> {
        let gpus: Vec<String> = wanted.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
        let mut logins = locked(&self.logins);
        let held = logins
            .iter()
            .find(|(user, login)| **user != wanted.login.user && login.gpus.iter().any(|uuid| gpus.contains(uuid)));
        if let Some((user, _)) = held {
            return Err(Failure::lasting("gpu_access", format!("a GPU is still held by {user}")));
        }
        let login = SimLogin { gpus: gpus.clone(), keys: wanted.login.keys.len(), stopped: false };
        logins.insert(wanted.login.user.clone(), login);
        Ok(gpus)
    }

    /// The login, if somebody may use it now.
    fn open_login(&self, user: &str) -> std::result::Result<SimLogin, Refused> {
        let login = locked(&self.logins).get(user).filter(|login| !login.stopped && is_login_name(user)).cloned();
        login
            .ok_or_else(|| Refused::new(refusals::NO_ALLOCATION, format!("{user} cannot log in on {}", self.host.name)))
    }

    /// Does something with the sandbox of a login; makes it where it is missing.
    async fn inside<T>(
        &self,
        user: &str,
        act: impl FnOnce(&Sandbox) -> std::result::Result<T, Refused>,
    ) -> std::result::Result<T, Refused> {
        let login = self.open_login(user)?;
        let mut sandboxes = self.sandboxes.lock().await;
        sandboxes.retain(|_, sandbox| sandbox.is_alive());
        if let Some(sandbox) = sandboxes.get(user) {
            return act(sandbox);
        }
        let all = (0..self.host.gpus).map(|index| self.gpu(index, ""));
        let occupant = Occupant {
            node: self.host.name.clone(),
            user: user.to_owned(),
            model: self.host.model.clone(),
            memory_mib: self.host.gpu_memory_bytes >> 20,
            gpus: all.filter(|gpu| login.gpus.contains(&gpu.uuid)).map(|gpu| (gpu.uuid, gpu.pci)).collect(),
        };
        let sandbox = Sandbox::make(&occupant).await?;
        act(sandboxes.entry(user.to_owned()).insert_entry(sandbox).get())
    }

    fn evidence(&self, steps: &mut Steps, killed: u32, gone: bool) -> Result<Done> {
        let gpu_processes_left = locked(&self.script).processes_left;
        let done = Done::Evidence {
            stages: steps.finish(),
            processes_killed: killed,
            home_removed: gone,
            user_removed: gone,
            gpu_processes_left,
        };
        Ok(done)
    }
}

fn scripted_failure(script: &mut Script, step: &str) -> Option<Failure> {
    let failing = script.failing.as_mut().filter(|failing| failing.step == step && failing.times > 0)?;
    failing.times -= 1;
    let (code, retryable) = (failing.code.clone(), failing.retryable);
    Some(Failure { code, detail: format!("the script fails {step}"), retryable })
}

impl Driver for SimDriver {
    async fn inventory(&self) -> Inventory {
        Inventory {
            hostname: self.host.name.clone(),
            machine_id: sha256_hex(self.host.name.as_bytes())[..32].to_owned(),
            os: "Simulated".into(),
            kernel: "0".into(),
            agent_version: VERSION.into(),
            agent_target: Some(TARGET.into()),
            driver: DriverKind::Sim,
            cpus: 16 * self.host.gpus.max(1),
            memory_bytes: u64::from(self.host.gpus.max(1)) << 37,
            gpus: self.gpus(),
            fabric_domain: Some("sim".into()),
            wipe_script: locked(&self.script).wipe_script,
            isolates_vms: true,
        }
    }

    async fn sample(&self) -> Option<Readings> {
        let busy: Vec<String> = locked(&self.logins).values().flat_map(|login| login.gpus.clone()).collect();
        let gpus = (0..self.host.gpus).map(|index| {
            let uuid = self.uuid(index, "");
            let load = if busy.contains(&uuid) { 90 } else { 0 };
            GpuSample {
                utilization_percent: load,
                memory_used_bytes: self.host.gpu_memory_bytes / 100 * u64::from(load),
                temperature_c: 30 + i32::try_from(load / 3).unwrap_or(0),
                power_mw: 70_000 + load * 6_000,
                uuid,
            }
        });
        let host = HostSample { cpu_percent: 5, memory_used_bytes: 1 << 33 };
        Some(Readings { host, gpus: gpus.collect() })
    }

    async fn health(&self) -> Vec<HealthEvent> {
        std::mem::take(&mut *locked(&self.health))
    }

    async fn ensure_allocation(&self, steps: &mut Steps, wanted: Allocation<'_>) -> Result<Done> {
        self.step(steps, "check_gpus").await?;
        self.require(wanted.gpus)?;
        self.step(steps, "create_user").await?;
        self.step(steps, "write_keys").await?;
        self.step(steps, "assign_gpus").await?;
        let mut gpus = self.hand_over(&wanted)?;
        self.step(steps, "self_test").await?;
        let (fails, lie) = {
            let script = locked(&self.script);
            (script.self_test_fails, script.lie)
        };
        if fails && wanted.self_test {
            return Err(Failure::lasting("self_test", "a GPU does not answer"));
        }
        if lie == Some(Lie::ForeignProof) {
            gpus = vec![self.uuid(0, "foreign")];
        }
        let self_test = SelfTest { passed: true, detail: format!("{} GPUs answer", gpus.len()) };
        Ok(Done::Proof { gpus, driver_version: Some(DRIVER_VERSION.into()), self_test, stages: steps.finish() })
    }

    async fn ensure_keys(&self, steps: &mut Steps, user: &str, keys: &[String]) -> Result<Done> {
        self.step(steps, "write_keys").await?;
        match locked(&self.logins).get_mut(user) {
            Some(login) => login.keys = keys.len(),
            None => return Err(Failure::lasting("no_user", format!("{user} does not exist"))),
        }
        Ok(Done::Keys { count: keys.len().try_into().unwrap_or(u32::MAX) })
    }

    async fn ensure_stopped(&self, steps: &mut Steps, user: &str, _: &[GpuRef]) -> Result<Done> {
        self.step(steps, "lock_login").await?;
        self.step(steps, "kill_processes").await?;
        if let Some(login) = locked(&self.logins).get_mut(user) {
            login.stopped = true;
        }
        if let Some(sandbox) = self.sandboxes.lock().await.get(user) {
            sandbox.quiet().await;
        }
        self.step(steps, "check_gpus").await?;
        self.evidence(steps, 1, false)
    }

    async fn ensure_gone(&self, steps: &mut Steps, user: &str, _: &[GpuRef], _: Isolation) -> Result<Done> {
        self.step(steps, "lock_login").await?;
        self.step(steps, "kill_processes").await?;
        self.step(steps, "remove_home").await?;
        self.step(steps, "remove_user").await?;
        let was = locked(&self.logins).remove(user);
        let sandbox = self.sandboxes.lock().await.remove(user);
        if let Some(sandbox) = sandbox {
            sandbox.end().await;
        }
        self.step(steps, "check_gpus").await?;
        self.evidence(steps, u32::from(was.is_some()), true)
    }

    async fn ensure_sanitized(&self, steps: &mut Steps) -> Result<Done> {
        self.step(steps, "wipe_script").await?;
        if !locked(&self.script).wipe_script {
            return Err(Failure::lasting("no_wipe_script", "no script is set in agent.toml"));
        }
        locked(&self.logins).clear();
        self.sandboxes.lock().await.clear();
        self.evidence(steps, 0, true)
    }

    async fn ensure_agent(&self, steps: &mut Steps, task: &Task) -> Result<Option<Done>> {
        steps.enter("compare");
        match &task.verb {
            Verb::EnsureAgent { version, .. } if version == VERSION => {
                Ok(Some(Done::Updated { version: version.clone() }))
            }
            _ => Err(Failure::lasting("unsupported", "a simulated agent cannot replace itself")),
        }
    }

    async fn prepare(&self, user: &str, program: Program<'_>) -> std::result::Result<Prepared, Refused> {
        self.inside(user, |sandbox| sandbox.prepare(program)).await
    }

    async fn connect(&self, user: &str, port: u16) -> std::result::Result<Way, Refused> {
        self.inside(user, |sandbox| sandbox.connect(port)).await
    }
}
