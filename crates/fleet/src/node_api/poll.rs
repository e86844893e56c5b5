//! The poll: what a node says is taken over, and it is told what to do. With
//! nothing to say on either side it waits, and costs no look at the database.

use std::time::Duration;

use contract::id::{NodeId, RegionId};
use kernel::{Access, Actor, Scope, Tx};
use protocol::{
    PROTOCOL, PollAnswer, PollRequest, RefusedCounts, SignedTask, TaskId,
    limits::{MAX_HEALTH_PER_POLL, MAX_REPORTS_PER_POLL, MAX_SAMPLES_PER_POLL, MAX_TASKS_PER_POLL, MAX_TEXT_BYTES},
};

use super::{
    NodeApi,
    polls::PollStart,
    refusal::{self, Refusal},
};
use crate::{
    ca::Peer,
    nodes::{self, InventoryVerdict},
    tasks,
};
use platform::policies::settings;

// bound: what a host waits before it asks another replica while this one stops
const ELSEWHERE_MS: u32 = 200;

pub async fn poll(
    api: &NodeApi,
    (node, peer): (NodeId, &Peer),
    connection: u64,
    request: PollRequest,
) -> Result<PollAnswer, Refusal> {
    check(&request)?;
    let area = &api.area;
    let news = (area.ca.version(), area.signer.version());
    let start = api.polls.begin(node, (connection, request.generation), request.refused, news);
    count(&start.refused);
    let (inventory_hash, region) = match (start.is_settled, start.region) {
        (true, Some(region)) => (start.inventory_hash.clone(), region),
        _ => settle(api, node, peer).await?,
    };
    api.pulse.note(node, request.generation, total(&request.refused));
    area.samples.put(node, area.db.clock.estimate(), request.samples.clone());
    let said_something = request.inventory.is_some() || !request.health.is_empty() || !request.reports.is_empty();
    let accepted = take_over(api, node, &request).await?;
    let want_inventory = request.inventory.is_none() && inventory_hash.as_ref() != Some(&request.inventory_hash);
    let is_urgent = said_something || !start.is_told || (want_inventory && !start.is_asked_for_inventory);
    let (tasks, retry_after_ms) = tasks(api, node, &start, is_urgent, request.wait_ms).await;
    // Keys that changed while the poll waited go out with the tasks that they sign.
    let newest = (area.ca.version(), area.signer.version());
    api.polls.answered(node, newest, want_inventory);
    let now = area.db.clock.estimate();
    let is_told = start.is_told && newest == news;
    let told = (!is_told).then(|| area.signer.told(&area.ca.authority()));
    let (task_keys, roots, trust_version, endorsements) = match told {
        Some(told) => (Some(told.task_keys), Some(told.roots), told.version, told.endorsements),
        None => (None, None, Default::default(), Vec::new()),
    };
    Ok(PollAnswer {
        protocol: PROTOCOL,
        now,
        epoch: i64::from(area.db.epoch()),
        tasks,
        accepted,
        want_inventory,
        task_keys,
        roots,
        trust_version,
        endorsements,
        renew: peer.is_aging(now) || area.ca.authority().wants_renewal(peer.issued_at, now),
        retry_after_ms,
        gateways: area.gateways.of(region),
    })
}

fn check(request: &PollRequest) -> Result<(), Refusal> {
    let too_many = |what: &str| Err(Refusal::Malformed(format!("too many {what} in one poll")));
    if request.reports.len() > MAX_REPORTS_PER_POLL {
        return too_many("reports");
    }
    if request.health.len() > MAX_HEALTH_PER_POLL {
        return too_many("health events");
    }
    if request.samples.len() > MAX_SAMPLES_PER_POLL {
        return too_many("samples");
    }
    let texts = [&request.agent_version, &request.inventory_hash];
    if texts.iter().any(|it| it.len() > MAX_TEXT_BYTES) {
        return Err(Refusal::Malformed("a text is too long".into()));
    }
    Ok(())
}

