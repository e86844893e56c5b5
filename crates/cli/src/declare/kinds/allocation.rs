//! `kind: allocation`. Those of a stack carry its name as a tag, by which they
//! are told from others and can be pruned. Nothing of one changes in place.

use std::collections::BTreeMap;

use contract::{
    Label, Name, Within,
    allocations::{
        self, AllocationFilter, AllocationPath, AllocationSpec, AllocationState, CreateAllocation, ListAllocations,
        ReleaseAllocation, TagValue,
    },
    id::{ProjectId, SshKeyId},
    projects::ProjectPath,
};

use super::{or_none, said};
use crate::{
    declare::{
        fields::{Fields, Read, flag, list, number, tags, text},
        kind::{Creation, Kind, Lookup, Removal},
        plan::Difference,
        thing::Reference,
        tree::{Mistake, Node},
        world::World,
    },
    exact,
    failure::{Class, Failure},
};

/// The tag that holds the name of the stack.
pub const STACK: &str = "stack";
/// The tag that holds the requested options that the server does not show.
const OPTIONS: &str = "stack-options";

#[derive(Debug)]
pub struct Allocation {
    project: Name,
    name: Name,
    sku: Label,
    gpus: Within<1, 64>,
    nodes: Option<Within<1, 256>>,
    region: Option<Label>,
    options: RequestOptions,
    tags: Option<BTreeMap<String, TagValue>>,
    ssh_keys: Option<Vec<Name>>,
}

/// What the server does not show of an allocation.
#[derive(Debug, Default, PartialEq)]
struct RequestOptions {
    same_fabric: Option<bool>,
    spread_group: Option<Label>,
    lease_minutes: Option<Within<1, 525_600>>,
}

impl RequestOptions {
    fn parts(&self) -> [(&'static str, Option<String>); 3] {
        [
            ("same_fabric", self.same_fabric.map(|it| it.to_string())),
            ("spread_group", self.spread_group.as_ref().map(ToString::to_string)),
            ("lease_minutes", self.lease_minutes.map(|it| it.to_string())),
        ]
    }

    /// `spread_group=web,lease_minutes=60`
    fn written(&self) -> String {
        let parts = self.parts().into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
        parts.collect::<Vec<_>>().join(",")
    }

    /// What differs from what was written when it was made.
    fn differences(&self, before: &str) -> Vec<Difference> {
        let before: BTreeMap<&str, &str> = before.split(',').filter_map(|it| it.split_once('=')).collect();
        let differs = |(name, value): (&str, Option<String>)| {
            Difference::between(name, or_none(before.get(name)), or_none(value.as_ref()), false)
        };
        self.parts().into_iter().filter_map(differs).collect()
    }
}

fn own_tags(node: &Node) -> Read<BTreeMap<String, TagValue>> {
    let tags = tags(node)?;
    match [STACK, OPTIONS].iter().find(|it| tags.contains_key(**it)) {
        Some(ours) => {
            let mistake = Mistake::new(node.line, "is reserved for stacks; choose another name");
            Err(Mistake { path: format!(".{ours}"), ..mistake })
        }
        None => Ok(tags),
    }
}

impl Allocation {
    pub fn read(fields: &mut Fields) -> Option<Self> {
        let project = fields.required("project", text);
        let name = fields.required("name", text);
        let sku = fields.required("sku", text);
        let gpus = fields.required("gpus", number);
        let nodes = fields.optional("nodes", number);
        let region = fields.optional("region", text);
        let options = RequestOptions {
            same_fabric: fields.optional("same_fabric", flag),
            spread_group: fields.optional("spread_group", text),
            lease_minutes: fields.optional("lease_minutes", number),
        };
        let tags = fields.optional("tags", own_tags);
        let ssh_keys = fields.optional("ssh_keys", list(text));
        let (project, name, sku, gpus) = (project?, name?, sku?, gpus?);
        Some(Self { project, name, sku, gpus, nodes, region, options, tags, ssh_keys })
    }

