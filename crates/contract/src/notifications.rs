//! Notifications: what a person is told of, in the console and by mail, and
//! what they want to be told. The kinds are in [`crate::notification_kinds`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Email, Nothing, Open, Page, Timestamp, channel, endpoint, event,
    events::WatchRequest,
    id::{NotificationId, OrganizationId, UserId},
    list_query,
    mails::MailState,
    notification_kinds::NotificationKind,
};

endpoint! {
    /// List the caller's notifications.
    ListNotifications = GET "/v1/me/notifications" {
        query: NotificationFilter,
        returns: 200 Page<Notification>,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Count the caller's unread notifications.
    CountUnreadNotifications = GET "/v1/me/notifications/unread" {
        returns: 200 UnreadNotifications,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Mark one of the caller's notifications as read.
    ReadNotification = PUT "/v1/me/notifications/{notification_id}/read" {
        path: NotificationPath,
        returns: 200 Notification,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: Action("notification.read"),
        problems: [NotFound],
    }
}

endpoint! {
    /// Mark the caller's notifications as read, all or those up to one.
    ReadNotifications = PUT "/v1/me/notifications/read" {
        body: ReadMark,
        returns: 200 UnreadNotifications,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: Action("notification.read_all"),
        problems: [],
    }
}

channel! {
    /// Watch the caller's notifications live.
    WatchNotifications = "/v1/me/notifications/watch" {
        path: Nothing,
        query: Nothing,
        receives: WatchRequest,
        sends: NotificationFrame,
        auth: Person,
        lane: Default,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Show the caller's notification preferences.
    GetNotificationPreferences = GET "/v1/me/notification-preferences" {
        returns: 200 NotificationPreferences,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Turn a kind of notification on or off for the caller.
    ///
    /// Mandatory kinds cannot be turned off.
    SetNotificationPreference = PUT "/v1/me/notification-preferences/{notification_kind}" {
        path: NotificationPreferencePath,
        body: NotificationPreferenceSpec,
        returns: 200 NotificationPreference,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: Action("notification_preference.set"),
        problems: [InvalidValue],
    }
}

endpoint! {
    /// Send mail to the caller's address again, after a mail server refused it.
    ForgetMailRefusal = DELETE "/v1/me/mail-refusal" {
        returns: 200 MailAddress,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: Action("mail_refusal.forget"),
        problems: [],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NotificationPath {
    pub notification_id: NotificationId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NotificationPreferencePath {
    pub notification_kind: NotificationKind,
}

list_query! {
    NotificationFilter {
        /// Only those that are read, or only those that are not.
        is_read: bool,
        /// Only notifications of this kind.
        kind: NotificationKind,
        /// Only notifications about this organization.
        organization_id: OrganizationId,
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadMark {
    /// The newest one that was seen; later ones stay unread. Absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<NotificationId>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotificationPreferenceSpec {
    /// Whether it is shown in the console; absent leaves it unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_app: Option<bool>,
    /// Whether it is sent by mail; absent leaves it unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Notification {
    pub id: NotificationId,
    pub kind: Open<NotificationKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// The resource, by id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    pub title: String,
    /// Paragraphs of plain text.
    pub body: String,
    pub is_read: bool,
    pub created_at: Timestamp,
    /// The status of its mail, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<NotificationMail>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationMail {
    pub state: Open<MailState>,
    pub attempts: i32,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadNotifications {
    pub unread: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationPreferences {
    pub mail: MailAddress,
    pub kinds: Vec<NotificationPreference>,
}

/// The status of a person's mail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MailAddress {
    pub email: Email,
    /// Whether this installation sends mail at all.
    pub is_configured: bool,
    /// Why mail to it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<MailRefusal>,
}

/// A mail server rejected the address permanently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MailRefusal {
    /// Its status code.
    pub code: i32,
    /// Its error, without the address.
    pub reason: String,
    pub refused_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationPreference {
    pub kind: Open<NotificationKind>,
    pub about: String,
    pub in_app: bool,
    pub email: bool,
    /// Whether it cannot be turned off.
    pub is_mandatory: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum NotificationFrame {
    /// The watch is live: new notifications are sent from now on.
    Ready {
        unread: i64,
    },
    Notification {
        notification: Box<Notification>,
        unread: i64,
    },
    /// Some were read, here or elsewhere.
    Read {
        unread: i64,
    },
    /// Some may have been skipped because the reader was slow: list them, then continue.
    Gap {
        unread: i64,
    },
    Pong,
    /// Access ended or the server is stopping; reconnect.
    Closing {
        reason: String,
    },
}

event! {
    /// A person was notified.
    NotificationCreated = "notification.created", staff: PlatformUsersRead {
        id: NotificationId,
        user_id: UserId,
        kind: Open<NotificationKind>,
    }
}
event! {
    /// A person read notifications: one, or all up to it.
    NotificationRead = "notification.read", staff: PlatformUsersRead { user_id: UserId, up_to: Option<NotificationId> }
}
event! {
    /// A person changed their notification preferences.
    NotificationPreferenceSet = "notification_preference.set", staff: PlatformUsersRead {
        user_id: UserId,
        kind: Open<NotificationKind>,
    }
}
