//! Planning maintenance, calling it off, and seeing what is planned.

use contract::{
    Code, Page,
    maintenance_windows::{
        AnnouncedWindow, CancelMaintenanceWindow, CreateMaintenanceWindow, ListAnnouncedWindows,
        ListMaintenanceWindows, MaintenanceWindow, MaintenanceWindowCreated, MaintenanceWindowSpec,
    },
};
use jiff::SignedDuration;
use kernel::{
    clock,
    lifecycle::{Lifecycle, transition},
    work,
};

use super::{
    lifecycle::{Event, MaintenanceWindowLifecycle},
    store,
};
use crate::FleetArea;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
};

// bound: a longer one is a retirement
const LONGEST: SignedDuration = SignedDuration::from_hours(31 * 24);
// bound: nobody plans further ahead
const FURTHEST: SignedDuration = SignedDuration::from_hours(366 * 24);

impl Handle<CreateMaintenanceWindow> for FleetArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<CreateMaintenanceWindow>,
    ) -> Result<MaintenanceWindow, Failure> {
        let spec = &request.body;
        check(call, spec).await?;
        let added = store::insert(&mut call.tx, spec).await?;
        let window = added
            .ok_or_else(|| Failure::new(Code::InvalidValue, "the node or pool does not exist; list them first"))?;
        call.about(window.id);
        let event = MaintenanceWindowCreated { id: window.id, starts_at: window.starts_at, ends_at: window.ends_at };
        emit(&mut call.tx, None, window.id, &event);
        work::wake(&mut call.tx, MaintenanceWindowLifecycle::NAME, window.id.uuid());
        Ok(window)
    }
}

impl Handle<ListMaintenanceWindows> for FleetArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListMaintenanceWindows>,
    ) -> Result<Page<MaintenanceWindow>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<CancelMaintenanceWindow> for FleetArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<CancelMaintenanceWindow>,
    ) -> Result<MaintenanceWindow, Failure> {
        let found = store::lock(&mut call.tx, request.path.maintenance_window_id.uuid()).await?;
        let mut window = found.ok_or_else(|| Failure::not_found("maintenance window"))?;
        let reason = request.body.reason.as_str();
        call.note("reason", reason);
        let row = store::versioned(&window)?;
        let moved = transition::<MaintenanceWindowLifecycle>(&mut call.tx, row, Event::Canceled, reason).await?;
        // Nodes that it emptied are given back by its reconciler.
        work::wake(&mut call.tx, MaintenanceWindowLifecycle::NAME, window.id.uuid());
        (window.state, window.version) = (moved.state.into(), moved.version);
        Ok(window)
    }
}

impl Handle<ListAnnouncedWindows> for FleetArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListAnnouncedWindows>,
    ) -> Result<Page<AnnouncedWindow>, Failure> {
        let rows = store::announced(&mut call.tx, request.path.organization_id, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

async fn check(call: &mut Call, spec: &MaintenanceWindowSpec) -> Result<(), Failure> {
    let refused = |detail: &str| Err(Failure::new(Code::InvalidValue, detail));
    if spec.node_id.is_some() == spec.pool_id.is_some() {
        return refused("give either a node or a pool");
    }
    let now = clock::now(&mut call.tx).await?;
    if spec.starts_at <= now {
        return refused("`starts_at` must be in the future; drain a node to empty it now");
    }
    if spec.ends_at <= spec.starts_at {
        return refused("`ends_at` must be after `starts_at`");
    }
    if spec.ends_at.duration_since(spec.starts_at) > LONGEST {
        return refused("a maintenance window lasts at most 31 days; retire nodes that are out of service for longer");
    }
    if spec.starts_at.duration_since(now) > FURTHEST {
        return refused("a maintenance window starts at most one year from now");
    }
    Ok(())
}
