//! What operators do with nodes.

use contract::{
    Code, Page, Reason,
    id::NodeId,
    nodes::{
        AttestNode, AttestSlot, CordonNode, DrainNode, GetNode, ListNodeChanges, ListNodes, Node, NodeChanges,
        NodeDetail, NodeHealth, NodeState, RestoreNode, RetireNode, Slot, SlotCondition, UncordonNode,
    },
};
use kernel::{
    clock,
    lifecycle::{Lifecycle, transition},
    work,
};

use super::occupants::{self, LossError, Occupants};
use super::{
    changes, health,
    lifecycle::{Event, NodeLifecycle},
    loss::LossCause,
    store::{self, NodeFacts, certificates, slots},
};
use crate::{FleetArea, tasks};
use platform::{
    http::{Call, Failure, Handle, Request},
    policies::settings,
    rows,
};

impl Handle<ListNodes> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ListNodes>) -> Result<Page<Node>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetNode> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<GetNode>) -> Result<NodeDetail, Failure> {
        let node = read(call, request.path.node_id).await?;
        let slots = slots::list(&mut call.tx, node.id).await?;
        let host = store::host(&mut call.tx, node.id).await?;
        let certificates = certificates::list(&mut call.tx, node.id).await?;
        let tasks = tasks::newest_of(&mut call.tx, node.id).await?;
        Ok(NodeDetail { node, slots, host, certificates, tasks })
    }
}

impl Handle<ListNodeChanges> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ListNodeChanges>) -> Result<NodeChanges, Failure> {
        let since = request.query.after.and_then(|it| it.as_str().parse().ok());
        let (mark, nodes, is_cut) = store::changed(&mut call.tx, since).await?;
        Ok(NodeChanges { mark: rows::text(&mark.to_string())?, nodes, is_cut })
    }
}

impl Handle<CordonNode> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<CordonNode>) -> Result<Node, Failure> {
        move_by(call, request.path.node_id, Event::Cordoned, &request.body.reason).await
    }
}

impl Handle<UncordonNode> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<UncordonNode>) -> Result<Node, Failure> {
        let known = lock(call, request.path.node_id).await?;
        store::set_deadline(&mut call.tx, known.id, None).await?;
        let node = move_known(call, &known, Event::Uncordoned, &request.body.reason).await?;
        if known.state == NodeState::Draining {
            call.tx.hook::<dyn Occupants>().drain_changed(&mut call.tx, known.id, None).await?;
        }
        Ok(node)
    }
}

impl Handle<DrainNode> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<DrainNode>) -> Result<Node, Failure> {
        let (id, reason) = (request.path.node_id, &request.body.reason);
        let known = lock(call, id).await?;
        let deadline = clock::now(&mut call.tx).await? + settings::seconds(request.body.deadline_seconds.get());
        store::set_deadline(&mut call.tx, id, Some(deadline)).await?;
        call.note("deadline_seconds", request.body.deadline_seconds.get());
        call.tx.hook::<dyn Occupants>().drain_changed(&mut call.tx, id, Some(deadline)).await?;
        // Draining again gives another deadline.
        if known.state == NodeState::Draining {
            call.note("reason", reason.as_str());
            work::wake(&mut call.tx, NodeLifecycle::NAME, id.uuid());
            return read(call, id).await;
        }
        move_known(call, &known, Event::DrainRequested, reason).await
    }
}

impl Handle<RestoreNode> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<RestoreNode>) -> Result<Node, Failure> {
        let known = lock(call, request.path.node_id).await?;
        // What it reports next is judged anew.
        if known.health == NodeHealth::Lying {
            store::set_health(&mut call.tx, known.id, NodeHealth::Unknown, None).await?;
        }
        move_known(call, &known, Event::Restored, &request.body.reason).await
    }
}

impl Handle<AttestNode> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<AttestNode>) -> Result<Node, Failure> {
        let known = lock(call, request.path.node_id).await?;
        let reason = request.body.reason.as_str();
        call.note("reason", reason);
        refuse_if_held(call, &known, "attest that the host was sanitized").await?;
        changes::sanitized(&mut call.tx, &known, reason).await?;
        read(call, known.id).await
    }
}

impl Handle<RetireNode> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<RetireNode>) -> Result<Node, Failure> {
        let mut known = lock(call, request.path.node_id).await?;
        let reason = request.body.reason.as_str();
        if request.body.lost {
            call.note("lost", true);
            let cause = LossCause::Retired { said: reason.to_owned() };
            health::give_up(&mut call.tx, &known, &cause).await.map_err(not_given_up)?;
            call.tx.hook::<dyn Occupants>().abandon_on_node(&mut call.tx, known.id, &cause).await?;
            known = lock(call, known.id).await?;
        }
        let how = "retire it; if the host will not come back, retire it as lost (`--lost`)";
        refuse_if_held(call, &known, how).await?;
        changes::revoke_certificates(&mut call.tx, known.id).await?;
        move_known(call, &known, Event::Retired, &request.body.reason).await
    }
}

impl Handle<AttestSlot> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<AttestSlot>) -> Result<Slot, Failure> {
        let (node, id) = (request.path.node_id, request.path.slot_id);
        let slot = slots::lock(&mut call.tx, node, id).await?.ok_or_else(|| Failure::not_found("slot"))?;
        let refused =
            |what: &str| Err(Failure::new(Code::Conflict, format!("the slot is {what}; it cannot be attested")));
        if slot.held_by.is_some() {
            return refused("in use by an allocation");
        }
        if slot.condition != SlotCondition::Dirty && slot.condition != SlotCondition::Quarantined {
            return refused(slot.condition.as_str());
        }
        call.note("reason", request.body.reason.as_str());
        slots::clean(&mut call.tx, id).await?;
        changes::tell(&mut call.tx, node, vec![(id, SlotCondition::Clean)]);
        occupants::capacity_changed(&mut call.tx).await?;
        let cleaned = slots::lock(&mut call.tx, node, id).await?;
        cleaned.ok_or_else(|| Failure::not_found("slot"))
    }
}

fn not_given_up(error: LossError) -> Failure {
    match error {
        LossError::Transition(error) => error.into(),
        LossError::Database(error) => error.into(),
        error @ LossError::Refund(_) => Failure::Internal(Box::new(error)),
    }
}

async fn read(call: &mut Call, id: NodeId) -> Result<Node, Failure> {
    store::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("node"))
}

async fn lock(call: &mut Call, id: NodeId) -> Result<NodeFacts, Failure> {
    store::lock(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("node"))
}

async fn refuse_if_held(call: &mut Call, known: &NodeFacts, what: &str) -> Result<(), Failure> {
    match slots::held(&mut call.tx, known.id).await? {
        0 => Ok(()),
        held => Err(Failure::new(
            Code::Conflict,
            format!("allocations use {held} slots of the node; drain it first, then {what}"),
        )),
    }
}

async fn move_by(call: &mut Call, id: NodeId, event: Event, reason: &Reason) -> Result<Node, Failure> {
    let known = lock(call, id).await?;
    move_known(call, &known, event, reason).await
}

async fn move_known(call: &mut Call, known: &NodeFacts, event: Event, reason: &Reason) -> Result<Node, Failure> {
    call.note("reason", reason.as_str());
    let moved = transition::<NodeLifecycle>(&mut call.tx, known.versioned(), event, reason.as_str()).await?;
    if moved.state == NodeState::Ready {
        changes::wipe_if_abandoned(&mut call.tx, known.id).await?;
        occupants::capacity_changed(&mut call.tx).await?;
    }
    read(call, known.id).await
}
