//! Every kind that a stack can hold. A new one is a file in `kinds/` and a line here.

use contract::{Label, Name};

use super::{
    fields::Fields,
    kind::{self, Outcome, Verdict},
    kinds::{
        allocation::Allocation, budget::Budget, policy::Policy, price::Price, project::Project, sku::Sku,
        ssh_key::SshKey, webhook::Webhook,
    },
    plan::Action,
    world::World,
};
use crate::failure::Failure;

/// Something that a document needs and another may declare.
pub enum Reference<'a> {
    Project(&'a Name),
    Sku(&'a Label),
    SshKey(&'a Name),
}

macro_rules! things {
    ($($word:literal $variant:ident,)+) => {
        #[derive(Debug)]
        pub enum AnyDocument { $($variant($variant),)+ }

        /// In the order in which one needs the other.
        pub const KINDS: &[&str] = &[$($word),+];

        impl AnyDocument {
            /// None for a kind that is not known; none inside for one whose fields are wrong.
            pub fn read(kind: &str, fields: &mut Fields) -> Option<Option<Self>> {
                match kind {
                    $($word => Some($variant::read(fields).map(AnyDocument::$variant)),)+
                    _ => None,
                }
            }

            pub fn kind(&self) -> &'static str {
                match self { $(AnyDocument::$variant(_) => $word,)+ }
            }

            /// As people call it.
            pub fn name(&self) -> String {
                match self { $(AnyDocument::$variant(it) => it.name(),)+ }
            }

            pub fn references(&self) -> Vec<Reference<'_>> {
                match self { $(AnyDocument::$variant(it) => it.references(),)+ }
            }

            pub async fn assess(&self, world: &World<'_>) -> Result<Verdict, Failure> {
                match self { $(AnyDocument::$variant(it) => Ok(kind::decide(&kind::Kind::look(it, world).await?, world.aim)),)+ }
            }

            pub async fn carry_out(&self, world: &World<'_>, action: Action) -> Result<Outcome, Failure> {
                match self { $(AnyDocument::$variant(it) => kind::carry_out(it, world, action).await,)+ }
            }
        }
    };
}

things! {
    "sku" Sku,
    "price" Price,
    "ssh_key" SshKey,
    "project" Project,
    "policy" Policy,
    "budget" Budget,
    "webhook" Webhook,
    "allocation" Allocation,
}

impl AnyDocument {
    /// What tells it from others of its kind; the server does not tell capitals apart.
    pub fn identity(&self) -> String {
        match self {
            AnyDocument::Webhook(_) => self.name(),
            _ => self.name().to_ascii_lowercase(),
        }
    }

    pub fn rank(&self) -> usize {
        KINDS.iter().position(|it| *it == self.kind()).unwrap_or(KINDS.len())
    }
}
