//! A host that exists only here: it remembers logins and GPUs as a real one would,
//! so that giving one GPU to two is noticed.

use super::sandbox::{Occupant, Sandbox};
use super::script::{FalseReport, Script};
use crate::host::{Host, Readings};
use crate::steps::{Failure, Result, Steps};
use crate::streams::Refused;
use crate::workloads::{Evidence, Workloads, is_login_name};
use crate::{TARGET, VERSION, locked};
use protocol::agent_binary::sha256_hex;
use protocol::stream::refusals;
use protocol::{Done, DriverKind, Gpu, GpuRef, GpuSample, HealthEvent, HostSample, Inventory, LoginSpec, Task, Verb};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

pub(super) const DRIVER_VERSION: &str = "580.00-sim";

/// What a pretended host looks like.
#[derive(Clone, Debug)]
pub struct SimHardware {
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

pub struct SimHost {
    hardware: SimHardware,
    script: Mutex<Script>,
    logins: Mutex<BTreeMap<String, SimLogin>>,
    health: Mutex<Vec<HealthEvent>>,
    /// Of logins that had a stream.
    sandboxes: tokio::sync::Mutex<HashMap<String, Sandbox>>,
}

impl SimHost {
    pub fn new(hardware: SimHardware) -> Self {
        let script = Script { wipe_script: true, ..Script::default() };
        Self {
            hardware,
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

    pub(super) async fn step(&self, steps: &mut Steps, name: &'static str) -> Result<()> {
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

    pub(super) fn uuid(&self, index: u32, salt: &str) -> String {
        let hash = sha256_hex(format!("{}{index}{salt}", self.hardware.name).as_bytes());
        format!("GPU-{}-{}-{}-{}-{}", &hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..32])
    }

    fn gpu(&self, index: u32, salt: &str) -> Gpu {
        Gpu {
            index,
            uuid: self.uuid(index, salt),
            pci: format!("00000000:{:02x}:00.0", index + 16),
            model: self.hardware.model.clone(),
            memory_bytes: self.hardware.gpu_memory_bytes,
            numa: Some(index / self.hardware.gpus.div_ceil(2).max(1)),
            fabric: Some(format!("mlx5_{index}")),
            nvme: vec![format!("nvme{index}n1")],
            driver_version: Some(DRIVER_VERSION.into()),
            ecc: Some(true),
            mig: Some(false),
        }
    }

    fn gpus(&self) -> Vec<Gpu> {
        let lie = locked(&self.script).lie;
        let salt = if lie == Some(FalseReport::OtherUuids) { "other" } else { "" };
        let count = self.hardware.gpus + if let Some(FalseReport::MoreGpus(more)) = lie { more } else { 0 };
        let mut gpus: Vec<Gpu> = (0..count).map(|index| self.gpu(index, salt)).collect();
        if lie == Some(FalseReport::SlotTwice) {
            gpus.extend(gpus.first().cloned());
        }
        gpus
    }

    pub(super) fn require(&self, wanted: &[GpuRef]) -> Result<()> {
        let there = |gpu: &GpuRef| (0..self.hardware.gpus).any(|index| self.uuid(index, "") == gpu.uuid);
        match wanted.iter().find(|gpu| !there(gpu)) {
            Some(gpu) => Err(Failure::lasting("missing_gpu", format!("{} is not on this host", gpu.uuid))),
            None => Ok(()),
        }
    }

    /// The login holds the GPUs, unless another does.
    pub(super) fn hand_over(&self, spec: &LoginSpec) -> Result<()> {
        let gpus: Vec<String> = spec.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
        let mut logins = locked(&self.logins);
        let held = logins
            .iter()
            .find(|(user, login)| **user != spec.login.user && login.gpus.iter().any(|uuid| gpus.contains(uuid)));
        if let Some((user, _)) = held {
            return Err(Failure::lasting("gpu_access", format!("a GPU is still in use by {user}")));
        }
        // Nobody enters a new one before it is opened.
        let stopped = logins.get(&spec.login.user).is_none_or(|login| login.stopped);
        let login = SimLogin { gpus, keys: spec.login.keys.len(), stopped };
        logins.insert(spec.login.user.clone(), login);
        Ok(())
    }

    /// Changes a login; false when there is none.
    pub(super) fn with_login(&self, user: &str, change: impl FnOnce(&mut SimLogin)) -> bool {
        locked(&self.logins).get_mut(user).map(change).is_some()
    }

    /// Ends what runs in the sandbox of a login; what is in its home stays.
    pub(super) async fn quiet(&self, user: &str) {
        if let Some(sandbox) = self.sandboxes.lock().await.get(user) {
            sandbox.quiet().await;
        }
    }

    /// The login and its sandbox are gone; whether there was one.
    pub(super) async fn remove(&self, user: &str) -> bool {
        let was = locked(&self.logins).remove(user);
        let sandbox = self.sandboxes.lock().await.remove(user);
        if let Some(sandbox) = sandbox {
            sandbox.end().await;
        }
        was.is_some()
    }

    /// Nothing is left of any login.
    pub(super) async fn wipe(&self) {
        locked(&self.logins).clear();
        self.sandboxes.lock().await.clear();
    }

    /// What the script says now.
    pub(super) fn scripted<T>(&self, read: impl FnOnce(&Script) -> T) -> T {
        read(&locked(&self.script))
    }

    /// The login, if somebody may use it now.
    fn open_login(&self, user: &str) -> std::result::Result<SimLogin, Refused> {
        let login = locked(&self.logins).get(user).filter(|login| !login.stopped && is_login_name(user)).cloned();
        login.ok_or_else(|| {
            Refused::new(refusals::NO_ALLOCATION, format!("{user} cannot log in on {}", self.hardware.name))
        })
    }

    /// Does something with the sandbox of a login; makes it where it is missing.
    pub(super) async fn inside<T>(
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
        let all = (0..self.hardware.gpus).map(|index| self.gpu(index, ""));
        let occupant = Occupant {
            node: self.hardware.name.clone(),
            user: user.to_owned(),
            model: self.hardware.model.clone(),
            memory_mib: self.hardware.gpu_memory_bytes >> 20,
            gpus: all.filter(|gpu| login.gpus.contains(&gpu.uuid)).map(|gpu| (gpu.uuid, gpu.pci)).collect(),
        };
        let sandbox = Sandbox::make(&occupant).await?;
        act(sandboxes.entry(user.to_owned()).insert_entry(sandbox).get())
    }
}

fn scripted_failure(script: &mut Script, step: &str) -> Option<Failure> {
    let failing = script.failing.as_mut().filter(|failing| failing.step == step && failing.times > 0)?;
    failing.times -= 1;
    let (code, retryable) = (failing.code.clone(), failing.retryable);
    Some(Failure { code, detail: format!("the script fails at {step}"), retryable })
}

impl Host for SimHost {
    async fn inventory(&self) -> Inventory {
        Inventory {
            hostname: self.hardware.name.clone(),
            machine_id: sha256_hex(self.hardware.name.as_bytes())[..32].to_owned(),
            os: "Simulated".into(),
            kernel: "0".into(),
            agent_version: VERSION.into(),
            agent_target: Some(TARGET.into()),
            driver: DriverKind::Sim,
            cpus: 16 * self.hardware.gpus.max(1),
            memory_bytes: u64::from(self.hardware.gpus.max(1)) << 37,
            gpus: self.gpus(),
            fabric_domain: Some("sim".into()),
            wipe_script: locked(&self.script).wipe_script,
            isolates_vms: true,
        }
    }

    async fn sample(&self) -> Option<Readings> {
        let busy: Vec<String> = locked(&self.logins).values().flat_map(|login| login.gpus.clone()).collect();
        let gpus = (0..self.hardware.gpus).map(|index| {
            let uuid = self.uuid(index, "");
            let load = if busy.contains(&uuid) { 90 } else { 0 };
            GpuSample {
                utilization_percent: load,
                memory_used_bytes: self.hardware.gpu_memory_bytes / 100 * u64::from(load),
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

    async fn sanitize(&self, steps: &mut Steps, workloads: &Workloads) -> Result<Done> {
        self.step(steps, "wipe_script").await?;
        if !self.scripted(|script| script.wipe_script) {
            return Err(Failure::lasting("no_wipe_script", "no script is set in agent.toml"));
        }
        workloads.wiped().await?;
        Ok(Evidence::of_nothing(self.scripted(|script| script.processes_left)).done(steps))
    }

    async fn update(&self, steps: &mut Steps, task: &Task) -> Result<Option<Done>> {
        steps.enter("compare");
        match &task.verb {
            Verb::EnsureAgent { version, .. } if version == VERSION => {
                Ok(Some(Done::Updated { version: version.clone() }))
            }
            _ => Err(Failure::lasting("unsupported", "a simulated agent cannot replace itself")),
        }
    }
}
