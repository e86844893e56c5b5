//! What an allocation is charged for: the time of its GPUs while it is active.

mod store;

pub use store::expected;

use contract::{
    Word,
    allocations::AllocationState::{self, Active, Failed, Released, Releasing},
    prices::{PriceKind, PriceUnit},
};
use kernel::{Tx, bus::BoxFuture, lifecycle::Moved};
use money::metering::{self, Stop, Subject};
use platform::registry::Meter;
use uuid::Uuid;

pub static GPU_TIME: Meter = Meter {
    name: "gpu_time",
    unit: PriceUnit::GpuHour,
    kinds: &[PriceKind::OnDemand],
    subject: "allocation",
    about: "The GPUs of an allocation, on all its nodes together, while it is active.",
};

/// Starts and stops the meter with every move into and out of `active`, and lets
/// holds end with what they are for.
pub fn on_move<'a>(tx: &'a mut Tx, moves: &'a [Moved<AllocationState>]) -> BoxFuture<'a, sqlx::Result<()>> {
    Box::pin(async move {
        let begins = |it: &&Moved<AllocationState>| it.to == Active && it.from != Active;
        let started: Vec<Uuid> = moves.iter().filter(begins).map(|it| it.id).collect();
        if !started.is_empty() {
            let used = store::metered(tx, &started).await?;
            metering::start(tx, &used).await?;
        }
        let stopped: Vec<&Moved<AllocationState>> = moves.iter().filter(|it| stops(it)).collect();
        if stopped.is_empty() {
            return Ok(());
        }
        let active: Vec<Uuid> = stopped.iter().filter(|it| it.from == Active).map(|it| it.id).collect();
        let alive_until = if active.is_empty() { Default::default() } else { store::alive_until(tx, &active).await? };
        let stops: Vec<Stop> = stopped
            .into_iter()
            .filter_map(|it| {
                let subject = Subject { organization: it.organization?.into(), id: it.id, meter: &GPU_TIME };
                let no_later_than = alive_until.get(&it.id).copied();
                // What is stopped may be started again: the whole hold is for that.
                Some(Stop { subject, no_later_than, keeps_hold: !is_over(it.to), cause: it.to.as_str() })
            })
            .collect();
        metering::stop(tx, &stops).await
    })
}

/// Whether a move ends an interval or a hold.
fn stops(it: &Moved<AllocationState>) -> bool {
    (it.from == Active && it.to != Active) || (is_over(it.to) && !is_over(it.from))
}

/// Whether nothing is charged any more, and nothing will be.
fn is_over(state: AllocationState) -> bool {
    matches!(state, Releasing | Released | Failed)
}
