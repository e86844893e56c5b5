//! `gpuaas nodes`: the hosts of the fleet.

use clap::Subcommand;
use contract::{
    Nothing, Reason,
    agents::{AgentUpdateSpec, AgentVersion, UpdateNode},
    id::SlotId,
    nodes::{
        AttestNode, AttestSlot, ChangeMark, CordonNode, DrainNode, DrainSpec, GetNode, HostName, ListNodeChanges,
        ListNodes, Node, NodeChangesRange, NodeFilter, NodeHealth, NodeState, NodeTask, RestoreNode, RetireNode,
        RetireSpec, Slot, SlotPath, UncordonNode,
    },
    organizations::Because,
    telemetry::{GetNodeTelemetry, NodeTelemetry, TelemetryRange},
};

use serde_json::Value;

use crate::{
    arguments::{self, Consent, Paging},
    context::Context,
    exact,
    failure::Done,
    prompt,
    table::{Columns, columns},
    telemetry::{self, Range},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas nodes list --health silent
  gpuaas nodes get gpu-01
  gpuaas nodes changes --after 812345
  gpuaas nodes telemetry gpu-01 --resolution raw --since 10m
  gpuaas nodes cordon gpu-01 --reason \"noisy fans\"
  gpuaas nodes drain gpu-01 --deadline 3600 --reason \"new driver\"
  gpuaas nodes update gpu-01 --version 0.2.0 --reason \"ticket 42\"
  gpuaas nodes restore gpu-01 --reason \"driver installed\"
  gpuaas nodes attest gpu-01 --reason \"reimaged, ticket 42\"
  gpuaas nodes attest gpu-01 --slot slot-01k9z8y7x6w5v4t3s2r1q0p9n8 --reason \"GPU was replaced\"
  gpuaas nodes retire gpu-01 --reason \"sold\" --yes
  gpuaas nodes retire gpu-01 --lost --reason \"hardware destroyed\" --yes";

/// Manage the nodes of the fleet (platform staff)
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Nodes {
    /// List nodes
    List {
        /// Filter by state [default: all except retired]
        #[arg(long, value_parser = arguments::word::<NodeState>())]
        state: Option<NodeState>,
        /// Filter by health
        #[arg(long, value_parser = arguments::word::<NodeHealth>())]
        health: Option<NodeHealth>,
        /// Filter by region, by ID or name
        #[arg(long)]
        region: Option<String>,
        /// Filter by pool, by ID or name
        #[arg(long)]
        pool: Option<String>,
        /// Filter by name
        #[arg(long, value_parser = arguments::text::<HostName>)]
        name: Option<HostName>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a node and its slots
    #[command(visible_alias = "show")]
    Get {
        /// ID or name of the node
        node: String,
    },
    /// List the nodes changed since a cursor, and print the next cursor
    Changes {
        /// Cursor from the previous response; without one, only a cursor is printed
        #[arg(long, value_parser = arguments::text::<ChangeMark>)]
        after: Option<ChangeMark>,
    },
    /// Show metrics of a node and its GPUs
    Telemetry {
        /// ID or name of the node
        node: String,
        #[command(flatten)]
        range: Range,
    },
    /// Cordon a node: place no new allocations on it
    Cordon(Why),
    /// Uncordon a node: accept new allocations again and cancel any drain
    Uncordon(Why),
    /// Drain a node: put it into maintenance once it is empty
    Drain {
        #[command(flatten)]
        why: Why,
        /// Seconds until allocations that still run are released
        #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
        deadline: contract::Within<0, 2_592_000>,
    },
    /// Update the agent on a node without interrupting allocations
    Update {
        #[command(flatten)]
        why: Why,
        /// Agent version to install [default: newest available]
        #[arg(long, value_parser = arguments::text::<AgentVersion>)]
        version: Option<AgentVersion>,
    },
    /// Return a node to service after maintenance or failure
    Restore(Why),
    /// Attest that a node was wiped, or that one of its slots was sanitized
    Attest {
        #[command(flatten)]
        why: Why,
        /// Attest this slot only [default: the whole node]
        #[arg(long, value_name = "ID")]
        slot: Option<SlotId>,
    },
    /// Retire an empty or lost node permanently
    Retire {
        #[command(flatten)]
        why: Why,
        /// Retire a lost host: its allocations end as of the time it was last seen
        #[arg(long)]
        lost: bool,
        #[command(flatten)]
        consent: Consent,
    },
}

#[derive(Debug, clap::Args)]
pub struct Why {
    /// ID or name of the node
    node: String,
    /// Reason, recorded in the audit log
    #[arg(long, value_parser = arguments::text::<Reason>)]
    reason: Reason,
}

const COLUMNS: Columns = columns!(Node: id, name, state, health, gpus, gpus_free, gpu_model, agent_version, agent_wanted, agent_update, last_seen_at, health_reason);

const TASKS: Columns = columns!(NodeTask: verb, state, detail, created_at, reported_at);
const SLOTS: Columns = columns!(Slot: index, id, condition, held_by, numa, pci, gpu_uuid, condition_reason);

impl Nodes {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Nodes::List { state, health, region, pool, name, paging } => {
                let region_id = match region {
                    Some(text) => Some(context.region_named(&text).await?),
                    None => None,
                };
                let pool_id = match pool {
                    Some(text) => Some(context.pool_named(&text).await?.pool_id),
                    None => None,
                };
                let limit = paging.page();
                let query = NodeFilter { state, health, region_id, pool_id, name, limit, ..NodeFilter::default() };
                return context.list::<ListNodes>(Nothing {}, query, paging, COLUMNS).await;
            }
            Nodes::Get { node } => {
                let answer = context.ask::<GetNode>(context.node_named(&node).await?).await?;
                return detail(context, &answer);
            }
            Nodes::Changes { after } => {
                let answer = context.query::<ListNodeChanges>(Nothing {}, NodeChangesRange { after }).await?;
                return context.output.document(&answer);
            }
            Nodes::Telemetry { node, range } => return telemetry(context, &node, range).await,
            Nodes::Cordon(Why { node, reason }) => {
                context.send::<CordonNode>(context.node_named(&node).await?, Because { reason }).await?
            }
            Nodes::Uncordon(Why { node, reason }) => {
                context.send::<UncordonNode>(context.node_named(&node).await?, Because { reason }).await?
            }
            Nodes::Drain { why: Why { node, reason }, deadline } => {
                let spec = DrainSpec { deadline_seconds: deadline, reason };
                context.send::<DrainNode>(context.node_named(&node).await?, spec).await?
            }
            Nodes::Update { why: Why { node, reason }, version } => {
                let spec = AgentUpdateSpec { version, reason };
                context.send::<UpdateNode>(context.node_named(&node).await?, spec).await?
            }
            Nodes::Restore(Why { node, reason }) => {
                context.send::<RestoreNode>(context.node_named(&node).await?, Because { reason }).await?
            }
            Nodes::Attest { why: Why { node, reason }, slot } => {
                let path = context.node_named(&node).await?;
                match slot {
                    None => context.send::<AttestNode>(path, Because { reason }).await?,
                    Some(slot_id) => {
                        let path = SlotPath { node_id: path.node_id, slot_id };
                        context.send::<AttestSlot>(path, Because { reason }).await?
                    }
                }
            }
            Nodes::Retire { why: Why { node, reason }, lost, consent } => {
                let path = context.node_named(&node).await?;
                let id = path.node_id.to_string();
                let what = match lost {
                    true => format!("permanently retires {node} and ends its allocations"),
                    false => format!("permanently retires {node}"),
                };
                prompt::confirm(consent, &what, &id).await?;
                context.send::<RetireNode>(path, RetireSpec { reason, lost }).await?
            }
        };
        context.output.item(&answer)
    }
}

/// A node and, for people, its slots below it.
fn detail(context: &Context, answer: &Value) -> Done {
    if !context.output.is_for_people() {
        return context.output.document(answer);
    }
    context.output.item(&answer["node"])?;
    if context.output.quiet {
        return Ok(());
    }
    context.output.line("")?;
    context.output.list(answer["slots"].as_array().cloned().unwrap_or_default(), SLOTS)?;
    let tasks = answer["tasks"].as_array().cloned().unwrap_or_default();
    if tasks.is_empty() {
        return Ok(());
    }
    context.output.line("")?;
    context.output.list(tasks, TASKS)
}

async fn telemetry(context: &Context, node: &str, range: Range) -> Done {
    let path = context.node_named(node).await?;
    let Range { resolution, since, until } = range;
    let query = TelemetryRange { resolution: Some(resolution), since, until };
    let answer = context.query::<GetNodeTelemetry>(path, query).await?;
    if !context.output.is_for_people() {
        return context.output.document(&answer);
    }
    let read: NodeTelemetry = exact::read(&answer)?;
    telemetry::print_host(context, &read.host)?;
    telemetry::print_gpus(context, &read.gpus, read.next_since)
}
