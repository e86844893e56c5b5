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

A stopped allocation keeps its files and holds its GPUs: nobody else gets them,
and they count against quotas, for as long as the policy
allocations.stopped_hours says. Release it to let them go.";

/// Allocations: GPUs that a project holds for a while
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Allocations {
    /// Ask for GPUs
    Create(Box<Create>),
    /// List the allocations of the project
    List {
        /// Only those in this state; those that hold or want something when absent
        #[arg(long, value_parser = arguments::word::<AllocationState>())]
        state: Option<AllocationState>,
        /// Only those of this SKU
        #[arg(long, value_parser = arguments::text::<Label>)]
        sku: Option<Label>,
        /// Those of every organization (platform staff)
        #[arg(long)]
        all: bool,
        /// Only those on this node, by id or name; with --all
        #[arg(long, requires = "all")]
        node: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show one allocation
    Get {
        /// Id or name
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
    },
    /// Show what an allocation has cost so far, to the millionth
    Cost {
        /// Id or name
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
    },
    /// Show what was measured of an allocation's GPUs
    Telemetry {
        /// Id or name
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
        #[command(flatten)]
        range: Range,
        /// Only the GPUs on this node
        #[arg(long, value_name = "ID")]
        node: Option<NodeId>,
    },
    /// Give an allocation back
    Release {
        /// Id or name
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
        /// Wait until its GPUs are clean and free
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        consent: Consent,
    },
    /// Stop what runs on an allocation; its files stay, and its GPUs stay held for it
    Stop {
        /// Id or name
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
        /// Wait until nothing of it runs
        #[arg(long)]
        wait: bool,
    },
    /// Start a stopped allocation again, once its hosts proved its GPUs anew
    Start {
        /// Id or name
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
        /// Wait until it is active, and show how it gets there
        #[arg(long)]
        wait: bool,
    },
    /// Choose anew which of your public keys an allocation lets in; a stopped one does when it is started
    SetSshKeys {
        /// Id or name
        #[arg(value_name = "ALLOCATION")]
        wanted: String,
        /// Your public keys, by id or name; none locks everybody out
        #[arg(value_name = "SSH_KEY")]
        ssh_keys: Vec<String>,
    },
    /// Take an allocation back, whatever its project wants (platform staff)
    ForceRelease {
        /// Its id
        #[arg(value_name = "ALLOCATION")]
        id: AllocationId,
        /// Why; kept in the audit log
        #[arg(long, value_parser = arguments::text::<Reason>)]
        reason: Reason,
        #[command(flatten)]
        consent: Consent,
    },
}

#[derive(Debug, clap::Args)]
pub struct Create {
    /// What kind of capacity, as `gpuaas skus list` names it
    #[arg(long, value_parser = arguments::text::<Label>)]
    sku: Label,
    /// GPUs per node
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    gpus: Within<1, 64>,
    /// Nodes, all or none
    #[arg(long, default_value = "1", allow_negative_numbers = true)]
    nodes: Within<1, 256>,
    /// What to call it
    #[arg(long, value_parser = arguments::text::<Name>)]
    name: Option<Name>,
    /// Where; anywhere when absent
    #[arg(long, value_parser = arguments::text::<Label>)]
    region: Option<Label>,
    /// Only nodes that share one fast network
    #[arg(long)]
    same_fabric: bool,
    /// Keep away from nodes of your other allocations with the same word
    #[arg(long, value_parser = arguments::text::<Label>)]
    apart: Option<Label>,
    /// End by itself after so many minutes
    #[arg(long, allow_negative_numbers = true)]
    lease_minutes: Option<Within<1, 525_600>>,
    /// A tag, as NAME=VALUE; may be repeated
    #[arg(long = "tag", value_parser = tag, value_name = "NAME=VALUE")]
    tags: Vec<(Label, TagValue)>,
    /// One of your public keys to let in, by id or name; all of them when absent; may be repeated
    #[arg(long = "ssh-key", value_name = "SSH_KEY")]
    ssh_keys: Vec<String>,
    /// Wait until it is active, and show how it gets there
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
                let what = format!("releases the allocation `{wanted}` and everything on it");
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
                prompt::confirm(consent, "takes the allocation back at once", &id.to_string()).await?;
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
            apart: self.apart,
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
    let (name, value) = text.split_once('=').ok_or("a tag is NAME=VALUE")?;
    let name = name.parse::<Label>().map_err(|error| error.to_string())?;
    Ok((name, value.parse::<TagValue>().map_err(|error| error.to_string())?))
}

/// Tags by name. One that is given twice is a slip, and nobody can say which was meant.
fn tags(given: Vec<(Label, TagValue)>) -> Result<BTreeMap<String, TagValue>, Failure> {
    let mut tags = BTreeMap::new();
    for (name, value) in given {
        if tags.insert(name.to_string(), value).is_some() {
            return Err(Failure::usage(format!("the tag `{name}` is given twice"), "Leave one of them out."));
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
    fn a_tag_is_a_name_and_a_value_and_is_given_once() {
        let given = |texts: &[&str]| tags(texts.iter().map(|it| tag(it).unwrap()).collect());
        assert_eq!(given(&["team=vision", "run=a=b"]).unwrap()["run"].as_str(), "a=b");
        assert!(given(&["team=vision", "team=speech"]).unwrap_err().for_people().contains("`team` is given twice"));
        assert!(tag("team").is_err() && tag("Team=x").is_err() && tag(&format!("a={}", "x".repeat(129))).is_err());
    }
}
