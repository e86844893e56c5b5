//! Policies: typed settings resolved project → organization → platform.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Timestamp, endpoint, event,
    id::{OrganizationId, ProjectId},
    list_query,
    organizations::OrganizationPath,
    projects::ProjectPath,
    words,
};

endpoint! {
    /// List all policies with their values for the platform.
    ListPlatformPolicies = GET "/v1/platform/policies" {
        query: PolicyFilter,
        returns: 200 Page<Policy>,
        auth: Platform(PlatformPoliciesRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Explain one policy: its value for the platform, and where it is set.
    GetPlatformPolicy = GET "/v1/platform/policies/{key}" {
        path: PlatformPolicyPath,
        returns: 200 Policy,
        auth: Platform(PlatformPoliciesRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Set a policy for the whole platform.
    ///
    /// Turning off `billing.four_eyes` only creates a proposal and answers `approval_required`: a second
    /// person must approve the named correction.
    SetPlatformPolicy = PUT "/v1/platform/policies/{key}" {
        path: PlatformPolicyPath,
        body: PolicyValue,
        returns: 200 Policy,
        auth: Platform(PlatformPoliciesWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("policy.set"),
        problems: [NotFound, Conflict, InvalidValue, ApprovalRequired],
    }
}

endpoint! {
    /// Unset a policy for the whole platform, so that the level above applies.
    ///
    /// Turning off `billing.four_eyes` only creates a proposal and answers `approval_required`: a second
    /// person must approve the named correction.
    UnsetPlatformPolicy = DELETE "/v1/platform/policies/{key}" {
        path: PlatformPolicyPath,
        returns: 200 Policy,
        auth: Platform(PlatformPoliciesWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("policy.unset"),
        problems: [NotFound, Conflict, ApprovalRequired],
    }
}

endpoint! {
    /// List all policies with their values for an organization.
    ListOrganizationPolicies = GET "/v1/organizations/{organization_id}/policies" {
        path: OrganizationPath,
        query: PolicyFilter,
        returns: 200 Page<Policy>,
        auth: Organization(PoliciesRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Explain one policy: its value for an organization, and where it is set.
    GetOrganizationPolicy = GET "/v1/organizations/{organization_id}/policies/{key}" {
        path: OrganizationPolicyPath,
        returns: 200 Policy,
        auth: Organization(PoliciesRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Set a policy for an organization.
    SetOrganizationPolicy = PUT "/v1/organizations/{organization_id}/policies/{key}" {
        path: OrganizationPolicyPath,
        body: PolicyValue,
        returns: 200 Policy,
        auth: Organization(PoliciesWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("policy.set"),
        problems: [NotFound, InvalidValue, Suspended],
    }
}

endpoint! {
    /// Unset a policy for an organization, so that the level above applies.
    UnsetOrganizationPolicy = DELETE "/v1/organizations/{organization_id}/policies/{key}" {
        path: OrganizationPolicyPath,
        returns: 200 Policy,
        auth: Organization(PoliciesWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("policy.unset"),
        problems: [NotFound, Suspended],
    }
}

endpoint! {
    /// List all policies with their values for a project.
    ListProjectPolicies = GET "/v1/projects/{project_id}/policies" {
        path: ProjectPath,
        query: PolicyFilter,
        returns: 200 Page<Policy>,
        auth: Project(PoliciesRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Explain one policy: its value for a project, and where it is set.
    GetProjectPolicy = GET "/v1/projects/{project_id}/policies/{key}" {
        path: ProjectPolicyPath,
        returns: 200 Policy,
        auth: Project(PoliciesRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Set a policy for a project.
    SetProjectPolicy = PUT "/v1/projects/{project_id}/policies/{key}" {
        path: ProjectPolicyPath,
        body: PolicyValue,
        returns: 200 Policy,
        auth: Project(PoliciesWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("policy.set"),
        problems: [NotFound, InvalidValue, Suspended],
    }
}

endpoint! {
    /// Unset a policy for a project, so that the level above applies.
    UnsetProjectPolicy = DELETE "/v1/projects/{project_id}/policies/{key}" {
        path: ProjectPolicyPath,
        returns: 200 Policy,
        auth: Project(PoliciesWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("policy.unset"),
        problems: [NotFound, Suspended],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PlatformPolicyPath {
    pub key: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OrganizationPolicyPath {
    pub organization_id: OrganizationId,
    pub key: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProjectPolicyPath {
    pub project_id: ProjectId,
    pub key: String,
}

list_query! {
    PolicyFilter {
        /// Only policies that are set at exactly this level.
        set_here: bool,
    }
}

/// A value in its text form: a number, `true` or `false`, or a word.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyValue {
    #[schemars(length(max = 200), regex(pattern = r"^[^\x00-\x1f\x7f]*$"))]
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    pub key: String,
    pub about: String,
    /// What the number counts: `seconds`, `per_minute`, `count` …
    pub unit: String,
    /// The value that applies.
    pub value: String,
    /// Where it is set.
    pub source: Open<PolicyLevel>,
    pub default: String,
    /// The accepted values, as a sentence.
    pub accepts: String,
    /// Whether lower levels may only tighten it.
    pub guardrail: bool,
    /// The lowest level at which it can be set.
    pub lowest_level: Open<PolicyLevel>,
    /// Every level from the default to the one asked about, with its value where one is set.
    pub levels: Vec<PolicySetting>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySetting {
    pub level: Open<PolicyLevel>,
    pub value: Option<String>,
    pub set_at: Option<Timestamp>,
    /// Whether a tighter value at a higher level overrides this one.
    pub overridden: bool,
}

words! { PolicyLevel { Default = "default", Platform = "platform", Organization = "organization", Project = "project" } }

event! {
    /// A policy was set.
    PolicySet = "policy.set", staff: PlatformPoliciesRead {
        key: String,
        level: Open<PolicyLevel>,
        project_id: Option<ProjectId>,
        value: String,
    }
}
event! {
    /// A policy was unset.
    PolicyUnset = "policy.unset", staff: PlatformPoliciesRead {
        key: String,
        level: Open<PolicyLevel>,
        project_id: Option<ProjectId>,
    }
}
