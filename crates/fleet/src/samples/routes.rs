//! Showing what was measured.

use std::collections::BTreeMap;

use contract::{
    Code, Timestamp,
    telemetry::{AllocationTelemetry, GetAllocationTelemetry, GetNodeTelemetry, GpuSeries, NodeTelemetry, Resolution},
};
use jiff::SignedDuration;
use kernel::{Scope, clock};

use super::store::{self, OfGpu, Range, Span};
use crate::FleetArea;
use crate::nodes::Occupants;
use platform::http::{Call, Failure, Handle, Request};

// bound: about 2 MiB of answer
const POINTS: usize = 10_000;
// bound: one more shows that there is more
const PROBE: i64 = POINTS as i64 + 1;

impl Handle<GetNodeTelemetry> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<GetNodeTelemetry>) -> Result<NodeTelemetry, Failure> {
        let (node_id, query) = (request.path.node_id, &request.query);
        let resolution = query.resolution.unwrap_or(Resolution::Minute);
        let range = range(call, resolution, query.since, query.until).await?;
        let slots = store::slots_of(&mut call.tx, node_id).await?.ok_or_else(|| Failure::not_found("node"))?;
        let mut gpus = store::gpu_points(&mut call.tx, &slots, range, PROBE).await?;
        let mut host = store::host_points(&mut call.tx, node_id, range, PROBE).await?;
        let cuts = [gpus.get(POINTS).map(|it| it.point.at), host.get(POINTS).map(|it| it.at)];
        let next_since = cuts.into_iter().flatten().min();
        if let Some(cut) = next_since {
            gpus.retain(|it| it.point.at < cut);
            host.retain(|it| it.at < cut);
        }
        let (since, until) = (range.since, range.until);
        let resolution = resolution.into();
        Ok(NodeTelemetry { node_id, resolution, since, until, host, gpus: series(gpus), next_since })
    }
}

impl Handle<GetAllocationTelemetry> for FleetArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<GetAllocationTelemetry>,
    ) -> Result<AllocationTelemetry, Failure> {
        let (path, query) = (&request.path, &request.query);
        let resolution = query.resolution.unwrap_or(Resolution::Minute);
        let asked = range(call, resolution, query.since, query.until).await?;
        // As the tenant: which slots, and for how long, is read from its own rows.
        let held = call
            .tx
            .hook::<dyn Occupants>()
            .held(&mut call.tx, path.project_id, path.allocation_id, query.node_id)
            .await?;
        let held = held.ok_or_else(|| Failure::not_found("allocation"))?;
        let range = within(asked, held.since, held.until);
        // The measurements are the platform's. Only those of these slots, in this time, are read.
        call.tx.enter(Scope::Operator).await?;
        let mut gpus = store::gpu_points(&mut call.tx, &held.slots, range, PROBE).await?;
        let next_since = gpus.get(POINTS).map(|it| it.point.at);
        if let Some(cut) = next_since {
            gpus.retain(|it| it.point.at < cut);
        }
        if next_since.is_some() && gpus.is_empty() {
            let detail =
                "the allocation has more GPUs than fit into one response; select one of its nodes with `node_id`";
            return Err(Failure::new(Code::InvalidValue, detail));
        }
        Ok(AllocationTelemetry {
            allocation_id: path.allocation_id,
            resolution: resolution.into(),
            since: asked.since,
            until: asked.until,
            gpus: series(gpus),
            next_since,
        })
    }
}

/// What is asked for, with what was not said filled in.
async fn range(
    call: &mut Call,
    resolution: Resolution,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<Range, Failure> {
    let usual = match resolution {
        Resolution::Raw => SignedDuration::from_mins(10), // bound: about as many points as a chart shows
        Resolution::Minute => SignedDuration::from_hours(6), // bound: about as many points as a chart shows
        Resolution::Hour => SignedDuration::from_hours(7 * 24), // bound: about as many points as a chart shows
    };
    let until = match until {
        Some(until) => until,
        None => clock::now(&mut call.tx).await?,
    };
    let since = since.unwrap_or_else(|| until.checked_sub(usual).unwrap_or(Timestamp::MIN));
    if since >= until {
        return Err(Failure::new(Code::InvalidValue, "`since` must be before `until`"));
    }
    Ok(Range { span: Span::of(resolution), since, until })
}

/// The part of a range whose points lie wholly in the time from `since` to
/// `until`: a minute that is only half the tenant's is not shown.
fn within(range: Range, since: Option<Timestamp>, until: Option<Timestamp>) -> Range {
    let Some(since) = since else { return Range { until: range.since, ..range } };
    let last = until.and_then(|it| it.checked_sub(range.span.length()).ok());
    let end = last.and_then(|it| it.checked_add(SignedDuration::from_micros(1)).ok());
    Range { since: range.since.max(since), until: end.map_or(range.until, |it| it.min(range.until)), ..range }
}

fn series(points: Vec<OfGpu>) -> Vec<GpuSeries> {
    let mut all: BTreeMap<(uuid::Uuid, u32, uuid::Uuid), GpuSeries> = BTreeMap::new();
    for OfGpu { node, slot, index, gpu_uuid, point } in points {
        let of = all.entry((node.uuid(), index, slot)).or_insert_with(|| GpuSeries {
            node_id: node,
            slot_id: slot.into(),
            index,
            gpu_uuid,
            points: Vec::new(),
        });
        of.points.push(point);
    }
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn only_points_that_lie_wholly_in_the_time_of_the_tenant_are_shown() {
        let asked = Range { span: Span::Minute, since: at(0), until: at(1_000) };
        let shown = |since, until, point: i64| {
            let range = within(asked, since, until);
            range.since <= at(point) && at(point) < range.until
        };
        assert!(!shown(None, None, 60), "it never held anything");
        assert!(!shown(Some(at(61)), None, 60) && shown(Some(at(60)), None, 60), "from its first whole minute");
        assert!(shown(Some(at(0)), Some(at(120)), 60) && !shown(Some(at(0)), Some(at(119)), 60), "to its last");
        assert!(shown(Some(at(0)), None, 960) && !shown(Some(at(0)), None, 1_020), "not beyond what is asked");
    }
}
