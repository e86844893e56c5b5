//! Mails: what is sent to people by SMTP, and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Timestamp, endpoint,
    id::{InvitationId, MailId, OrganizationId, UserId},
    list_query, moved_event,
    notification_kinds::NotificationKind,
    words,
};

endpoint! {
    /// List the mails of the platform, without addresses and contents.
    ListMails = GET "/v1/platform/mails" {
        query: MailFilter,
        returns: 200 Page<Mail>,
        auth: Platform(PlatformUsersRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.mails.list"),
        problems: [],
    }
}

list_query! {
    MailFilter {
        /// Only mails in this state.
        state: MailState,
        /// Only mails to this person.
        user_id: UserId,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mail {
    pub id: MailId,
    pub kind: Open<NotificationKind>,
    /// The recipient; absent for an invited person without an account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation_id: Option<InvitationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// The Message-ID, the same for every attempt.
    pub message_id: String,
    pub state: Open<MailState>,
    pub attempts: i32,
    /// The mail server's last status code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

words! {
    MailState {
        /// Not accepted yet.
        Pending = "pending",
        /// A mail server accepted it.
        Sent = "sent",
        /// A mail server rejected it permanently.
        Refused = "refused",
        /// All attempts failed.
        Exhausted = "exhausted",
        /// Its recipient or its reason no longer exists.
        Withdrawn = "withdrawn",
    }
}

moved_event! {
    /// A mail server accepted a mail.
    MailSent = "mail.sent", staff: PlatformUsersRead
}
moved_event! {
    /// A mail server rejected a mail permanently.
    MailRefused = "mail.refused", staff: PlatformUsersRead
}
moved_event! {
    /// All attempts to send a mail failed.
    MailExhausted = "mail.exhausted", staff: PlatformUsersRead
}
moved_event! {
    /// A mail was not sent, because it no longer has a reason.
    MailWithdrawn = "mail.withdrawn", staff: PlatformUsersRead
}
