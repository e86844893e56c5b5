//! Events of an organization: read back, or watched live.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Page, Timestamp, channel, endpoint, id::EventId, list_query, organizations::OrganizationPath};

endpoint! {
    /// List the events of an organization.
    ListEvents = GET "/v1/organizations/{organization_id}/events" {
        path: OrganizationPath,
        query: EventFilter,
        returns: 200 Page<RecordedEvent>,
        auth: Organization(EventsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

channel! {
    /// Watch the events of an organization as they are committed.
    WatchEvents = "/v1/organizations/{organization_id}/events/watch" {
        path: OrganizationPath,
        query: WatchFilter,
        receives: WatchRequest,
        sends: WatchFrame,
        auth: Organization(EventsRead),
        lane: Default,
        audit: ReadOnly,
        problems: [],
    }
}

list_query! {
    EventFilter {
        /// Only events whose subject starts so, as in `project.`.
        subject: String,
        /// Only events of this resource, by its id.
        resource: String,
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchFilter {
    /// Only events whose subject starts so, as in `project.`.
    #[serde(default)]
    pub subject: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedEvent {
    pub id: EventId,
    pub message_id: String,
    pub subject: String,
    pub resource: Option<String>,
    pub at: Timestamp,
    pub correlation_id: String,
    pub data: serde_json::Value,
}

/// Nothing needs to be said; `ping` is answered with `pong`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WatchRequest {
    Ping,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WatchFrame {
    /// The watch is live: what is committed from now on is sent.
    Ready,
    Event {
        event: RecordedEvent,
    },
    /// Events were passed over because the reader was slow: list them, then go on.
    Gap {
        missed: u64,
    },
    Pong,
    /// The access ended or the server stops; connect again.
    Closing {
        reason: String,
    },
}
