//! `gpuaas allocations`: take GPUs, look at them, give them back.

use std::collections::BTreeMap;

use clap::Subcommand;
use contract::{
    Label, Name, Nothing, Reason, Within,
    allocations::{
        AllAllocationsFilter, Allocation, AllocationFilter, AllocationPath, AllocationSpec, AllocationSshKeys,
        AllocationState, AnyAllocationPath, CreateAllocation, ForceReleaseAllocation, GetAllocation,
        ListAllAllocations, ListAllocations, ReleaseAllocation, SetAllocationSshKeys, StartAllocation, StopAllocation,
        TagValue,
    },
    id::{AllocationId, NodeId, SshKeyId},
    organizations::Because,
    telemetry::{AllocationTelemetry, AllocationTelemetryRange, GetAllocationTelemetry},
    usage::GetAllocationCost,
};

use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    exact,
    failure::{Done, Failure},
    progress, prompt,
    table::{Columns, columns},
    telemetry::{self, Range},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas allocations create --sku h200-slice --gpus 2 --wait
  gpuaas allocations create --sku h200-node --gpus 8 --nodes 4 --same-fabric --lease-minutes 120
  gpuaas allocations create --sku h200-slice --gpus 1 --name notebook --tag team=vision
  gpuaas allocations list --state active
  gpuaas allocations cost notebook
  gpuaas allocations telemetry notebook --resolution hour --since 7d
  gpuaas allocations stop notebook --wait
  gpuaas allocations start notebook --wait
  gpuaas allocations release notebook --wait --yes

A stopped allocation keeps its files and its GPUs, and still counts against
quotas. It is released after the number of hours set by the policy
allocations.stopped_hours. Release it earlier to free its GPUs.";

