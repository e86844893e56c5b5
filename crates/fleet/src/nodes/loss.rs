//! Why a node was given up, with what is on it. Kept where it is asked for later; the
//! sentence is worded where a person reads it.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LossCause {
    /// It was not heard for too long.
    Silent,
    /// An operator retired it as lost; in the words of that person.
    Retired {
        said: String,
    },
    /// It could not be sanitized before it serves another organization.
    NotSanitized {
        detail: String,
    },
    /// Its machine goes back to the provider before it came into service.
    MachineReturned {
        detail: String,
    },
    MachineFailed {
        detail: String,
    },
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LossCause::Silent => f.write_str("the node has been silent for too long"),
            LossCause::Retired { said } => f.write_str(said),
            LossCause::NotSanitized { detail } => f.write_str(detail),
            LossCause::MachineReturned { detail } => write!(f, "its machine is being returned: {detail}"),
            LossCause::MachineFailed { detail } => write!(f, "its machine failed: {detail}"),
        }
    }
}
