//! What can run on a host for an allocation: one folder and one implementation of
//! [`Workload`] each. The engine and the streams know the registry only.

pub(crate) mod login;
mod registered;
mod registry;

pub use login::Login;
pub use login::users::{LOGINS, MARK, is_login_name};
pub use registry::Workloads;

use crate::linux::LinuxHost;
use crate::state::{StateError, StateFolder};
use crate::steps::{Result, Steps};
use crate::streams::Refused;
use crate::streams::shell::{PortRoute, Prepared, Program};
use protocol::{Done, GpuRef, Isolation, SelfTest, Shape, Specification};
use std::sync::Arc;

/// How tasks and streams name what the workload made.
pub type ReferenceOf<W> = <<W as Workload>::Spec as Specification>::Reference;

/// One kind of thing that a host can run. Every method ensures a state: it may be
/// called again after it was cut short at any step.
pub trait Workload: Send + Sync + 'static {
    type Spec: Specification;

    /// Everything that the specification names is there, and nobody can enter it yet
    /// who could not before.
    fn ensure(&self, steps: &mut Steps, spec: &Self::Spec) -> impl Future<Output = Result<()>> + Send;
    /// What shows that it is there and works. Called after `ensure`.
    fn prove(&self, steps: &mut Steps, spec: &Self::Spec) -> impl Future<Output = Result<Proof>> + Send;
    /// Lets in those whom the specification names. Called when it was proved.
    fn open(&self, steps: &mut Steps, spec: &Self::Spec) -> impl Future<Output = Result<()>> + Send;
    /// Lets nobody in: proving or opening it failed. What cannot be done is logged.
    fn close(&self, spec: &Self::Spec) -> impl Future<Output = ()> + Send;
    /// Exactly these keys open it from now on.
    fn keys(
        &self,
        steps: &mut Steps,
        workload: &ReferenceOf<Self>,
        keys: &[String],
    ) -> impl Future<Output = Result<()>> + Send;
    /// Nobody can enter it and nothing of it runs; its files stay.
    fn stop(
        &self,
        steps: &mut Steps,
        workload: &ReferenceOf<Self>,
        gpus: &[GpuRef],
    ) -> impl Future<Output = Result<Evidence>> + Send;
    /// Nothing is left of it. Succeeds where there was nothing.
    fn remove(
        &self,
        steps: &mut Steps,
        workload: &ReferenceOf<Self>,
        gpus: &[GpuRef],
        isolation: Isolation,
    ) -> impl Future<Output = Result<Evidence>> + Send;
    /// The host was wiped: fails with what is left of any, and forgets the rest.
    fn wiped(&self) -> impl Future<Output = Result<()>> + Send;

    /// How a stream runs something inside, which must be open.
    fn open_stream(
        &self,
        workload: &ReferenceOf<Self>,
        program: Program<'_>,
    ) -> impl Future<Output = std::result::Result<Prepared, Refused>> + Send;
    /// How a stream reaches a port on which the workload listens.
    fn reach_port(
        &self,
        workload: &ReferenceOf<Self>,
        port: u16,
    ) -> impl Future<Output = std::result::Result<PortRoute, Refused>> + Send;

    /// After a start of the agent: what was there before is as it was. Where the agent
    /// may configure the host, it is set up too; the answer says what could not be done.
    fn start(&self, configures_host: bool) -> impl Future<Output = Vec<String>> + Send {
        let _ = configures_host;
        async { Vec::new() }
    }
}

/// What shows that a workload is there and works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// UUIDs.
    pub gpus: Vec<String>,
    pub driver_version: Option<String>,
    pub self_test: SelfTest,
}

/// What was seen when a workload or a host was cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub processes_killed: u32,
    /// Looked for and not found, as is the user.
    pub home_removed: bool,
    pub user_removed: bool,
    pub gpu_processes_left: u32,
}

impl Proof {
    pub fn done(self, steps: &mut Steps) -> Done {
        let Self { gpus, driver_version, self_test } = self;
        Done::Proof { gpus, driver_version, self_test, stages: steps.finish() }
    }
}

impl Evidence {
    /// There was nothing to clean, or nothing of it was found.
    pub fn of_nothing(gpu_processes_left: u32) -> Self {
        Self { processes_killed: 0, home_removed: true, user_removed: true, gpu_processes_left }
    }

    pub fn done(self, steps: &mut Steps) -> Done {
        Done::Evidence {
            stages: steps.finish(),
            processes_killed: self.processes_killed,
            home_removed: self.home_removed,
            user_removed: self.user_removed,
            gpu_processes_left: self.gpu_processes_left,
        }
    }
}

/// What a Linux host runs: a line for each workload. With a folder, what they hold
/// outlives the agent.
pub fn of_linux(host: &Arc<LinuxHost>, folder: Option<StateFolder>) -> std::result::Result<Workloads, StateError> {
    let mut workloads = Workloads::default();
    workloads.register(&[Shape::Baremetal, Shape::GpuSlice], Arc::new(Login::open(host, folder)?));
    Ok(workloads)
}