/// Manage allocations: GPUs assigned to a project
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Allocations {
    /// Request GPUs
    Create(Box<Create>),
    /// List the project's allocations
    List {
        /// Filter by state; by default, finished allocations are omitted
        #[arg(long, value_parser = arguments::word::<AllocationState>())]
        state: Option<AllocationState>,
        /// Filter by SKU
        #[arg(long, value_parser = arguments::text::<Label>)]
        sku: Option<Label>,
        /// Include every organization (platform staff)
        #[arg(long)]
        all: bool,
        /// Filter by node (ID or name); requires --all
        #[arg(long, requires = "all")]
        node: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show an allocation
    Get {
        /// ID or name of the allocation
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
    },
    /// Show the accrued cost of an allocation
    Cost {
        /// ID or name of the allocation
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
    },
    /// Show GPU metrics of an allocation
    Telemetry {
        /// ID or name of the allocation
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
        #[command(flatten)]
        range: Range,
        /// Only GPUs on this node
        #[arg(long, value_name = "ID")]
        node: Option<NodeId>,
    },
    /// Release an allocation and delete its data
    Release {
        /// ID or name of the allocation
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
        /// Wait until its GPUs are sanitized and free
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        consent: Consent,
    },
    /// Stop an allocation, keeping its files and its GPUs
    Stop {
        /// ID or name of the allocation
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
        /// Wait until it is stopped
        #[arg(long)]
        wait: bool,
    },
    /// Start a stopped allocation
    Start {
        /// ID or name of the allocation
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
        /// Wait until it is active, showing progress
        #[arg(long)]
        wait: bool,
    },
    /// Replace the SSH keys that an allocation accepts; a stopped one is updated at its next start
    SetSshKeys {
        /// ID or name of the allocation
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
        /// Your SSH keys, by ID or name; pass none to block SSH access
        #[arg(value_name = "SSH_KEY")]
        ssh_keys: Vec<String>,
    },
    /// Release an allocation of any organization (platform staff)
    ForceRelease {
        /// ID of the allocation
        #[arg(value_name = "ALLOCATION")]
        id: AllocationId,
        /// Reason, recorded in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
        #[command(flatten)]
        consent: Consent,
    },
}

#[derive(Debug, clap::Args)]
pub struct Create {
    /// SKU to allocate; see `gpuaas skus list`
    #[arg(long, value_parser = arguments::text::<Label>)]
    sku: Label,
    /// Number of GPUs per node
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    gpus: Within<1, 64>,
    /// Number of nodes, allocated all or none
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    nodes: Within<1, 256>,
    /// Name of the allocation
    #[arg(long, value_parser = arguments::text::<Name>)]
    name: Option<Name>,
    /// Region [default: any]
    #[arg(long, value_parser = arguments::text::<Label>)]
    region: Option<Label>,
    /// Place all nodes on one high-speed network fabric
    #[arg(long)]
    same_fabric: bool,
    /// Never share a node with your other allocations in this group (anti-affinity)
    #[arg(long, value_parser = arguments::text::<Label>, value_name = "NAME")]
    spread_group: Option<Label>,
    /// Release automatically after this many minutes
    #[arg(long, allow_negative_numbers = true)]
    lease_minutes: Option<Within<1, 525_600>>,
    /// Tag to attach; repeatable
    #[arg(long = "tag", value_parser = tag, value_name = "NAME=VALUE")]
    tags: Vec<(Label, TagValue)>,
    /// SSH key to authorize, by ID or name; repeatable [default: all of your keys]
    #[arg(long = "ssh-key", value_name = "SSH_KEY")]
    ssh_keys: Vec<String>,
    /// Wait until it is active, showing progress
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    once: Once,
}

const COLUMNS: Columns = columns!(Allocation: id, name, sku, gpus, nodes, state, created_at);
const ALL_COLUMNS: Columns =
    columns!(Allocation: id, organization_id, sku, gpus, nodes, state, needs_attention, created_at);

impl Allocations {
    pub async fn run(self, context: &Context) -> Done {
        let answer = match self {
            Allocations::Create(create) => return create.run(context).await,
            Allocations::List { state, paging, all: true, node, .. } => {
                let node_id = match node {
                    Some(node) => Some(context.node_named(&node).await?.node_id),
                    None => None,
                };
                let query = AllAllocationsFilter { state, node_id, limit: paging.page(), ..Default::default() };
                return context.list::<ListAllAllocations>(Nothing {}, query, paging, ALL_COLUMNS).await;
            }
            Allocations::List { state, sku, paging, all: false, .. } => {
                let path = context.project().await?;
                let query = AllocationFilter { state, sku, limit: paging.page(), ..Default::default() };
                return context.list::<ListAllocations>(path, query, paging, COLUMNS).await;
            }
            Allocations::Get { wanted } => {
                context.ask::<GetAllocation>(context.allocation_named(&wanted).await?).await?
            }
            Allocations::Cost { wanted } => {
                let answer = context.ask::<GetAllocationCost>(context.allocation_named(&wanted).await?).await?;
                return context.output.item_known_by(&answer, "/allocation_id");
            }
            Allocations::Telemetry { wanted, range, node } => return telemetry(context, &wanted, range, node).await,
            Allocations::Release { wanted, wait, consent } => {
                let path = context.allocation_named(&wanted).await?;
                let what = format!("releases the allocation `{wanted}` and deletes everything on it");
                prompt::confirm(consent, &what, &wanted).await?;
                let answer = context.ask::<ReleaseAllocation>(path.clone()).await?;
                if wait { progress::until_over(context, path).await? } else { answer }
            }
            Allocations::Stop { wanted, wait } => {
                let path = context.allocation_named(&wanted).await?;
                let answer = context.ask::<StopAllocation>(path.clone()).await?;
                if wait { progress::until_stopped(context, path).await? } else { answer }
            }
            Allocations::Start { wanted, wait } => {
                let path = context.allocation_named(&wanted).await?;
                let answer = context.ask::<StartAllocation>(path.clone()).await?;
                if wait { progress::until_started(context, path).await? } else { answer }
            }
            Allocations::SetSshKeys { wanted, ssh_keys } => {
                let path = context.allocation_named(&wanted).await?;
                let ssh_keys = context.ssh_keys_named(&ssh_keys).await?;
                context.send::<SetAllocationSshKeys>(path, AllocationSshKeys { ssh_keys }).await?
            }
            Allocations::ForceRelease { id, reason, consent } => {
                prompt::confirm(consent, "releases the allocation immediately", &id.to_string()).await?;
                let path = AnyAllocationPath { allocation_id: id };
                context.send::<ForceReleaseAllocation>(path, Because { reason }).await?
            }
        };
        context.output.item(&answer)
    }
}

impl Create {
    async fn run(self, context: &Context) -> Done {
        let path = context.project().await?;
        let project_id = path.project_id;
        let spec = AllocationSpec {
            name: self.name,
            sku: self.sku,
            gpus: self.gpus,
            nodes: self.nodes,
            region: self.region,
            same_fabric: self.same_fabric,
            spread_group: self.spread_group,
            lease_minutes: self.lease_minutes,
            tags: tags(self.tags)?,
            ssh_keys: if self.ssh_keys.is_empty() { None } else { Some(context.ssh_keys_named(&self.ssh_keys).await?) },
        };
        let mut answer = context.create::<CreateAllocation>(&self.once, path, spec).await?;
        if self.wait {
            let allocation: Allocation = exact::read(&answer)?;
            answer =
                progress::until_active(context, AllocationPath { project_id, allocation_id: allocation.id }).await?;
        }
        context.output.item(&answer)
    }
}

async fn telemetry(context: &Context, wanted: &str, range: Range, node_id: Option<NodeId>) -> Done {
    let path = context.allocation_named(wanted).await?;
    let Range { resolution, since, until } = range;
    let query = AllocationTelemetryRange { resolution: Some(resolution), since, until, node_id };
    let answer = context.query::<GetAllocationTelemetry>(path, query).await?;
    if !context.output.is_for_people() {
        return context.output.document(&answer);
    }
    let read: AllocationTelemetry = exact::read(&answer)?;
    telemetry::print_gpus(context, &read.gpus, read.next_since)
}

fn tag(text: &str) -> Result<(Label, TagValue), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let name = name.parse::<Label>().map_err(|error| error.to_string())?;
    Ok((name, value.parse::<TagValue>().map_err(|error| error.to_string())?))
}

