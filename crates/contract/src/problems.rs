//! What a problem's `type` points to: the description of its code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::endpoint;

endpoint! {
    /// Describe a problem code.
    DescribeProblem = GET "/v1/problems/{code}" {
        path: ProblemPath,
        returns: 200 ProblemKind,
        auth: Public { because: "it says what the public document says" },
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProblemPath {
    pub code: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemKind {
    pub code: String,
    pub status: u16,
    pub title: String,
    pub advice: String,
}
