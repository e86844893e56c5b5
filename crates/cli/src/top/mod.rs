//! The live view behind `gpuaas top`: what is asked, how it is drawn, and the
//! terminal that it is drawn on.

mod draw;
mod screen;

pub use draw::{Size, draw};
pub use screen::{Input, Screen};

use contract::{
    Limit, Nothing, Page, Timestamp,
    allocations::{AllAllocationsFilter, Allocation, AllocationFilter, ListAllAllocations, ListAllocations},
    capacity::{CapacityFilter, CapacityLine, ListCapacity},
    nodes::{ListNodes, Node, NodeFilter},
    projects::ProjectPath,
    users::{WhoAmI, Whoami},
};

use serde_json::{Value, json};

use crate::{context::Context, exact, failure::Failure};

/// Whose things are shown.
pub enum TopScope {
    /// Platform staff see the fleet.
    Platform,
    /// Members see their project, and what can be had.
    Project(ProjectPath),
}

/// What one refresh found. Each part is one page: a refresh is three requests at most.
#[derive(Default)]
pub struct Picture {
    pub at: Option<Timestamp>,
    pub nodes: Option<Page<Node>>,
    pub allocations: Option<Page<Allocation>>,
    /// When those were read, which may be earlier.
    pub allocations_at: Option<Timestamp>,
    pub capacity: Option<Page<CapacityLine>>,
}

/// Reading what every organization holds leaves an entry in the audit log, so
/// staff's list of allocations is read again only with every so many refreshes.
const ALLOCATIONS_EVERY: usize = 15; // bound: twice a minute

impl Picture {
    /// Takes over what was seen; what was not looked at stays as it was.
    pub fn renew(&mut self, seen: Picture) {
        let before = std::mem::replace(self, seen);
        self.nodes = self.nodes.take().or(before.nodes);
        if self.allocations.is_none() {
            (self.allocations, self.allocations_at) = (before.allocations, before.allocations_at);
        }
        self.capacity = self.capacity.take().or(before.capacity);
    }

    pub fn for_programs(&self) -> Value {
        json!({
            "at": self.at,
            "capacity": self.capacity.as_ref().map(|it| &it.items),
            "nodes": self.nodes.as_ref().map(|it| &it.items),
            "allocations": self.allocations.as_ref().map(|it| &it.items),
        })
    }
}

impl TopScope {
    /// Staff see the fleet, unless they ask for a project.
    pub async fn of(context: &Context) -> Result<TopScope, Failure> {
        let me: Whoami = exact::read(&context.ask::<WhoAmI>(Nothing {}).await?)?;
        let is_staff = me.user.is_some_and(|it| it.platform_role.is_some());
        if is_staff && context.flags.project.is_none() {
            return Ok(TopScope::Platform);
        }
        Ok(TopScope::Project(context.project().await?))
    }

    /// Reads again; what is not read this time is missing.
    pub async fn look(&self, context: &Context, round: usize) -> Result<Picture, Failure> {
        let limit = Limit::new(Limit::MAX).unwrap_or_default();
        let mut picture = Picture::default();
        match self {
            TopScope::Platform => {
                let query = NodeFilter { limit, ..NodeFilter::default() };
                picture.nodes = Some(exact::read(&context.query::<ListNodes>(Nothing {}, query).await?)?);
                if round.is_multiple_of(ALLOCATIONS_EVERY) {
                    let query = AllAllocationsFilter { limit, ..AllAllocationsFilter::default() };
                    let answer = context.query::<ListAllAllocations>(Nothing {}, query).await?;
                    picture.allocations = Some(exact::read(&answer)?);
                }
            }
            TopScope::Project(path) => {
                let query = AllocationFilter { limit, ..AllocationFilter::default() };
                let answer = context.query::<ListAllocations>(path.clone(), query).await?;
                picture.allocations = Some(exact::read(&answer)?);
            }
        }
        let query = CapacityFilter { limit, ..CapacityFilter::default() };
        picture.capacity = Some(exact::read(&context.query::<ListCapacity>(Nothing {}, query).await?)?);
        if let Some(nodes) = &mut picture.nodes {
            nodes.items.sort_by(|one, other| one.name.cmp(&other.name));
        }
        picture.at = Some(Timestamp::now());
        picture.allocations_at = picture.at.filter(|_| picture.allocations.is_some());
        Ok(picture)
    }
}