/// Tags by name. One that is given twice is a slip, and nobody can say which was meant.
fn tags(given: Vec<(Label, TagValue)>) -> Result<BTreeMap<String, TagValue>, Failure> {
    let mut tags = BTreeMap::new();
    for (name, value) in given {
        if tags.insert(name.to_string(), value).is_some() {
            return Err(Failure::usage(format!("the tag `{name}` was passed twice"), "Pass each tag once."));
        }
    }
    Ok(tags)
}

impl Context {
    /// Some of the caller's public keys, each by id or name.
    async fn ssh_keys_named(&self, texts: &[String]) -> Result<Vec<SshKeyId>, Failure> {
        let mut keys = Vec::new();
        for text in texts {
            keys.push(self.ssh_key_named(text).await?.ssh_key_id);
        }
        Ok(keys)
    }

    /// An allocation of the project, by id or name.
    pub async fn allocation_named(&self, text: &str) -> Result<AllocationPath, Failure> {
        let project_id = self.project().await?.project_id;
        if let Ok(allocation_id) = text.parse() {
            return Ok(AllocationPath { project_id, allocation_id });
        }
        let allocation_id = self.allocation_by_name(project_id, text).await?;
        Ok(AllocationPath { project_id, allocation_id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_a_name_and_a_value_and_is_passed_once() {
        let given = |texts: &[&str]| tags(texts.iter().map(|it| tag(it).unwrap()).collect());
        assert_eq!(given(&["team=vision", "run=a=b"]).unwrap()["run"].as_str(), "a=b");
        assert!(given(&["team=vision", "team=speech"]).unwrap_err().for_people().contains("`team` was passed twice"));
        assert!(tag("team").is_err() && tag("Team=x").is_err() && tag(&format!("a={}", "x".repeat(129))).is_err());
    }
}
