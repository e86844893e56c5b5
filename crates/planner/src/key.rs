//! What identifies things here: the caller's ids as plain numbers, and shared names.

use std::fmt;
use std::sync::Arc;

/// A name of a region, pool, model, tag or fabric domain. It is shared, not copied,
/// because every slot of a large fleet carries some.
pub type Name = Arc<str>;

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u128);

        impl From<u128> for $name {
            fn from(id: u128) -> Self {
                Self(id)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:x})", stringify!($name), self.0)
            }
        }
    )*};
}

keys! {
    /// A host.
    NodeKey
    /// A GPU or a MIG instance; unique over the whole fleet.
    SlotKey
    /// Who asks, and whom a node serves.
    OrganizationKey
    /// What holds a slot.
    AllocationKey
}
