//! Dead letters: events that a consumer kept failing on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Timestamp, endpoint, event,
    id::{DeadLetterId, OrganizationId},
    list_query, moved_event,
    organizations::Because,
    words,
};

endpoint! {
    /// List dead letters.
    ListDeadLetters = GET "/v1/platform/dead-letters" {
        query: DeadLetterFilter,
        returns: 200 Page<DeadLetter>,
        auth: Platform(PlatformDeadLettersRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.dead_letters.list"),
        problems: [],
    }
}

endpoint! {
    /// Read one dead letter with its message.
    GetDeadLetter = GET "/v1/platform/dead-letters/{dead_letter_id}" {
        path: DeadLetterPath,
        returns: 200 DeadLetter,
        auth: Platform(PlatformDeadLettersRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.dead_letters.get"),
        problems: [NotFound],
    }
}

endpoint! {
    /// Replay a dead letter.
    ReplayDeadLetter = POST "/v1/platform/dead-letters/{dead_letter_id}/replay" {
        path: DeadLetterPath,
        returns: 202 DeadLetter,
        auth: Platform(PlatformDeadLettersWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("dead_letter.replay"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Discard a dead letter, with a reason.
    DiscardDeadLetter = POST "/v1/platform/dead-letters/{dead_letter_id}/discard" {
        path: DeadLetterPath,
        body: Because,
        returns: 200 DeadLetter,
        auth: Platform(PlatformDeadLettersWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("dead_letter.discard"),
        problems: [NotFound, Conflict],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetterPath {
    pub dead_letter_id: DeadLetterId,
}

list_query! {
    DeadLetterFilter {
        /// Only dead letters in this state.
        state: DeadLetterState,
        /// Only dead letters of this consumer.
        consumer: String,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetter {
    pub id: DeadLetterId,
    pub consumer: String,
    pub message_id: String,
    pub subject: String,
    pub organization_id: Option<OrganizationId>,
    pub state: Open<DeadLetterState>,
    pub attempts: i32,
    /// The consumer's last error.
    pub error: String,
    pub created_at: Timestamp,
    /// When it is redelivered automatically; absent if it is not.
    pub redeliver_at: Option<Timestamp>,
    pub data: serde_json::Value,
}

words! {
    DeadLetterState {
        /// Will be redelivered automatically.
        Waiting = "waiting",
        /// All attempts failed; needs attention from a person.
        Exhausted = "exhausted",
        Delivered = "delivered",
        Discarded = "discarded",
    }
}
event! {
    /// An event became a dead letter because a consumer failed on it too often. No consumer receives this event.
    DeadLetterStored = "dead_letter.stored", staff: PlatformDeadLettersRead { consumer: String, subject: String }
}
moved_event! {
    /// All redeliveries of a dead letter failed.
    DeadLetterExhausted = "dead_letter.exhausted", staff: PlatformDeadLettersRead
}
moved_event! {
    /// An operator replayed a dead letter.
    DeadLetterReplayRequested = "dead_letter.replay_requested", staff: PlatformDeadLettersRead
}
moved_event! {
    /// A dead letter was delivered.
    DeadLetterDelivered = "dead_letter.delivered", staff: PlatformDeadLettersRead
}
moved_event! {
    /// An operator discarded a dead letter.
    DeadLetterDiscarded = "dead_letter.discarded", staff: PlatformDeadLettersRead
}