    pub fn name(&self) -> String {
        format!("{}/{}", self.project, self.name)
    }

    pub fn references(&self) -> Vec<Reference<'_>> {
        let keys = self.ssh_keys.iter().flatten().map(Reference::SshKey);
        [Reference::Project(&self.project), Reference::Sku(&self.sku)].into_iter().chain(keys).collect()
    }

    fn all_tags(&self, world: &World<'_>) -> BTreeMap<String, TagValue> {
        let mut tags = self.tags.clone().unwrap_or_default();
        let value = |text: &str| text.parse().expect("labels and numbers fit into a tag");
        tags.insert(STACK.into(), value(world.stack.as_str()));
        let options = self.options.written();
        if !options.is_empty() {
            tags.insert(OPTIONS.into(), value(&options));
        }
        tags
    }

    fn differences(&self, there: &allocations::Allocation) -> Vec<Difference> {
        let mut found: Vec<Difference> = [
            said("sku", &there.sku, Some(&self.sku), false),
            said("gpus", there.gpus, Some(&self.gpus), false),
            said("nodes", there.nodes, self.nodes.as_ref(), false),
            said("region", or_none(there.region.as_ref()), self.region.as_ref(), false),
        ]
        .into_iter()
        .flatten()
        .collect();
        found.extend(self.options.differences(tag(there, OPTIONS).unwrap_or_default()));
        if let Some(tags) = &self.tags {
            let before = |name: &str| there.tags.iter().find(|(it, _)| it.as_str() == name).map(|(_, value)| value);
            let gone = there.tags.keys().map(Label::as_str).filter(|it| ![STACK, OPTIONS].contains(it));
            let names: std::collections::BTreeSet<&str> = tags.keys().map(String::as_str).chain(gone).collect();
            found.extend(names.into_iter().filter_map(|name| {
                let (before, after) = (or_none(before(name)), or_none(tags.get(name)));
                Difference::between(&format!("tags.{name}"), before, after, false)
            }));
        }
        found
    }
}

fn tag<'a>(there: &'a allocations::Allocation, name: &str) -> Option<&'a str> {
    there.tags.iter().find(|(it, _)| it.as_str() == name).map(|(_, value)| value.as_str())
}

/// Whether an allocation carries the name of a stack.
pub fn is_of(there: &allocations::Allocation, stack: &Label) -> bool {
    tag(there, STACK) == Some(stack.as_str())
}

/// Whether it still wants or holds something for its project.
fn is_wanted(there: &allocations::Allocation) -> bool {
    let over = [
        AllocationState::Releasing,
        AllocationState::Released,
        AllocationState::Failed,
        AllocationState::ReleaseFailed,
    ];
    !over.iter().any(|it| there.state == *it)
}

/// Of a project, newest first; by name where one is given.
pub async fn wanted_in(
    world: &World<'_>,
    project_id: ProjectId,
    name: Option<&Name>,
) -> Result<Vec<allocations::Allocation>, Failure> {
    let mut all = in_state(world, project_id, name, None).await?;
    all.retain(is_wanted);
    Ok(all)
}

async fn in_state(
    world: &World<'_>,
    project_id: ProjectId,
    name: Option<&Name>,
    state: Option<AllocationState>,
) -> Result<Vec<allocations::Allocation>, Failure> {
    let query = AllocationFilter { state, name: name.cloned(), ..AllocationFilter::default() };
    world.context.all::<ListAllocations>(ProjectPath { project_id }, query).await
}

pub async fn release(world: &World<'_>, there: &allocations::Allocation) -> Result<(), Failure> {
    let path = AllocationPath { project_id: there.project_id, allocation_id: there.id };
    world.context.ask::<ReleaseAllocation>(path).await?;
    Ok(())
}

impl Kind for Allocation {
    type Handle = allocations::Allocation;

