//! Service accounts: programs that act in an organization under a role.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Name, Nothing, Open, Page, Role, Timestamp, endpoint, event,
    id::{KeyId, OrganizationId, ServiceAccountId},
    keys::{Key, KeyFilter, KeySpec, NewKey},
    list_query,
    organizations::OrganizationPath,
};

endpoint! {
    /// Create a service account.
    CreateServiceAccount = POST "/v1/organizations/{organization_id}/service-accounts" {
        path: OrganizationPath,
        body: ServiceAccountSpec,
        returns: 201 ServiceAccount,
        auth: Organization(ServiceAccountsWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("service_account.create"),
        problems: [NameTaken, ScopeExceeded, LimitReached, Suspended],
    }
}

endpoint! {
    /// List service accounts.
    ListServiceAccounts = GET "/v1/organizations/{organization_id}/service-accounts" {
        path: OrganizationPath,
        query: ServiceAccountFilter,
        returns: 200 Page<ServiceAccount>,
        auth: Organization(ServiceAccountsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one service account.
    GetServiceAccount = GET "/v1/organizations/{organization_id}/service-accounts/{service_account_id}" {
        path: ServiceAccountPath,
        returns: 200 ServiceAccount,
        auth: Organization(ServiceAccountsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Delete a service account and revoke its keys.
    DeleteServiceAccount = DELETE "/v1/organizations/{organization_id}/service-accounts/{service_account_id}" {
        path: ServiceAccountPath,
        returns: 200 Nothing,
        auth: Organization(ServiceAccountsWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("service_account.delete"),
        problems: [NotFound, ScopeExceeded, Suspended],
    }
}

endpoint! {
    /// Create a key for a service account.
    ///
    /// The secret is shown once, in this response.
    CreateServiceAccountKey = POST "/v1/organizations/{organization_id}/service-accounts/{service_account_id}/keys" {
        path: ServiceAccountPath,
        body: KeySpec,
        returns: 201 NewKey,
        auth: Organization(ServiceAccountsWrite),
        lane: Default,
        idempotency: KeyRequiredSealed,
        audit: Action("service_account.key.create"),
        problems: [NotFound, InvalidValue, ScopeExceeded, LimitReached, Suspended],
    }
}

endpoint! {
    /// List the keys of a service account.
    ListServiceAccountKeys = GET "/v1/organizations/{organization_id}/service-accounts/{service_account_id}/keys" {
        path: ServiceAccountPath,
        query: KeyFilter,
        returns: 200 Page<Key>,
        auth: Organization(ServiceAccountsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Revoke a key of a service account; it stops working within a second.
    RevokeServiceAccountKey = DELETE "/v1/organizations/{organization_id}/service-accounts/{service_account_id}/keys/{key_id}" {
        path: ServiceAccountKeyPath,
        returns: 200 Nothing,
        auth: Organization(ServiceAccountsWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("service_account.key.revoke"),
        problems: [NotFound, Suspended],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ServiceAccountPath {
    pub organization_id: OrganizationId,
    pub service_account_id: ServiceAccountId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ServiceAccountKeyPath {
    pub organization_id: OrganizationId,
    pub service_account_id: ServiceAccountId,
    pub key_id: KeyId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceAccountSpec {
    pub name: Name,
    pub role: Role,
}

list_query! {
    ServiceAccountFilter {
        /// Only service accounts with this role.
        role: Role,
        /// Only the service account with this name.
        name: Name,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceAccount {
    pub id: ServiceAccountId,
    pub name: Name,
    pub role: Open<Role>,
    pub created_at: Timestamp,
}

event! {
    /// A service account was created.
    ServiceAccountCreated = "service_account.created", staff: PlatformOrganizationsRead {
        id: ServiceAccountId,
        name: Name,
    }
}
event! {
    /// A service account and its keys were deleted.
    ServiceAccountDeleted = "service_account.deleted", staff: PlatformOrganizationsRead { id: ServiceAccountId }
}
