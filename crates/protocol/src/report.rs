//! What a host says about a task: that it is so and how that was seen, that it
//! failed and where, or that it was refused.

use crate::TaskId;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub task: TaskId,
    pub resource: String,
    pub epoch: i64,
    pub version: i64,
    /// Which start of the agent did it.
    pub generation: u64,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Done { result: Done },
    Failed { step: String, code: String, detail: String, retryable: bool },
    Refused { reason: Refusal },
}

/// What was seen when the task was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Done {
    /// The GPUs were there and answered.
    Proof { gpus: Vec<String>, driver_version: Option<String>, self_test: SelfTest, stages: Vec<Stage> },
    /// What was cleaned.
    Evidence {
        stages: Vec<Stage>,
        processes_killed: u32,
        home_removed: bool,
        user_removed: bool,
        gpu_processes_left: u32,
    },
    /// How many keys the login holds.
    Keys { count: u32 },
    /// The version of the agent that runs.
    Updated { version: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTest {
    pub passed: bool,
    pub detail: String,
}

/// A step of a task and how long it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    pub name: String,
    pub took_ms: u64,
}

macro_rules! refusals {
    ($( $(#[doc = $doc:literal])* $variant:ident as $field:ident ),* $(,)?) => {
        /// Why a task was not acted on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Refusal { $( $(#[doc = $doc])* $variant ),* }

        impl Refusal {
            pub const ALL: &'static [Refusal] = &[ $( Self::$variant ),* ];

            /// The name on the wire and in metrics.
            pub fn name(self) -> &'static str {
                match self { $( Self::$variant => stringify!($field) ),* }
            }

            pub fn doc(self) -> &'static str {
                match self { $( Self::$variant => concat!($( $doc ),*) ),* }
            }
        }

        /// How many tasks were refused for each reason since the agent started.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct RefusedCounts {
            $( $(#[doc = $doc])* pub $field: u64, )*
            /// Tasks that had been done before and were answered from the store.
            pub repeated: u64,
        }

        impl RefusedCounts {
            pub fn count(&mut self, reason: Refusal) {
                match reason { $( Refusal::$variant => self.$field += 1 ),* }
            }

            pub fn of(&self, reason: Refusal) -> u64 {
                match reason { $( Refusal::$variant => self.$field ),* }
            }
        }
    };
}

refusals! {
    /// Its time is over, by the control plane's clock.
    Expired as expired,
    /// It is for another node.
    ForeignNode as foreign_node,
    /// A later task of the same resource was accepted before.
    Stale as stale,
    /// The signature does not fit the bytes.
    BadSignature as bad_signature,
    /// The key is not in the set that the host trusts.
    UnknownKey as unknown_key,
    /// The bytes are not a task in its only form.
    Malformed as malformed,
    /// It speaks a version that this agent does not.
    WrongProtocol as wrong_protocol,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_is_counted_under_its_name() {
        let mut counts = RefusedCounts::default();
        for reason in Refusal::ALL {
            counts.count(*reason);
            assert_eq!(counts.of(*reason), 1);
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
            assert_eq!(serde_json::to_value(counts).unwrap()[reason.name()], 1);
        }
    }

    #[test]
    fn outcomes_have_the_form_that_is_agreed() {
        let done = Outcome::Done { result: Done::Keys { count: 2 } };
        let text = serde_json::to_string(&done).unwrap();
        assert_eq!(text, r#"{"outcome":"done","result":{"kind":"keys","count":2}}"#);
        let refused = Outcome::Refused { reason: Refusal::ForeignNode };
        assert_eq!(serde_json::to_string(&refused).unwrap(), r#"{"outcome":"refused","reason":"foreign_node"}"#);
    }
}
