//! Enrolment tokens: what a new host shows once to become a node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Nothing, Open, Page, ShownSecret, Timestamp, Within, endpoint, event,
    id::{EnrolmentTokenId, NodeId, PoolId},
    list_query, words,
};

endpoint! {
    /// Make a token that enrols one host into a pool.
    ///
    /// The secret is shown once, in this answer.
    CreateEnrolmentToken = POST "/v1/platform/enrolment-tokens" {
        body: EnrolmentTokenSpec,
        returns: 201 NewEnrolmentToken,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequiredSealed,
        audit: Action("enrolment_token.create"),
        problems: [InvalidValue],
    }
}

endpoint! {
    /// List enrolment tokens.
    ListEnrolmentTokens = GET "/v1/platform/enrolment-tokens" {
        query: EnrolmentTokenFilter,
        returns: 200 Page<EnrolmentToken>,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Revoke an enrolment token.
    ///
    /// A host that used it may ask for its certificate again until the token expires,
    /// in case the answer was lost; not once it is revoked. The node that it made stays:
    /// retire that.
    RevokeEnrolmentToken = DELETE "/v1/platform/enrolment-tokens/{enrolment_token_id}" {
        path: EnrolmentTokenPath,
        returns: 200 Nothing,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("enrolment_token.revoke"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EnrolmentTokenPath {
    pub enrolment_token_id: EnrolmentTokenId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnrolmentTokenSpec {
    pub pool_id: PoolId,
    /// How long it can be used; the policy `nodes.enrolment_minutes` says when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_minutes: Option<Within<1, 10080>>,
}

list_query! {
    EnrolmentTokenFilter {
        /// Only tokens in this condition.
        status: EnrolmentTokenStatus,
        /// Only tokens for this pool.
        pool_id: PoolId,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewEnrolmentToken {
    pub token: EnrolmentToken,
    pub secret: ShownSecret,
    /// Where the host connects to.
    pub node_url: String,
    /// SHA-256 of the root certificate that the host must trust, in hex.
    pub ca_fingerprint: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnrolmentToken {
    pub id: EnrolmentTokenId,
    pub pool_id: PoolId,
    pub status: Open<EnrolmentTokenStatus>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// The node that it enrolled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node_id: Option<NodeId>,
}

words! {
    /// Whether an enrolment token can still be used.
    EnrolmentTokenStatus { Unused = "unused", Used = "used", Revoked = "revoked", Expired = "expired" }
}

event! {
    /// An enrolment token was made.
    EnrolmentTokenCreated = "enrolment_token.created" { id: EnrolmentTokenId, pool_id: PoolId }
}
event! {
    /// An enrolment token was revoked before its use.
    EnrolmentTokenRevoked = "enrolment_token.revoked" { id: EnrolmentTokenId }
}
