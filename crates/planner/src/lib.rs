//! Decides where a request for capacity goes, and says why when it goes nowhere.
//!
//! The planner is a pure function over a snapshot. It performs no I/O, reads no
//! clock and draws no random numbers: the same [`Fleet`] and the same [`Ask`] give
//! the same [`Placement`], on every replica and in every test. It reserves nothing.
//! The caller commits the choice together with its slots, and asks again when
//! another replica was faster.
//!
//! ```
//! use planner::{Ask, Fleet, Node, NodeKey, OrganizationKey, Shape, SkuShape, Slot, SlotKey, plan};
//!
//! let mut node = Node::new(NodeKey(1), "rack-1-host-1", "eu-north", "default");
//! node.slots = (0..8).map(|at| Slot::gpu(SlotKey(at), "H200").on_numa((at / 4) as u32)).collect();
//! let mut fleet = Fleet::default();
//! fleet.upsert(node);
//!
//! let ask = Ask::new(OrganizationKey(7), SkuShape::new(Shape::GpuSlice).bound_to_numa(), 4);
//! let placement = plan(&fleet, &ask).expect("four of eight GPUs are on one NUMA node");
//! assert_eq!(placement.parts[0].slots.len(), 4);
//! ```
//!
//! # The rules, in the order in which they are judged
//!
//! A node is taken only when all of these hold; [`Rule`] lists them in this order.
//!
//! 1. It lies in the region and in one of the pools, has the tags, and is not one
//!    that the request must avoid.
//! 2. It is ready and healthy.
//! 3. It has slots of the kind and model. A part never mixes models.
//! 4. It may serve the organization. A node without VM isolation serves one
//!    organization until it is sanitized; a bare-metal request wants that of every node.
//! 5. Enough slots are clean and free. Bare metal takes a node whole.
//! 6. A NUMA-bound request fits on one NUMA node. A slot of unknown NUMA node is
//!    alone, unless no slot of its node has a known one.
//! 7. With `colocate_fabric`, every slot has a fabric device beside it.
//! 8. Enough CPUs, memory, disk and ports of the host are free. Bare metal takes all of
//!    them. A request without GPUs is judged by these alone.
//! 9. It is not kept free for a request that waited longer.
//! 10. A gang finds all its nodes, in one region, of one model, or takes none; and in
//!     one fabric domain where that is required.
//!
//! # What is preferred among what is allowed
//!
//! Nodes in use before fresh ones, so that whole nodes stay for bare metal. Then
//! capacity that nobody else could use: nodes that already serve the organization come
//! first, and whole nodes that anybody could share come last. Then few NUMA nodes; then
//! the NUMA group, and then the node, with the fewest slots left over. Inside a group,
//! slots that share a fabric device are taken together. A gang that prefers one fabric
//! domain takes the one where it opens the fewest fresh nodes, of those the smallest; or
//! else few domains.
//!
//! A request without slots goes to hosts without free slots first, and there to those
//! with the least room that may do, in powers of two.
//!
//! `tests/planner/first_fit.rs` measures these choices against naive first fit.
//!
//! # Who waited too long
//!
//! [`could_run`] says whether a request would fit if nothing else were there, and
//! [`soonest`] on which nodes it would fit first if nothing new came there. The caller
//! decides whose turn that is and sets `kept_for` of those nodes, which then take
//! nothing else; [`Fleet::keep`] lifts it for the one that they are kept for.
//!
//! # Why it is fast
//!
//! [`Fleet`] keeps free nodes on shelves by region, pool and kind of slot, and there
//! by their *signature*: how many free slots each NUMA group has. Ten thousand nodes
//! have a few dozen signatures, so a decision scores those and not the nodes. A change
//! of one node moves that node alone.
//!
//! # Why not
//!
//! [`plan`] says no in a word. [`explain`] looks at every node, gives each one's
//! [`Reason`], and searches for the smallest [`Change`] that would let the request run.

mod ask;
mod explain;
mod fill;
mod fleet;
mod gang;
mod groups;
mod index;
mod judge;
mod key;
mod node;
mod plan;
mod prospect;
mod reason;
mod resources;

pub use ask::{Ask, Invalid, SameFabric, SkuShape};
pub use explain::{Audience, Change, Explanation, Rejection, explain};
pub use fleet::Fleet;
pub use groups::SlotClass;
pub use key::{AllocationKey, Name, NodeKey, OrganizationKey, SlotKey};
pub use node::{Condition, Health, Node, Slot, SlotKind, State, Unavailable};
pub use plan::{Denial, Part, Placement, plan};
pub use prospect::{Ends, could_run, soonest};
pub use reason::{Occupancy, Reason, Rule};
pub use resources::{HostResource, HostResources, Resource, Resources};
pub use shapes::Shape;
