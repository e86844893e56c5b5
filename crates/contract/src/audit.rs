//! The audit log: who did what, sealed so that nobody can change it unseen.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    Page, Timestamp, endpoint,
    id::{AuditEntryId, OrganizationId},
    list_query,
    organizations::OrganizationPath,
};

endpoint! {
    /// List the audit entries of an organization.
    ListAudit = GET "/v1/organizations/{organization_id}/audit" {
        path: OrganizationPath,
        query: AuditFilter,
        returns: 200 Page<AuditEntry>,
        auth: Organization(AuditRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// List the audit entries of the whole platform.
    ListPlatformAudit = GET "/v1/platform/audit" {
        query: AuditFilter,
        returns: 200 Page<AuditEntry>,
        auth: Platform(PlatformAuditRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.audit.list"),
        problems: [],
    }
}

endpoint! {
    /// List the seals over the audit log, oldest first.
    ///
    /// Store the newest root in another place: it reveals a log that was truncated before it.
    ListSeals = GET "/v1/platform/audit/seals" {
        query: SealRange,
        returns: 200 Seals,
        auth: Platform(PlatformAuditRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Recompute seals from the rows and report every difference.
    VerifySeals = GET "/v1/platform/audit/verify" {
        query: SealRange,
        returns: 200 SealReport,
        auth: Platform(PlatformAuditRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.audit.verify"),
        problems: [],
    }
}

list_query! {
    AuditFilter {
        /// Only entries with this action, as in `project.create`.
        action: String,
        /// Only entries about this resource, by its id.
        resource: String,
        /// Only entries by this actor, as printed in an entry.
        actor: String,
        /// Only entries with this correlation id.
        correlation_id: String,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    pub id: AuditEntryId,
    pub at: Timestamp,
    pub organization_id: Option<OrganizationId>,
    /// Who acted: `user:…`, `service_account:…`, `system:…` or `public`.
    pub actor: String,
    pub action: String,
    /// The resource, by id.
    pub resource: Option<String>,
    pub outcome: String,
    pub correlation_id: String,
    pub detail: serde_json::Value,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SealRange {
    /// Only seals after this number.
    #[serde(default, deserialize_with = "not_negative")]
    #[schemars(range(min = 0))]
    pub after: i64,
    #[serde(default)]
    pub limit: crate::Limit,
}

fn not_negative<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let number = i64::deserialize(deserializer)?;
    if number < 0 {
        Err(de::Error::custom("`after` is the number of a seal, or 0 for all of them"))
    } else {
        Ok(number)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Seals {
    pub items: Vec<Seal>,
    /// Send it as `after` for more; absent at the end.
    pub next_after: Option<i64>,
    /// The newest root of all, to be stored in another place.
    pub newest_root: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Seal {
    pub number: i64,
    pub entries: i64,
    /// Merkle root over the entries, hexadecimal.
    pub entries_root: String,
    /// Hash over the previous root and this seal, hexadecimal.
    pub root: String,
    pub key_id: String,
    pub signature: String,
    pub sealed_at: Timestamp,
    /// When retention removed the entries; the root remains.
    pub expired_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SealReport {
    pub seals_checked: i64,
    pub entries_checked: i64,
    pub findings: Vec<SealFinding>,
    /// The roots that were checked, oldest first.
    pub roots: Vec<String>,
    /// Send it as `after` to continue; absent at the end.
    pub next_after: Option<i64>,
    /// Entries that wait for the next seal; only counted at the end.
    pub unsealed: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SealFinding {
    pub seal: Option<i64>,
    /// The entry that was removed, edited or inserted, if known.
    pub entry: Option<AuditEntryId>,
    pub what: String,
}
