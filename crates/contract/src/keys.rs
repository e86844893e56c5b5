//! Keys: long-lived credentials for programs, scoped, expiring and revocable.
//! Personal keys act as their owner; those of service accounts are made in
//! [`crate::service_accounts`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Name, Nothing, Open, Page, Permission, ShownSecret, Timestamp, endpoint, event, id::KeyId, list_query};

endpoint! {
    /// Create a key that acts as the caller, limited to the scopes given.
    ///
    /// The secret is shown once, in this response.
    CreatePersonalKey = POST "/v1/me/keys" {
        body: KeySpec,
        returns: 201 NewKey,
        auth: Person,
        lane: Default,
        second_factor: Recent,
        idempotency: KeyRequiredSealed,
        audit: Action("key.create"),
        problems: [InvalidValue, LimitReached],
    }
}

endpoint! {
    /// List the caller's own keys.
    ListPersonalKeys = GET "/v1/me/keys" {
        query: KeyFilter,
        returns: 200 Page<Key>,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Revoke one of the caller's own keys; it stops working within a second.
    RevokePersonalKey = DELETE "/v1/me/keys/{key_id}" {
        path: KeyPath,
        returns: 200 Nothing,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: Action("key.revoke"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KeyPath {
    pub key_id: KeyId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeySpec {
    pub name: Name,
    /// The key's maximum permissions; the owner's role still limits it.
    #[schemars(length(min = 1, max = 64))]
    pub scopes: Vec<Permission>,
    /// When it expires; policy limits the maximum.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

list_query! {
    KeyFilter {
        /// Only keys with this name.
        name: Name,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    pub id: KeyId,
    pub name: Name,
    /// The first characters of the secret, to recognize it by.
    pub prefix: String,
    pub scopes: Vec<Open<Permission>>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewKey {
    pub key: Key,
    pub secret: ShownSecret,
}

event! {
    /// A key was created.
    KeyCreated = "key.created", staff: PlatformUsersRead { id: KeyId, name: Name }
}
event! {
    /// A key was revoked.
    KeyRevoked = "key.revoked", staff: PlatformUsersRead { id: KeyId }
}
