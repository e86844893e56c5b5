//! The live view behind `gpuaas top`: what is asked, how it is drawn, and the
//! terminal that it is drawn on.

mod draw;
mod screen;

pub use draw::{Size, draw};
pub use screen::{Key, Screen};

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
pub enum Whose {
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
    pub capacity: Option<Page<CapacityLine>>,
}

/// Reading what every organization holds leaves an entry in the audit log, so
/// staff's list of allocations is read again only with every so many refreshes.
const ALLOCATIONS_EVERY: usize = 15; // bound: twice a minute

impl Picture {
    pub fn for_programs(&self) -> Value {
        json!({
            "at": self.at,
            "capacity": self.capacity.as_ref().map(|it| &it.items),
            "nodes": self.nodes.as_ref().map(|it| &it.items),
            "allocations": self.allocations.as_ref().map(|it| &it.items),
        })
    }
}

impl Whose {
    /// Staff see the fleet, unless they ask for a project.
    pub async fn of(context: &Context) -> Result<Whose, Failure> {
        let me: Whoami = exact::read(&context.ask::<WhoAmI>(Nothing {}).await?)?;
        let is_staff = me.user.is_some_and(|it| it.platform_role.is_some());
        if is_staff && context.flags.project.is_none() {
            return Ok(Whose::Platform);
        }
        Ok(Whose::Project(context.project().await?))
    }

    /// Looks again; what is not read again stays as it was.
    pub async fn look(&self, context: &Context, picture: &mut Picture, round: usize) -> Result<(), Failure> {
        let limit = Limit::new(Limit::MAX).unwrap_or_default();
        match self {
            Whose::Platform => {
                let query = NodeFilter { limit, ..NodeFilter::default() };
                picture.nodes = Some(exact::read(&context.query::<ListNodes>(Nothing {}, query).await?)?);
                if round.is_multiple_of(ALLOCATIONS_EVERY) {
                    let query = AllAllocationsFilter { limit, ..AllAllocationsFilter::default() };
                    let answer = context.query::<ListAllAllocations>(Nothing {}, query).await?;
                    picture.allocations = Some(exact::read(&answer)?);
                }
            }
            Whose::Project(path) => {
                let query = AllocationFilter { limit, ..AllocationFilter::default() };
                let answer = context.query::<ListAllocations>(path.clone(), query).await?;
                picture.allocations = Some(exact::read(&answer)?);
            }
        }
        let query = CapacityFilter { limit, ..CapacityFilter::default() };
        picture.capacity = Some(exact::read(&context.query::<ListCapacity>(Nothing {}, query).await?)?);
        picture.at = Some(Timestamp::now());
        Ok(())
    }
}
