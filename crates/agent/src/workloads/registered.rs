//! A workload as the registry stores it: with boxed futures, and with the closed
//! types of the protocol in place of its own.

use super::{Evidence, Proof, Workload};
use crate::steps::{Failure, Result, Steps};
use crate::streams::Refused;
use crate::streams::shell::{PortRoute, Prepared, Program};
use protocol::stream::refusals;
use protocol::{GpuRef, Isolation, Reference, Specification, WorkloadRef, WorkloadSpec};
use std::pin::Pin;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type Answer<'a, T> = Boxed<'a, Result<T>>;
type OpenAnswer<'a, T> = Boxed<'a, std::result::Result<T, Refused>>;

/// See [`Workload`] for what each method does.
pub(super) trait Registered: Send + Sync + 'static {
    fn ensure<'a>(&'a self, steps: &'a mut Steps, spec: &'a WorkloadSpec) -> Answer<'a, ()>;
    fn prove<'a>(&'a self, steps: &'a mut Steps, spec: &'a WorkloadSpec) -> Answer<'a, Proof>;
    fn open<'a>(&'a self, steps: &'a mut Steps, spec: &'a WorkloadSpec) -> Answer<'a, ()>;
    fn close<'a>(&'a self, spec: &'a WorkloadSpec) -> Boxed<'a, ()>;
    fn keys<'a>(&'a self, steps: &'a mut Steps, at: &'a WorkloadRef, keys: &'a [String]) -> Answer<'a, ()>;
    fn stop<'a>(&'a self, steps: &'a mut Steps, at: &'a WorkloadRef, gpus: &'a [GpuRef]) -> Answer<'a, Evidence>;
    fn remove<'a>(
        &'a self,
        steps: &'a mut Steps,
        at: &'a WorkloadRef,
        gpus: &'a [GpuRef],
        isolation: Isolation,
    ) -> Answer<'a, Evidence>;
    fn wiped(&self) -> Answer<'_, ()>;
    fn open_stream<'a>(&'a self, at: &'a WorkloadRef, program: Program<'a>) -> OpenAnswer<'a, Prepared>;
    fn reach_port<'a>(&'a self, at: &'a WorkloadRef, port: u16) -> OpenAnswer<'a, PortRoute>;
    fn start(&self, configures_host: bool) -> Boxed<'_, Vec<String>>;
}

impl<W: Workload> Registered for W {
    fn ensure<'a>(&'a self, steps: &'a mut Steps, spec: &'a WorkloadSpec) -> Answer<'a, ()> {
        Box::pin(async move { Workload::ensure(self, steps, own_spec::<W>(spec)?).await })
    }

    fn prove<'a>(&'a self, steps: &'a mut Steps, spec: &'a WorkloadSpec) -> Answer<'a, Proof> {
        Box::pin(async move { Workload::prove(self, steps, own_spec::<W>(spec)?).await })
    }

    fn open<'a>(&'a self, steps: &'a mut Steps, spec: &'a WorkloadSpec) -> Answer<'a, ()> {
        Box::pin(async move { Workload::open(self, steps, own_spec::<W>(spec)?).await })
    }

    fn close<'a>(&'a self, spec: &'a WorkloadSpec) -> Boxed<'a, ()> {
        Box::pin(async move {
            if let Ok(spec) = own_spec::<W>(spec) {
                Workload::close(self, spec).await;
            }
        })
    }

    fn keys<'a>(&'a self, steps: &'a mut Steps, at: &'a WorkloadRef, keys: &'a [String]) -> Answer<'a, ()> {
        Box::pin(async move { Workload::keys(self, steps, own_reference::<W>(at)?, keys).await })
    }

    fn stop<'a>(&'a self, steps: &'a mut Steps, at: &'a WorkloadRef, gpus: &'a [GpuRef]) -> Answer<'a, Evidence> {
        Box::pin(async move { Workload::stop(self, steps, own_reference::<W>(at)?, gpus).await })
    }

    fn remove<'a>(
        &'a self,
        steps: &'a mut Steps,
        at: &'a WorkloadRef,
        gpus: &'a [GpuRef],
        isolation: Isolation,
    ) -> Answer<'a, Evidence> {
        Box::pin(async move { Workload::remove(self, steps, own_reference::<W>(at)?, gpus, isolation).await })
    }

    fn wiped(&self) -> Answer<'_, ()> {
        Box::pin(Workload::wiped(self))
    }

    fn open_stream<'a>(&'a self, at: &'a WorkloadRef, program: Program<'a>) -> OpenAnswer<'a, Prepared> {
        Box::pin(async move {
            let at = own_reference::<W>(at).map_err(refused)?;
            Workload::open_stream(self, at, program).await
        })
    }

    fn reach_port<'a>(&'a self, at: &'a WorkloadRef, port: u16) -> OpenAnswer<'a, PortRoute> {
        Box::pin(async move {
            let at = own_reference::<W>(at).map_err(refused)?;
            Workload::reach_port(self, at, port).await
        })
    }

    fn start(&self, configures_host: bool) -> Boxed<'_, Vec<String>> {
        Box::pin(Workload::start(self, configures_host))
    }
}

/// The registry looks up by kind, so these answer an error only if it did not.
fn own_spec<W: Workload>(spec: &WorkloadSpec) -> Result<&W::Spec> {
    W::Spec::of(spec).ok_or_else(|| mismatch(spec.kind().name(), W::Spec::KIND.name()))
}

fn own_reference<W: Workload>(at: &WorkloadRef) -> Result<&super::ReferenceOf<W>> {
    <super::ReferenceOf<W>>::of(at).ok_or_else(|| mismatch(at.kind().name(), W::Spec::KIND.name()))
}

fn mismatch(kind: &str, own: &str) -> Failure {
    Failure::lasting("unsupported_workload", format!("{kind} was passed to the workload {own}"))
}

fn refused(failure: Failure) -> Refused {
    Refused::new(refusals::UNSUPPORTED, failure.detail)
}