/// Reads what is open for a node that is new here, or whose agent began anew.
async fn settle(api: &NodeApi, node: NodeId, peer: &Peer) -> Result<(Option<String>, RegionId), Refusal> {
    let mut tx = Tx::system(&api.area.db, "node_api", Access::Read).await?;
    let known = nodes::known(&mut tx, node).await?.ok_or(Refusal::UnknownNode)?;
    let open = tasks::open_for(&mut tx, node, MAX_TASKS_PER_POLL as i64).await?;
    tx.commit().await?;
    // A certificate comes into use with a connection of its own.
    if api.area.ca.authority().is_turning() {
        let mut tx = Tx::system(&api.area.db, "node_api", Access::Write).await?;
        nodes::certificate_used(&mut tx, &peer.serial).await?;
        tx.commit().await?;
    }
    if !open.is_empty() {
        let ids: Vec<TaskId> = open.iter().map(|it| it.id).collect();
        let mut tx = Tx::system(&api.area.db, "node_api", Access::Write).await?;
        tasks::mark_delivered(&mut tx, &ids).await?;
        tx.commit().await?;
    }
    let open = open.into_iter().map(|it| it.signed).collect();
    api.polls.settle(node, known.region, known.inventory_hash.clone(), open);
    Ok((known.inventory_hash, known.region))
}

/// Keeps what the node reports; which reports are safe.
async fn take_over(api: &NodeApi, node: NodeId, request: &PollRequest) -> Result<Vec<TaskId>, Refusal> {
    if request.inventory.is_some() || !request.health.is_empty() {
        let cause = format!("poll:{}", uuid::Uuid::now_v7());
        let actor = Actor::principal("node", node);
        let mut tx = Tx::begin(&api.area.db, Scope::System, Access::Write, actor, cause.into()).await?;
        let mut judged = None;
        if let Some(inventory) = &request.inventory {
            judged = Some((nodes::report_inventory(&mut tx, node, inventory).await?, inventory.hash()));
        }
        nodes::report_health(&mut tx, node, &request.health).await?;
        tx.commit().await?;
        if let Some((judged, hash)) = judged {
            if let InventoryVerdict::Lying(lie) = &judged {
                tracing::warn!(%node, %lie, "a host sent an implausible report");
                refusal::count(Refusal::Lying(lie.clone()).code());
            }
            // Also one that was not believed is judged once, not at every poll.
            api.polls.judged(node, hash);
        }
    }
    if request.reports.is_empty() {
        return Ok(Vec::new());
    }
    api.intake.hand_in(node, request.reports.clone()).await
}

/// What to do next: at once if there is something, else as soon as there is.
async fn tasks(
    api: &NodeApi,
    node: NodeId,
    start: &PollStart,
    is_urgent: bool,
    wait_ms: u32,
) -> (Vec<SignedTask>, u32) {
    let ready = api.polls.take(node);
    if is_urgent || !ready.is_empty() {
        return (ready, 0);
    }
    let longest = settings::seconds(api.area.policies.number(settings::NODE_POLL_SECONDS));
    let wait = Duration::from_millis(u64::from(wait_ms)).min(longest);
    let handed = api.polls.wait(node, start.turn);
    let mut gateways = api.area.gateways.changes();
    tokio::select! {
        handed = handed => (handed.unwrap_or_default(), 0),
        // Hosts connect to a new gateway at once, and leave one that is gone.
        Ok(()) = gateways.changed() => (api.polls.take(node), 0),
        () = tokio::time::sleep(wait) => (api.polls.take(node), 0),
        () = api.area.stopping.cancelled() => (api.polls.take(node), ELSEWHERE_MS),
    }
}

fn total(refused: &RefusedCounts) -> u64 {
    protocol::Refusal::ALL.iter().map(|it| refused.of(*it)).fold(0, u64::saturating_add)
}

/// Adds up what agents refused, by reason.
fn count(refused: &RefusedCounts) {
    for reason in protocol::Refusal::ALL {
        let times = refused.of(*reason);
        if times > 0 {
            metrics::counter!("gpuaas_agent_refused_tasks_total", "reason" => reason.name()).increment(times);
        }
    }
    if refused.repeated > 0 {
        metrics::counter!("gpuaas_agent_repeated_tasks_total").increment(refused.repeated);
    }
}
