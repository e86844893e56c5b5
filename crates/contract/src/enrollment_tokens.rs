//! Enrollment tokens: what a new host shows once to become a node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Nothing, Open, Page, ShownSecret, Timestamp, Within, endpoint, event,
    id::{EnrollmentTokenId, NodeId, PoolId},
    list_query, words,
};

endpoint! {
    /// Create a token that enrolls one host into a pool.
    ///
    /// The secret is shown once, in this response.
    CreateEnrollmentToken = POST "/v1/platform/enrollment-tokens" {
        body: EnrollmentTokenSpec,
        returns: 201 NewEnrollmentToken,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequiredSealed,
        audit: Action("enrollment_token.create"),
        problems: [InvalidValue],
    }
}

endpoint! {
    /// List enrollment tokens.
    ListEnrollmentTokens = GET "/v1/platform/enrollment-tokens" {
        query: EnrollmentTokenFilter,
        returns: 200 Page<EnrollmentToken>,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Revoke an enrollment token.
    ///
    /// A host that used it can request its certificate again until the token expires, in case the response
    /// was lost, but not once the token is revoked. The node that it created stays; retire it separately.
    RevokeEnrollmentToken = DELETE "/v1/platform/enrollment-tokens/{enrollment_token_id}" {
        path: EnrollmentTokenPath,
        returns: 200 Nothing,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("enrollment_token.revoke"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EnrollmentTokenPath {
    pub enrollment_token_id: EnrollmentTokenId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnrollmentTokenSpec {
    pub pool_id: PoolId,
    /// How long it can be used. Default: the policy `nodes.enrollment_minutes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_minutes: Option<Within<1, 10080>>,
}

list_query! {
    EnrollmentTokenFilter {
        /// Only tokens in this condition.
        status: EnrollmentTokenStatus,
        /// Only tokens for this pool.
        pool_id: PoolId,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewEnrollmentToken {
    pub token: EnrollmentToken,
    pub secret: ShownSecret,
    /// Where the host connects to.
    pub node_url: String,
    /// SHA-256 of the root certificate that the host must trust, in hex.
    pub ca_fingerprint: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnrollmentToken {
    pub id: EnrollmentTokenId,
    pub pool_id: PoolId,
    pub status: Open<EnrollmentTokenStatus>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// The node that it enrolled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node_id: Option<NodeId>,
}

words! {
    /// Whether an enrollment token can still be used.
    EnrollmentTokenStatus { Unused = "unused", Used = "used", Revoked = "revoked", Expired = "expired" }
}

event! {
    /// An enrollment token was created.
    EnrollmentTokenCreated = "enrollment_token.created", staff: PlatformFleetRead {
        id: EnrollmentTokenId,
        pool_id: PoolId,
    }
}
event! {
    /// An enrollment token was revoked before its use.
    EnrollmentTokenRevoked = "enrollment_token.revoked", staff: PlatformFleetRead { id: EnrollmentTokenId }
}
