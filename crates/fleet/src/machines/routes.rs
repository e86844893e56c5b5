//! What operators do with machines: they say what they want, the reconciler does it.

use contract::{
    Code, Page, Word,
    id::MachineId,
    machines::{
        AbandonMachine, GetMachine, ListMachines, Machine, MachineDesired, MachinePowerSpec, MachineState,
        PowerMachine, RetireMachine, RetryMachine,
    },
};
use kernel::{
    lifecycle::{Lifecycle as _, transition},
    work,
};

use super::{
    lifecycle::{Event, MachineLifecycle},
    power::{self, PowerCommand},
    store::{self, StoredMachine},
};
use crate::{FleetArea, nodes};
use platform::http::{Call, Failure, Handle, Request};

impl Handle<ListMachines> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ListMachines>) -> Result<Page<Machine>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetMachine> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<GetMachine>) -> Result<Machine, Failure> {
        read(call, request.path.machine_id).await
    }
}

impl Handle<RetryMachine> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<RetryMachine>) -> Result<Machine, Failure> {
        let held = lock(call, request.path.machine_id).await?;
        let (id, reason) = (held.machine.id, request.body.reason.as_str());
        call.note("reason", reason);
        store::desire(&mut call.tx, id, MachineDesired::Serve).await?;
        store::forgive(&mut call.tx, id).await?;
        store::begin_release(&mut call.tx, id, None, false).await?;
        transition::<MachineLifecycle>(&mut call.tx, held.versioned(), Event::RetryRequested, reason).await?;
        read(call, id).await
    }
}

impl Handle<RetireMachine> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<RetireMachine>) -> Result<Machine, Failure> {
        let held = lock(call, request.path.machine_id).await?;
        let (id, reason) = (held.machine.id, request.body.reason.as_str());
        call.note("reason", reason);
        store::desire(&mut call.tx, id, MachineDesired::Retire).await?;
        if held.state == MachineState::Failed {
            // What it may still hold is given back first.
            store::forgive(&mut call.tx, id).await?;
            store::begin_release(&mut call.tx, id, None, false).await?;
            transition::<MachineLifecycle>(&mut call.tx, held.versioned(), Event::RetryRequested, reason).await?;
        }
        work::wake(&mut call.tx, MachineLifecycle::NAME, id.uuid());
        read(call, id).await
    }
}

impl Handle<AbandonMachine> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<AbandonMachine>) -> Result<Machine, Failure> {
        let held = lock(call, request.path.machine_id).await?;
        let (id, reason) = (held.machine.id, request.body.reason.as_str());
        call.note("reason", reason);
        store::desire(&mut call.tx, id, MachineDesired::Retire).await?;
        transition::<MachineLifecycle>(&mut call.tx, held.versioned(), Event::Retired, reason).await?;
        read(call, id).await
    }
}

impl Handle<PowerMachine> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<PowerMachine>) -> Result<Machine, Failure> {
        let held = lock(call, request.path.machine_id).await?;
        let MachinePowerSpec { action, force, reason } = &request.body;
        let wish = PowerCommand { action: *action, is_forced: *force };
        let node = match held.machine.node_id {
            Some(node) => nodes::occupancy(&mut call.tx, node).await?,
            None => None,
        };
        if let Some(why) = power::refusal(held.state, wish, node) {
            return Err(Failure::new(Code::Conflict, why));
        }
        call.note("action", action.as_str());
        call.note("force", *force);
        if let Some(reason) = reason {
            call.note("reason", reason.as_str());
        }
        store::wish_power(&mut call.tx, held.machine.id, wish).await?;
        work::wake(&mut call.tx, MachineLifecycle::NAME, held.machine.id.uuid());
        read(call, held.machine.id).await
    }
}

async fn read(call: &mut Call, id: MachineId) -> Result<Machine, Failure> {
    let found = store::get(&mut call.tx, id).await?;
    found.map(|it| it.machine).ok_or_else(|| Failure::not_found("machine"))
}

async fn lock(call: &mut Call, id: MachineId) -> Result<StoredMachine, Failure> {
    store::lock(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("machine"))
}
