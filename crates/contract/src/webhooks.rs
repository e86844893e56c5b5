//! Webhooks: addresses of an organization's own to which its events are sent,
//! signed. What became of each event is in [`crate::webhook_deliveries`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, ShownSecret, Timestamp, endpoint, event,
    id::{OrganizationId, WebhookId},
    list_query, moved_event,
    organizations::OrganizationPath,
    webhook_deliveries::WebhookDelivery,
    words,
};

endpoint! {
    /// Create a webhook: matching events are sent to its URL.
    ///
    /// The signing secret is shown once, in this response.
    CreateWebhook = POST "/v1/organizations/{organization_id}/webhooks" {
        path: OrganizationPath,
        body: WebhookSpec,
        returns: 201 NewWebhook,
        auth: Organization(WebhooksWrite),
        lane: Default,
        idempotency: KeyRequiredSealed,
        audit: Action("webhook.create"),
        problems: [InvalidValue, LimitReached, Suspended],
    }
}

endpoint! {
    /// List the webhooks of an organization; deleted ones only on request.
    ListWebhooks = GET "/v1/organizations/{organization_id}/webhooks" {
        path: OrganizationPath,
        query: WebhookFilter,
        returns: 200 Page<Webhook>,
        auth: Organization(WebhooksRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one webhook.
    GetWebhook = GET "/v1/organizations/{organization_id}/webhooks/{webhook_id}" {
        path: WebhookPath,
        returns: 200 Webhook,
        auth: Organization(WebhooksRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Change the URL, the events or the description of a webhook.
    ///
    /// Waiting deliveries go to the new URL.
    ChangeWebhook = PATCH "/v1/organizations/{organization_id}/webhooks/{webhook_id}" {
        path: WebhookPath,
        body: WebhookChange,
        returns: 200 Webhook,
        auth: Organization(WebhooksWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("webhook.change"),
        problems: [NotFound, Conflict, InvalidValue, Suspended],
    }
}

endpoint! {
    /// Delete a webhook and its secret; nothing is sent to it any more.
    DeleteWebhook = DELETE "/v1/organizations/{organization_id}/webhooks/{webhook_id}" {
        path: WebhookPath,
        returns: 200 Webhook,
        auth: Organization(WebhooksWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("webhook.delete"),
        problems: [NotFound, Conflict, Suspended],
    }
}

endpoint! {
    /// Rotate the secret of a webhook.
    ///
    /// The new secret is shown once, in this response. The old one also signs until `previous_secret_until`,
    /// so that a receiver can switch.
    RotateWebhookSecret = POST "/v1/organizations/{organization_id}/webhooks/{webhook_id}/rotate" {
        path: WebhookPath,
        returns: 200 NewWebhook,
        auth: Organization(WebhooksWrite),
        lane: Default,
        idempotency: KeyRequiredSealed,
        audit: Action("webhook.rotate"),
        problems: [NotFound, Conflict, Suspended],
    }
}

endpoint! {
    /// Disable a webhook: nothing is sent until it is enabled again.
    ///
    /// Events in the meantime are not sent; list them instead.
    DisableWebhook = POST "/v1/organizations/{organization_id}/webhooks/{webhook_id}/disable" {
        path: WebhookPath,
        returns: 200 Webhook,
        auth: Organization(WebhooksWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("webhook.disable"),
        problems: [NotFound, Conflict, Suspended],
    }
}

endpoint! {
    /// Enable a webhook again.
    ///
    /// Events from the meantime are not sent; list them instead.
    EnableWebhook = POST "/v1/organizations/{organization_id}/webhooks/{webhook_id}/enable" {
        path: WebhookPath,
        returns: 200 Webhook,
        auth: Organization(WebhooksWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("webhook.enable"),
        problems: [NotFound, Conflict, Suspended],
    }
}

endpoint! {
    /// Send the event `webhook.tested` to a webhook, once, even to one that is disabled.
    TestWebhook = POST "/v1/organizations/{organization_id}/webhooks/{webhook_id}/test" {
        path: WebhookPath,
        returns: 202 WebhookDelivery,
        auth: Organization(WebhooksWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("webhook.test"),
        problems: [NotFound, Conflict, Suspended],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WebhookPath {
    pub organization_id: OrganizationId,
    pub webhook_id: WebhookId,
}

text! {
    /// The URL of a webhook: `https://…` without credentials or fragment.
    WebhookUrl {
        schema: { "type": "string", "minLength": 10, "maxLength": 1000, "pattern": r"^https?://[!-~]+$" },
        rule: |text| (10..=1000).contains(&text.len())
            && (text.starts_with("https://") || text.starts_with("http://"))
            && text.bytes().all(|it| it.is_ascii_graphic()),
        otherwise: "an address is `https://` and up to 1000 visible ASCII characters",
    }
}

text! {
    /// Which events: a subject, all subjects of a noun as in `allocation.*`, or `*`.
    EventPattern {
        schema: { "type": "string", "maxLength": 100, "pattern": r"^(\*|[a-z][a-z_]*\.(\*|[a-z][a-z_]*))$" },
        rule: |text| text == "*" || text.len() <= 100 && text.split_once('.').is_some_and(|(noun, what)| {
            let is_word = |it: &str| it.starts_with(|first: char| first.is_ascii_lowercase())
                && it.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
            is_word(noun) && (what == "*" || is_word(what))
        }),
        otherwise: "events are chosen by a subject like `allocation.created`, by `allocation.*` or by `*`",
    }
}

impl EventPattern {
    pub fn matches(&self, subject: &str) -> bool {
        match self.as_str().strip_suffix('*') {
            Some(start) => subject.starts_with(start),
            None => subject == self.as_str(),
        }
    }
}

text! {
    /// A description of the webhook.
    WebhookDescription {
        schema: { "type": "string", "maxLength": 200, "pattern": r"^[^\x00-\x1f\x7f]*$" },
        rule: |text| text.chars().count() <= 200 && !text.chars().any(|it| it.is_ascii_control()),
        otherwise: "a description has at most 200 characters on one line",
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookSpec {
    pub url: WebhookUrl,
    /// An event is sent once, even if several of these match.
    #[schemars(length(min = 1, max = 50))]
    pub events: Vec<EventPattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<WebhookDescription>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<WebhookUrl>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 50))]
    pub events: Option<Vec<EventPattern>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<WebhookDescription>,
}

list_query! {
    WebhookFilter {
        /// Only webhooks in this state. Default: all except deleted ones.
        state: WebhookState,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Webhook {
    pub id: WebhookId,
    pub organization_id: OrganizationId,
    pub url: WebhookUrl,
    pub events: Vec<EventPattern>,
    pub description: Option<WebhookDescription>,
    pub state: Open<WebhookState>,
    pub version: i64,
    /// Consecutive exhausted deliveries; a successful one resets it.
    pub failures: i32,
    /// Why it is disabled, when it is.
    pub disabled_reason: Option<String>,
    /// How long the previous secret also signs, after a rotation.
    pub previous_secret_until: Option<Timestamp>,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewWebhook {
    pub webhook: Webhook,
    /// The signing secret; shown once.
    pub secret: ShownSecret,
}

words! {
    WebhookState {
        Active = "active",
        /// Disabled by a person, or after too many consecutive failures.
        Disabled = "disabled",
        Deleted = "deleted",
    }
}

event! {
    /// A webhook was created.
    WebhookCreated = "webhook.created", staff: PlatformOrganizationsRead { id: WebhookId }
}
event! {
    /// The URL, events or description of a webhook changed.
    WebhookChanged = "webhook.changed", staff: PlatformOrganizationsRead { id: WebhookId }
}
event! {
    /// The secret of a webhook was rotated.
    WebhookSecretRotated = "webhook.secret_rotated", staff: PlatformOrganizationsRead { id: WebhookId }
}
event! {
    /// A test was requested. Sent only to that webhook.
    WebhookTested = "webhook.tested", staff: PlatformOrganizationsRead { id: WebhookId }
}
moved_event! {
    /// A webhook was disabled after too many consecutive failures.
    WebhookDisabled = "webhook.disabled", staff: PlatformOrganizationsRead
}
moved_event! {
    /// A webhook was disabled by a person.
    WebhookSwitchedOff = "webhook.switched_off", staff: PlatformOrganizationsRead
}
moved_event! {
    /// A webhook was enabled again.
    WebhookEnabled = "webhook.enabled", staff: PlatformOrganizationsRead
}
moved_event! {
    /// A webhook was deleted.
    WebhookDeleted = "webhook.deleted", staff: PlatformOrganizationsRead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_its_subject_its_noun_or_all() {
        let matches = |pattern: &str, subject: &str| pattern.parse::<EventPattern>().unwrap().matches(subject);
        assert!(matches("*", "a.b") && matches("project.*", "project.created"));
        assert!(matches("project.created", "project.created"));
        assert!(!matches("project.created", "project.created_again") && !matches("project.*", "projects.created"));
        for bad in ["", "project", "project.", ".created", "proj*", "*.created", "a.b.c", "A.b", "a.**", "project. *"] {
            assert!(bad.parse::<EventPattern>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_is_http_in_visible_characters() {
        for good in ["https://a.b", "http://127.0.0.1:80/x?y=z"] {
            assert!(good.parse::<WebhookUrl>().is_ok(), "{good}");
        }
        for bad in ["", "ftp://example.com", "https://", "https://a b.example", "https://\u{e9}.example"] {
            assert!(bad.parse::<WebhookUrl>().is_err(), "{bad}");
        }
    }
}
