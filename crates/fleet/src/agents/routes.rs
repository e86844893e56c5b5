//! What operators do with agents: see which there are, and order updates.

use contract::{
    Code, Nothing,
    agents::{
        Agent, AgentUpdateSpec, AgentUpdateState, Agents, ListAgents, NodeUpdateRequested, PoolUpdate,
        PoolUpdateRequested, StopPoolUpdate, UpdateNode, UpdatePool,
    },
    id::{NodeId, PoolId},
    nodes::{Node, NodeState},
};
use kernel::{
    lifecycle::{Lifecycle, transition},
    work,
};

use super::{
    choice,
    lifecycle::{AgentUpdateLifecycle, Event},
    store,
};
use crate::{FleetArea, nodes, pools};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
    policies::settings,
};

impl Handle<ListAgents> for FleetArea {
    async fn handle(&self, _: &mut Call, _: Request<ListAgents>) -> Result<Agents, Failure> {
        let mut items = Vec::new();
        for (version, target) in self.agents.list().await {
            // One that went away meanwhile is not listed.
            if let Some(found) = self.agents.find(&version, &target).await {
                items.push(Agent { version, target, size_bytes: found.bytes, sha256: found.sha256 });
            }
        }
        Ok(Agents { items })
    }
}

impl Handle<UpdateNode> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<UpdateNode>) -> Result<Node, Failure> {
        let node = lock(call, request.path.node_id).await?;
        let target = store::target_of(&mut call.tx, node.id).await?;
        let wanted = self.choose(&request.body, &[target]).await?;
        note(call, &wanted, &request.body);
        if node.state == NodeState::Retired || node.state == NodeState::Enrolling {
            let detail = format!("the node is {}; only the agent of an enrolled node can be updated", node.state);
            return Err(Failure::new(Code::Conflict, detail));
        }
        // What is so, or under way, need not be asked for again.
        if let Some(live) = store::live(&mut call.tx, node.id).await? {
            if live.wanted == wanted {
                return Ok(node);
            }
            if live.state == AgentUpdateState::Updating {
                let detail =
                    format!("the node is being updated to version {}; wait until the update is finished", live.wanted);
                return Err(Failure::new(Code::Conflict, detail));
            }
            let why = format!("version {wanted} was requested instead");
            store::set_reason(&mut call.tx, live.id, &why).await?;
            transition::<AgentUpdateLifecycle>(&mut call.tx, live.versioned(), Event::Stopped, &why).await?;
        }
        if node.agent_version.as_deref() == Some(&wanted) {
            return Ok(node);
        }
        let id = store::insert(&mut call.tx, node.id, node.pool_id, &wanted).await?;
        emit(&mut call.tx, None, id, &NodeUpdateRequested { id, node_id: node.id, version: wanted });
        work::wake(&mut call.tx, AgentUpdateLifecycle::NAME, id.uuid());
        read(call, node.id).await
    }
}

impl Handle<UpdatePool> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<UpdatePool>) -> Result<PoolUpdate, Failure> {
        let pool_id = lock_pool(call, request.path.pool_id).await?;
        let targets = store::targets_in(&mut call.tx, pool_id).await?;
        let wanted = self.choose(&request.body, &targets).await?;
        note(call, &wanted, &request.body);
        if let Some(other) = store::other_in(&mut call.tx, pool_id, &wanted).await? {
            let detail = format!(
                "nodes of the pool are being updated to version {other}; wait, or cancel that with `gpuaas pools stop-update`"
            );
            return Err(Failure::new(Code::Conflict, detail));
        }
        let nodes = store::insert_for_pool(&mut call.tx, pool_id, &wanted).await?;
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        if nodes > 0 {
            let event = PoolUpdateRequested { pool_id, version: wanted.clone(), nodes };
            emit(&mut call.tx, None, pool_id, &event);
            self.bring_first(call, pool_id).await?;
        }
        Ok(PoolUpdate { pool_id, version: wanted, nodes })
    }
}

impl Handle<StopPoolUpdate> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<StopPoolUpdate>) -> Result<Nothing, Failure> {
        let pool = lock_pool(call, request.path.pool_id).await?;
        let reason = request.body.reason.as_str();
        let called_off = store::call_off(&mut call.tx, pool, reason).await?;
        call.note("reason", reason);
        call.note("nodes", called_off);
        self.bring_first(call, pool).await?;
        Ok(Nothing {})
    }
}

impl FleetArea {
    /// The version to give to hosts of these platforms: the one that was asked
    /// for if it is served, else the newest.
    async fn choose(&self, spec: &AgentUpdateSpec, targets: &[Option<String>]) -> Result<String, Failure> {
        let served = self.agents.list().await;
        let refused = |detail: String| Err(ProblemBuilder::new(Code::InvalidValue, detail).at("version").into());
        let Some(version) = spec.version.as_ref().map(|it| it.as_str()) else {
            return match choice::newest(&served, targets) {
                Some(version) => Ok(version.to_owned()),
                None => refused(
                    "no agent is available for the platform; put one into `node.agents_dir` and check it with `gpuaas agents list`"
                        .into(),
                ),
            };
        };
        for said in targets {
            if choice::target(&served, version, said.as_deref()).is_none() {
                let platform = said.as_deref().unwrap_or("the node's platform, which its agent does not report");
                return refused(format!(
                    "version {version} is not available for {platform}; run `gpuaas agents list` to list the available versions"
                ));
            }
        }
        if !served.iter().any(|(it, _)| it == version) {
            return refused(format!(
                "version {version} is not available; run `gpuaas agents list` to list the available versions"
            ));
        }
        Ok(version.to_owned())
    }

    async fn bring_first(&self, call: &mut Call, pool: PoolId) -> Result<(), Failure> {
        let most = i64::try_from(self.policies.number(settings::NODE_UPDATE_AT_ONCE)).unwrap_or(i64::MAX);
        for id in store::next_in(&mut call.tx, pool, most.max(1)).await? {
            work::wake(&mut call.tx, AgentUpdateLifecycle::NAME, id);
        }
        Ok(())
    }
}

fn note(call: &mut Call, wanted: &str, spec: &AgentUpdateSpec) {
    call.note("version", wanted);
    call.note("reason", spec.reason.as_str());
}

async fn read(call: &mut Call, id: NodeId) -> Result<Node, Failure> {
    nodes::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("node"))
}

/// Two orders for one node take turns.
async fn lock(call: &mut Call, id: NodeId) -> Result<Node, Failure> {
    nodes::lock(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("node"))?;
    read(call, id).await
}

/// Two orders for one pool take turns.
async fn lock_pool(call: &mut Call, id: PoolId) -> Result<PoolId, Failure> {
    pools::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("pool"))?;
    store::take_turn(&mut call.tx, id).await?;
    Ok(id)
}
