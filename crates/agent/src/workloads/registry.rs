//! The workloads of one host, by kind and shape. What is not registered is refused.

use super::Workload;
use super::registered::Registered;
use crate::steps::{Failure, Result, Steps};
use crate::streams::Refused;
use crate::streams::shell::{PortRoute, Prepared, Program};
use protocol::stream::refusals;
use protocol::{Done, GpuRef, Isolation, Shape, Specification, WorkloadKind, WorkloadRef, WorkloadSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Cheap to clone; all clones are the same workloads.
#[derive(Clone, Default)]
pub struct Workloads {
    by_shape: BTreeMap<(WorkloadKind, Shape), Arc<dyn Registered>>,
    /// Each once, in the order of registration.
    all: Vec<Arc<dyn Registered>>,
}

impl Workloads {
    /// From now on tasks of the workload's kind with one of these shapes are its own.
    pub fn register<W: Workload>(&mut self, shapes: &[Shape], workload: Arc<W>) {
        for shape in shapes {
            self.by_shape.insert((W::Spec::KIND, *shape), Arc::clone(&workload) as Arc<dyn Registered>);
        }
        self.all.push(workload);
    }

    /// What is registered, for people.
    pub fn describe(&self) -> String {
        let names: Vec<String> =
            self.by_shape.keys().map(|(kind, shape)| format!("{} for {shape}", kind.name())).collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
    }

    /// It is there, it was proved, and only then somebody may enter.
    pub async fn ensure(&self, steps: &mut Steps, spec: &WorkloadSpec) -> Result<Done> {
        let workload = self.find(spec.kind(), spec.shape())?;
        workload.ensure(steps, spec).await?;
        let opened = match workload.prove(steps, spec).await {
            Ok(proof) => workload.open(steps, spec).await.map(|()| proof),
            Err(failure) => Err(failure),
        };
        match opened {
            Ok(proof) => Ok(proof.done(steps)),
            Err(failure) => {
                // Nobody uses what is not wholly there.
                workload.close(spec).await;
                Err(failure)
            }
        }
    }

    pub async fn keys(&self, steps: &mut Steps, workload: &WorkloadRef, keys: &[String]) -> Result<Done> {
        self.of(workload)?.keys(steps, workload, keys).await?;
        Ok(Done::Keys { count: keys.len().try_into().unwrap_or(u32::MAX) })
    }

    pub async fn stop(&self, steps: &mut Steps, workload: &WorkloadRef, gpus: &[GpuRef]) -> Result<Done> {
        Ok(self.of(workload)?.stop(steps, workload, gpus).await?.done(steps))
    }

    pub async fn remove(
        &self,
        steps: &mut Steps,
        workload: &WorkloadRef,
        gpus: &[GpuRef],
        isolation: Isolation,
    ) -> Result<Done> {
        Ok(self.of(workload)?.remove(steps, workload, gpus, isolation).await?.done(steps))
    }

    /// The host was wiped: fails with what is left of any workload.
    pub async fn wiped(&self) -> Result<()> {
        for workload in &self.all {
            workload.wiped().await?;
        }
        Ok(())
    }

    pub async fn open_stream(
        &self,
        workload: &WorkloadRef,
        program: Program<'_>,
    ) -> std::result::Result<Prepared, Refused> {
        self.of(workload).map_err(refused)?.open_stream(workload, program).await
    }

    pub async fn reach_port(&self, workload: &WorkloadRef, port: u16) -> std::result::Result<PortRoute, Refused> {
        self.of(workload).map_err(refused)?.reach_port(workload, port).await
    }

    /// After a start of the agent; the answer says what could not be done.
    pub async fn start(&self, configures_host: bool) -> Vec<String> {
        let mut problems = Vec::new();
        for workload in &self.all {
            problems.extend(workload.start(configures_host).await);
        }
        problems
    }

    fn of(&self, workload: &WorkloadRef) -> Result<&dyn Registered> {
        self.find(workload.kind(), workload.shape())
    }

    fn find(&self, kind: WorkloadKind, shape: Shape) -> Result<&dyn Registered> {
        self.by_shape.get(&(kind, shape)).map(Arc::as_ref).ok_or_else(|| {
            let (kind, offered) = (kind.name(), self.describe());
            let detail = format!(
                "this host does not run the workload {kind} for {shape}; it runs {offered}: \
                 place the allocation on another host, or update this host's agent"
            );
            Failure::lasting("unsupported_workload", detail)
        })
    }
}

fn refused(failure: Failure) -> Refused {
    Refused::new(refusals::UNSUPPORTED, failure.detail).advise("open it on a host that runs this workload")
}
