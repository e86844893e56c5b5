//! Events of an organization, or for staff of everybody: read back, or watched live.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Nothing, Page, Timestamp, channel, endpoint,
    id::{EventId, OrganizationId},
    list_query,
    organizations::OrganizationPath,
};

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
    /// Watch the events of an organization live.
    ///
    /// A person also receives their own `notification.created` and `notification.read` events of any
    /// organization, so that one connection is enough.
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

endpoint! {
    /// List the events of the whole platform.
    ///
    /// Only events about resources that the caller has permission to read are included.
    ListPlatformEvents = GET "/v1/platform/events" {
        query: PlatformEventFilter,
        returns: 200 Page<RecordedEvent>,
        auth: Platform(PlatformEventsRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.events.list"),
        problems: [],
    }
}

channel! {
    /// Watch the events of the whole platform live.
    ///
    /// Only events about resources that the caller has permission to read are included.
    WatchPlatformEvents = "/v1/platform/events/watch" {
        path: Nothing,
        query: WatchFilter,
        receives: WatchRequest,
        sends: WatchFrame,
        auth: Platform(PlatformEventsRead),
        lane: Admin,
        audit: AuditedRead("platform.events.watch"),
        problems: [],
    }
}

list_query! {
    PlatformEventFilter {
        /// Only events whose subject has this prefix, as in `node.`.
        subject: String,
        /// Only events of this resource, by its id.
        resource: String,
        /// Only events of this organization.
        organization_id: OrganizationId,
    }
}

list_query! {
    EventFilter {
        /// Only events whose subject has this prefix, as in `project.`.
        subject: String,
        /// Only events of this resource, by its id.
        resource: String,
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchFilter {
    /// Only events whose subject has this prefix, as in `project.`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Start after this event instead of now. Later events are sent first; if there are too many or they are
    /// no longer stored, a `gap` is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<EventId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedEvent {
    pub id: EventId,
    pub message_id: String,
    pub subject: String,
    /// The organization of the event; absent for the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    pub resource: Option<String>,
    pub at: Timestamp,
    pub correlation_id: String,
    pub data: serde_json::Value,
}

/// No message is required; `ping` is answered with `pong`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WatchRequest {
    Ping,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WatchFrame {
    /// The watch is live: new events are sent from now on.
    Ready,
    Event {
        event: RecordedEvent,
    },
    /// Events were skipped because the reader was slow or started too far in the past: list them, then
    /// continue.
    Gap {},
    Pong,
    /// Access ended or the server is stopping; reconnect.
    Closing {
        reason: String,
    },
}
