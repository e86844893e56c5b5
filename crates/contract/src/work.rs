//! Work: what the reconcilers are busy with or stuck on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Page, Timestamp, endpoint, list_query};

endpoint! {
    /// List the work queue, stuck rows first.
    ListWork = GET "/v1/platform/work" {
        query: WorkFilter,
        returns: 200 Page<WorkItem>,
        auth: Platform(PlatformWorkRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.work.list"),
        problems: [],
    }
}

endpoint! {
    /// Retry a stuck row now.
    RetryWork = POST "/v1/platform/work/{kind}/{id}/retry" {
        path: WorkPath,
        returns: 202 WorkItem,
        auth: Platform(PlatformWorkWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("work.retry"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WorkPath {
    pub kind: String,
    pub id: uuid::Uuid,
}

list_query! {
    WorkFilter {
        /// Only work of this kind.
        kind: String,
        /// Only rows that need attention, or only those that do not.
        needs_attention: bool,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItem {
    pub kind: String,
    pub id: uuid::Uuid,
    pub due_at: Timestamp,
    pub attempts: i32,
    pub needs_attention: bool,
    pub last_error: Option<String>,
}
