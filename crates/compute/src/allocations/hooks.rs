//! What other areas ask of allocations in their own transactions: fleet when a node
//! changes, money when there is none left, people when a project ends.

use contract::{
    Timestamp,
    id::{AllocationId, NodeId, OrganizationId, ProjectId},
    projects::EndingPreview,
};
use fleet::nodes::{HeldSlots, LossCause, LossError, Occupants};
use kernel::{
    Tx,
    bus::BoxFuture,
    lifecycle::{Lifecycle, TransitionError},
    money::Currency,
};
use money::wallets::{Expected, Spender};
use people::{notifications::AllocationReasons, projects::Resident};

use super::{
    endings,
    lifecycle::AllocationLifecycle,
    metering::{self, GPU_TIME},
    store,
};
use uuid::Uuid;

pub struct AllocationHooks;

impl Occupants for AllocationHooks {
    fn capacity_changed<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, sqlx::Result<()>> {
        Box::pin(super::capacity_changed(tx))
    }

    fn drain_changed<'a>(
        &'a self,
        tx: &'a mut Tx,
        node: NodeId,
        deadline: Option<Timestamp>,
    ) -> BoxFuture<'a, sqlx::Result<()>> {
        Box::pin(super::drain_changed(tx, node, deadline))
    }

    fn release_on_node<'a>(&'a self, tx: &'a mut Tx, node: NodeId) -> BoxFuture<'a, Result<(), TransitionError>> {
        Box::pin(super::release_on_node(tx, node))
    }

    fn node_lost<'a>(
        &'a self,
        tx: &'a mut Tx,
        node: NodeId,
        last_heard: Timestamp,
        cause: &'a LossCause,
    ) -> BoxFuture<'a, Result<(), LossError>> {
        Box::pin(endings::node_lost(tx, node, last_heard, cause))
    }

    fn abandon_on_node<'a>(
        &'a self,
        tx: &'a mut Tx,
        node: NodeId,
        cause: &'a LossCause,
    ) -> BoxFuture<'a, Result<(), TransitionError>> {
        Box::pin(endings::abandon_on_node(tx, node, cause))
    }

    fn hosts_are_back<'a>(&'a self, tx: &'a mut Tx, nodes: &'a [NodeId]) -> BoxFuture<'a, sqlx::Result<()>> {
        Box::pin(endings::hosts_are_back(tx, nodes))
    }

    fn is_abandoned<'a>(&'a self, tx: &'a mut Tx, node: NodeId) -> BoxFuture<'a, sqlx::Result<bool>> {
        Box::pin(endings::is_abandoned(tx, node))
    }

    fn held<'a>(
        &'a self,
        tx: &'a mut Tx,
        project: ProjectId,
        allocation: AllocationId,
        node: Option<NodeId>,
    ) -> BoxFuture<'a, sqlx::Result<Option<HeldSlots>>> {
        Box::pin(store::held(tx, project, allocation, node))
    }
}

impl Spender for AllocationHooks {
    fn subject(&self) -> &'static str {
        GPU_TIME.subject
    }

    fn out_of_funds<'a>(&'a self, tx: &'a mut Tx, ids: &'a [Uuid]) -> BoxFuture<'a, Result<u64, TransitionError>> {
        Box::pin(super::out_of_funds(tx, ids))
    }

    fn expected<'a>(
        &'a self,
        tx: &'a mut Tx,
        project: ProjectId,
        currency: Currency,
    ) -> BoxFuture<'a, sqlx::Result<Vec<Expected>>> {
        Box::pin(metering::expected(tx, project, currency))
    }
}

impl AllocationReasons for AllocationHooks {
    fn sentence<'a>(&'a self, tx: &'a mut Tx, allocation: AllocationId) -> BoxFuture<'a, sqlx::Result<Option<String>>> {
        Box::pin(async move { Ok(store::reason(tx, allocation).await?.map(|it| it.sentence())) })
    }
}

impl Resident for AllocationHooks {
    fn table(&self) -> &'static str {
        AllocationLifecycle::TABLE
    }

    fn end_some<'a>(
        &'a self,
        tx: &'a mut Tx,
        project: ProjectId,
        most: i64,
    ) -> BoxFuture<'a, Result<u64, TransitionError>> {
        Box::pin(endings::end_in_project(tx, project, most))
    }

    fn live<'a>(&'a self, tx: &'a mut Tx, project: ProjectId) -> BoxFuture<'a, sqlx::Result<i64>> {
        Box::pin(endings::live_in_project(tx, project))
    }

    fn preview<'a>(
        &'a self,
        tx: &'a mut Tx,
        organization: OrganizationId,
        project: Option<ProjectId>,
        preview: &'a mut EndingPreview,
    ) -> BoxFuture<'a, sqlx::Result<()>> {
        Box::pin(async move {
            let own = endings::preview_end(tx, organization, project).await?;
            preview.ends.extend(own.ends);
            preview.count += own.count;
            preview.gpus += own.gpus;
            preview.burn.extend(own.burn);
            Ok(())
        })
    }
}