    async fn look(&self, world: &World<'_>) -> Result<Lookup<Self::Handle>, Failure> {
        let Some(project_id) = world.project(&self.project).await? else { return Ok(Lookup::absent()) };
        let mut all = wanted_in(world, project_id, Some(&self.name)).await?;
        if all.len() > 1 {
            return Ok(Lookup::InTheWay("several allocations have this name; release all but one".into()));
        }
        let Some(there) = all.pop() else {
            // The newest that is over: what is made now is another than that.
            let mut over = Vec::new();
            for state in [None, Some(AllocationState::Released), Some(AllocationState::Failed)] {
                over.extend(in_state(world, project_id, Some(&self.name), state).await?.into_iter().map(|it| it.id));
            }
            let newest = over.into_iter().max_by_key(|it| it.uuid());
            return Ok(Lookup::Absent { after: newest.map(|it| it.to_string()).unwrap_or_default() });
        };
        if !is_of(&there, world.stack) {
            let why = format!(
                "{} has this name but belongs to another stack or none; release it or choose another name",
                there.id
            );
            return Ok(Lookup::InTheWay(why));
        }
        let note = (there.state != AllocationState::Active).then(|| format!("is {}", there.state));
        let differences = self.differences(&there);
        let removal = Removal::Also("will be released and its data deleted".into());
        Ok(Lookup::Present { handle: there, differences, note, removal })
    }

    async fn create(&self, world: &World<'_>, salt: &str) -> Result<Creation, Failure> {
        let project_id = world.project_needed(&self.project).await?;
        let ssh_keys = match &self.ssh_keys {
            Some(names) => Some(chosen(world, names).await?),
            None => None,
        };
        let spec = AllocationSpec {
            name: Some(self.name.clone()),
            sku: self.sku.clone(),
            gpus: self.gpus,
            nodes: self.nodes.unwrap_or_else(|| Within::new(1).expect("within the bounds")),
            region: self.region.clone(),
            same_fabric: self.options.same_fabric.unwrap_or_default(),
            spread_group: self.options.spread_group.clone(),
            lease_minutes: self.options.lease_minutes,
            tags: self.all_tags(world),
            ssh_keys,
        };
        let answer = world.send_once::<CreateAllocation>(ProjectPath { project_id }, spec, salt).await?;
        let made: allocations::Allocation = exact::read(&answer)?;
        Ok(Creation { id: made.id.to_string(), secret: None })
    }

    async fn change(&self, _: &World<'_>, _: Self::Handle) -> Result<(), Failure> {
        unreachable!("no field of an allocation can change in place")
    }

    async fn remove(&self, world: &World<'_>, there: Self::Handle) -> Result<(), Failure> {
        release(world, &there).await
    }
}

async fn chosen(world: &World<'_>, names: &[Name]) -> Result<Vec<SshKeyId>, Failure> {
    let all = world.ssh_keys().await?;
    let one = |name: &Name| {
        let found = all.iter().find(|it| it.name.as_str().eq_ignore_ascii_case(name.as_str()));
        let missing = || {
            Failure::new(
                Class::NotFound,
                format!("SSH key `{name}` not found"),
                "Declare it in the stack, or add it with `gpuaas ssh-keys add`.",
            )
        };
        found.map(|it| it.id).ok_or_else(missing)
    };
    names.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_the_server_does_not_show_are_stored_and_compared() {
        let options = RequestOptions {
            same_fabric: Some(true),
            spread_group: Some("a".repeat(63).parse().unwrap()),
            lease_minutes: Within::new(525_600),
        };
        assert!(options.written().parse::<TagValue>().is_ok());
        assert!(options.differences(&options.written()).is_empty());
        let later = RequestOptions { lease_minutes: Within::new(60), ..options };
        let before = RequestOptions { spread_group: later.spread_group.clone(), ..RequestOptions::default() }.written();
        let fields: Vec<_> = later.differences(&before).into_iter().map(|it| (it.field, it.before, it.after)).collect();
        let said = |field: &str, after: &str| (field.to_owned(), "none".to_owned(), after.to_owned());
        assert_eq!(fields, [said("same_fabric", "true"), said("lease_minutes", "60")]);
        assert_eq!(RequestOptions::default().written(), "");
    }
}
