//! The workloads of a pretended host: one for every kind that the protocol knows, for
//! every shape, so that one machine can show any fleet.

use super::host::{DRIVER_VERSION, SimHost};
use super::script::FalseReport;
use crate::steps::{Failure, Result, Steps};
use crate::streams::Refused;
use crate::streams::shell::{PortRoute, Prepared, Program};
use crate::workloads::{Evidence, Proof, Workload, Workloads};
use protocol::{GpuRef, Isolation, LoginRef, LoginSpec, SelfTest, Shape, WorkloadKind};
use std::sync::Arc;

/// What a pretended host runs. A kind without an arm here does not compile.
pub fn of_sim(host: &Arc<SimHost>) -> Workloads {
    let mut workloads = Workloads::default();
    for kind in WorkloadKind::ALL {
        match kind {
            WorkloadKind::Login => workloads.register(Shape::ALL, Arc::new(SimLogins { host: Arc::clone(host) })),
        }
    }
    workloads
}

/// Logins that the pretended host remembers; their shells run in sandboxes.
struct SimLogins {
    host: Arc<SimHost>,
}

impl Workload for SimLogins {
    type Spec = LoginSpec;

    async fn ensure(&self, steps: &mut Steps, spec: &LoginSpec) -> Result<()> {
        self.host.step(steps, "check_gpus").await?;
        self.host.require(&spec.gpus)?;
        for step in ["create_user", "write_keys", "assign_gpus"] {
            self.host.step(steps, step).await?;
        }
        self.host.hand_over(spec)
    }

    async fn prove(&self, steps: &mut Steps, spec: &LoginSpec) -> Result<Proof> {
        self.host.step(steps, "self_test").await?;
        let (fails, lie) = self.host.scripted(|script| (script.self_test_fails, script.lie));
        if fails && spec.self_test {
            return Err(Failure::lasting("self_test", "a GPU does not respond"));
        }
        let gpus = match lie {
            Some(FalseReport::ForeignProof) => vec![self.host.uuid(0, "foreign")],
            _ => spec.gpus.iter().map(|gpu| gpu.uuid.clone()).collect(),
        };
        let self_test = SelfTest { passed: true, detail: format!("{} GPUs respond", gpus.len()) };
        Ok(Proof { gpus, driver_version: Some(DRIVER_VERSION.into()), self_test })
    }

    async fn open(&self, _: &mut Steps, spec: &LoginSpec) -> Result<()> {
        self.host.with_login(&spec.login.user, |login| login.stopped = false);
        Ok(())
    }

    async fn close(&self, spec: &LoginSpec) {
        self.host.with_login(&spec.login.user, |login| login.stopped = true);
    }

    async fn keys(&self, steps: &mut Steps, workload: &LoginRef, keys: &[String]) -> Result<()> {
        self.host.step(steps, "write_keys").await?;
        if self.host.with_login(&workload.user, |login| login.keys = keys.len()) {
            return Ok(());
        }
        Err(Failure::lasting("no_user", format!("{} does not exist", workload.user)))
    }

    async fn stop(&self, steps: &mut Steps, workload: &LoginRef, _: &[GpuRef]) -> Result<Evidence> {
        for step in ["lock_login", "kill_processes"] {
            self.host.step(steps, step).await?;
        }
        self.host.with_login(&workload.user, |login| login.stopped = true);
        self.host.quiet(&workload.user).await;
        self.host.step(steps, "check_gpus").await?;
        let gpu_processes_left = self.host.scripted(|script| script.processes_left);
        Ok(Evidence { processes_killed: 1, home_removed: false, user_removed: false, gpu_processes_left })
    }

    async fn remove(&self, steps: &mut Steps, workload: &LoginRef, _: &[GpuRef], _: Isolation) -> Result<Evidence> {
        for step in ["lock_login", "kill_processes", "remove_home", "remove_user"] {
            self.host.step(steps, step).await?;
        }
        let was_there = self.host.remove(&workload.user).await;
        self.host.step(steps, "check_gpus").await?;
        let left = self.host.scripted(|script| script.processes_left);
        Ok(Evidence { processes_killed: u32::from(was_there), ..Evidence::of_nothing(left) })
    }

    async fn wiped(&self) -> Result<()> {
        self.host.wipe().await;
        Ok(())
    }

    async fn open_stream(&self, workload: &LoginRef, program: Program<'_>) -> std::result::Result<Prepared, Refused> {
        self.host.inside(&workload.user, |sandbox| sandbox.prepare(program)).await
    }

    async fn reach_port(&self, workload: &LoginRef, port: u16) -> std::result::Result<PortRoute, Refused> {
        self.host.inside(&workload.user, |sandbox| sandbox.connect(port)).await
    }
}
