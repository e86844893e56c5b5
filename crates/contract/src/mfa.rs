//! Multi-factor authentication: the second factors of a person's account, the
//! challenges that ask for one, and the recovery codes for a lost device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Name, Nothing, Open, SecretText, ShownSecret, Timestamp, endpoint, event,
    id::{FactorId, UserId},
    sessions::TokenSet,
    words,
};

endpoint! {
    /// Finish signing in with a second factor.
    ///
    /// Answers the challenge of an `mfa_required` problem. No session exists before.
    FinishMfa = POST "/v1/sessions/mfa" {
        body: MfaAnswer,
        returns: 201 TokenSet,
        auth: Public { because: "the challenge in the body proves the first factor" },
        lane: Login,
        idempotency: Exempt { because: "a challenge works once" },
        audit: Action("session.mfa"),
        problems: [Unauthenticated, InvalidValue, TooManyRequests],
    }
}

endpoint! {
    /// Show the caller's second factors, and what policy requires of them.
    GetMfa = GET "/v1/me/mfa" {
        returns: 200 Mfa,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Start adding an authenticator app (TOTP).
    ///
    /// The secret is shown once, in this response. Nothing is enrolled until `ConfirmTotp` receives a code
    /// from the app.
    StartTotp = POST "/v1/me/mfa/totp" {
        returns: 200 TotpStarted,
        auth: Person,
        lane: Default,
        second_factor: RecentOnceEnrolled,
        idempotency: Exempt { because: "an unused start expires" },
        audit: Action("mfa.totp.start"),
        problems: [LimitReached],
    }
}

endpoint! {
    /// Add the authenticator app, with a code that it shows.
    ///
    /// The first factor of an account comes with recovery codes, shown once, in this response.
    ConfirmTotp = POST "/v1/me/mfa/totp/confirm" {
        body: TotpConfirmation,
        returns: 201 NewFactor,
        auth: Person,
        lane: Login,
        second_factor: RecentOnceEnrolled,
        idempotency: Exempt { because: "a challenge works once" },
        audit: Action("mfa.totp.confirm"),
        problems: [InvalidValue, LimitReached, TooManyRequests],
    }
}

endpoint! {
    /// Start adding a passkey.
    ///
    /// A browser creates it from `options`; send the result to `ConfirmPasskey`.
    StartPasskey = POST "/v1/me/mfa/passkeys" {
        returns: 200 PasskeyStarted,
        auth: Person,
        lane: Default,
        second_factor: RecentOnceEnrolled,
        idempotency: Exempt { because: "an unused start expires" },
        audit: Action("mfa.passkey.start"),
        problems: [LimitReached],
    }
}

endpoint! {
    /// Add the passkey that a browser created.
    ///
    /// The first factor of an account comes with recovery codes, shown once, in this response.
    ConfirmPasskey = POST "/v1/me/mfa/passkeys/confirm" {
        body: PasskeyConfirmation,
        returns: 201 NewFactor,
        auth: Person,
        lane: Login,
        second_factor: RecentOnceEnrolled,
        idempotency: Exempt { because: "a challenge works once" },
        audit: Action("mfa.passkey.confirm"),
        problems: [InvalidValue, LimitReached, TooManyRequests],
    }
}

endpoint! {
    /// Remove one of the caller's second factors.
    ///
    /// With the last one the recovery codes go too. Where policy requires a
    /// factor, the last one stays until another is added.
    RemoveFactor = DELETE "/v1/me/mfa/factors/{factor_id}" {
        path: FactorPath,
        returns: 200 Nothing,
        auth: Person,
        lane: Default,
        second_factor: Recent,
        idempotency: Natural,
        audit: Action("mfa.factor.remove"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Replace the caller's recovery codes; the old ones stop working.
    ///
    /// They are shown once, in this response.
    ReplaceRecoveryCodes = POST "/v1/me/mfa/recovery-codes" {
        returns: 201 RecoveryCodes,
        auth: Person,
        lane: Default,
        second_factor: Recent,
        idempotency: Exempt { because: "a repetition shows new codes and ends the ones before" },
        audit: Action("mfa.recovery_codes.replace"),
        problems: [Conflict],
    }
}

endpoint! {
    /// Request a challenge that confirms the second factor in this session.
    StartStepUp = POST "/v1/me/mfa/challenges" {
        returns: 200 MfaChallenge,
        auth: Person,
        lane: Default,
        second_factor: Exempt,
        idempotency: Exempt { because: "an unused challenge expires" },
        audit: Action("mfa.step_up.start"),
        problems: [Conflict],
    }
}

endpoint! {
    /// Confirm the second factor in this session (step-up).
    ///
    /// Operations that require a recent second factor then work for a while.
    FinishStepUp = POST "/v1/me/mfa/verify" {
        body: MfaAnswer,
        returns: 200 MfaVerified,
        auth: Person,
        lane: Login,
        second_factor: Exempt,
        idempotency: Exempt { because: "a challenge works once" },
        audit: Action("mfa.step_up.finish"),
        problems: [InvalidValue, TooManyRequests],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FactorPath {
    pub factor_id: FactorId,
}

text! {
    /// Bytes as base64url without padding, as browsers and WebAuthn write them.
    BinaryText {
        schema: { "type": "string", "minLength": 1, "maxLength": 16384, "pattern": "^[A-Za-z0-9_-]+$" },
        rule: |text| (1..=16384).contains(&text.len())
            && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_'),
        otherwise: "bytes are written as base64url without padding",
    }
}

/// The answer to a challenge: exactly one of the three.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MfaAnswer {
    pub challenge: SecretText,
    /// The six digits that an authenticator app shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<SecretText>,
    /// One of the recovery codes; each works once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_code: Option<SecretText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passkey: Option<PasskeyAssertion>,
}

/// The result of `navigator.credentials.get`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeyAssertion {
    pub credential_id: BinaryText,
    pub client_data_json: BinaryText,
    pub authenticator_data: BinaryText,
    pub signature: BinaryText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TotpConfirmation {
    pub challenge: SecretText,
    /// The six digits that the authenticator app shows now.
    pub code: SecretText,
    /// The person's name for the device.
    pub name: Name,
}

/// The result of `navigator.credentials.create`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeyConfirmation {
    pub challenge: SecretText,
    pub client_data_json: BinaryText,
    pub attestation_object: BinaryText,
    /// The person's name for the passkey.
    pub name: Name,
}

/// A request for a second factor. Works once and expires soon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MfaChallenge {
    /// Send it back with the answer.
    pub token: ShownSecret,
    pub expires_at: Timestamp,
    /// What the account can answer with.
    pub methods: Vec<Open<MfaMethod>>,
    /// For `navigator.credentials.get`, when the account has a passkey.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub passkey: Option<PasskeyRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PasskeyRequest {
    /// What the passkey signs, as base64url.
    pub challenge: String,
    pub rp_id: String,
    pub credential_ids: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TotpStarted {
    /// Send it back with the confirmation.
    pub challenge: ShownSecret,
    /// For typing into an authenticator app, in base32.
    pub secret: ShownSecret,
    /// The same as an `otpauth://` address, for a QR code.
    pub uri: ShownSecret,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PasskeyStarted {
    /// Send it back with the confirmation.
    pub challenge: ShownSecret,
    pub options: PasskeyOptions,
    pub expires_at: Timestamp,
}

/// For `navigator.credentials.create`; bytes as base64url.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PasskeyOptions {
    pub challenge: String,
    pub rp_id: String,
    pub rp_name: String,
    pub user_id: String,
    pub user_name: String,
    /// COSE algorithms that are accepted, the preferred one first.
    pub algorithms: Vec<i32>,
    /// Passkeys that the account has already.
    pub exclude_credential_ids: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NewFactor {
    pub factor: Factor,
    /// With the first factor of an account.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recovery_codes: Option<Vec<ShownSecret>>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryCodes {
    pub recovery_codes: Vec<ShownSecret>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MfaVerified {
    pub verified_at: Timestamp,
    /// Until when it counts as recent.
    pub recent_until: Timestamp,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Mfa {
    pub factors: Vec<Factor>,
    /// How many recovery codes are unused.
    pub recovery_codes_left: u32,
    /// Whether a policy requires the account to have a factor.
    pub required: bool,
    /// When the second factor was last used in this session.
    pub verified_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Factor {
    pub id: FactorId,
    pub kind: Open<FactorKind>,
    pub name: Name,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

words! {
    /// What a second factor is.
    FactorKind { Totp = "totp", Passkey = "passkey" }
}

words! {
    /// How a challenge can be answered.
    MfaMethod { Totp = "totp", Passkey = "passkey", RecoveryCode = "recovery_code" }
}

event! {
    /// A second factor was added to an account.
    FactorAdded = "mfa_factor.added", staff: PlatformUsersRead {
        id: FactorId,
        user_id: UserId,
        kind: Open<FactorKind>,
        name: Name,
    }
}
event! {
    /// A second factor was removed from an account.
    FactorRemoved = "mfa_factor.removed", staff: PlatformUsersRead {
        id: FactorId,
        user_id: UserId,
        kind: Open<FactorKind>,
        name: Name,
    }
}
event! {
    /// An operator removed every second factor of an account.
    MfaReset = "mfa_factor.reset", staff: PlatformUsersRead { user_id: UserId }
}
event! {
    /// A person replaced their recovery codes.
    RecoveryCodesReplaced = "recovery_code.replaced", staff: PlatformUsersRead { user_id: UserId }
}
event! {
    /// A recovery code was used in place of a second factor.
    RecoveryCodeUsed = "recovery_code.used", staff: PlatformUsersRead { user_id: UserId, left: u32 }
}
