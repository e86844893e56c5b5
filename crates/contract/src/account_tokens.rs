//! Tokens that travel by mail: whoever shows one receives mail at its address.
//! They make accounts, reset passwords and change addresses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Email, Nothing, PersonName, SecretText, endpoint, event, id::AccountTokenId, users::User};

endpoint! {
    /// Create an account with the token mailed to its address.
    ///
    /// The token comes from `SignUp` or from an invitation, which is accepted after signing in. The account
    /// is created with this name and password.
    ConfirmSignUp = POST "/v1/users/confirm" {
        body: SignUpConfirmation,
        returns: 200 Nothing,
        auth: Public { because: "the mailed token in the body is the credential" },
        lane: Login,
        idempotency: Exempt { because: "the token works once" },
        audit: Action("user.confirm_sign_up"),
        problems: [NotFound, InvalidValue, Conflict],
    }
}

endpoint! {
    /// Request a mail with a token that sets a new password.
    ///
    /// The response is the same whether or not the address has an account.
    RequestPasswordReset = POST "/v1/password-resets" {
        body: PasswordResetSpec,
        returns: 202 Nothing,
        auth: Public { because: "whoever forgot the password cannot sign in" },
        lane: Login,
        idempotency: Exempt { because: "a repetition sends another mail, and few are sent in an hour" },
        audit: Action("user.request_password_reset"),
        problems: [MailOff],
    }
}

endpoint! {
    /// Set a new password with a mailed token. All sessions end.
    ConfirmPasswordReset = POST "/v1/password-resets/confirm" {
        body: PasswordReset,
        returns: 200 Nothing,
        auth: Public { because: "the mailed token in the body is the credential" },
        lane: Login,
        idempotency: Exempt { because: "the token works once" },
        audit: Action("user.reset_password"),
        problems: [NotFound, InvalidValue],
    }
}

endpoint! {
    /// Request a change of address: a token is mailed to the new address.
    ///
    /// The old address stays until the token is confirmed. The response is the same whether or not the new
    /// address has an account. Callers with neither a password nor a second factor must have signed in
    /// recently.
    RequestAddressChange = POST "/v1/me/address-changes" {
        body: AddressChangeSpec,
        returns: 202 Nothing,
        auth: Person,
        lane: Login,
        second_factor: Recent,
        idempotency: Exempt { because: "a repetition sends another mail, and few are sent in an hour" },
        audit: Action("user.request_address_change"),
        problems: [InvalidValue, SignInAgain, MailOff],
    }
}

endpoint! {
    /// Change the caller's address with the token mailed to the new one.
    ///
    /// All sessions end, including this one, and the old address is notified.
    ConfirmAddressChange = POST "/v1/me/address-changes/confirm" {
        body: AccountToken,
        returns: 200 User,
        auth: Person,
        lane: Login,
        idempotency: Exempt { because: "the token works once" },
        audit: Action("user.change_address"),
        problems: [NotFound, Conflict],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountToken {
    /// The token from the mail.
    pub token: SecretText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignUpConfirmation {
    /// The token from the mail.
    pub token: SecretText,
    pub name: PersonName,
    pub password: SecretText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordResetSpec {
    pub email: Email,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordReset {
    /// The token from the mail.
    pub token: SecretText,
    pub password: SecretText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressChangeSpec {
    /// The new address.
    pub email: Email,
    /// The current password; required if the account has one.
    #[serde(default)]
    pub password: Option<SecretText>,
}

event! {
    /// Somebody signed up, and their address must be verified.
    SignUpRequested = "user.sign_up_requested", staff: PlatformUsersRead { id: AccountTokenId }
}
event! {
    /// Somebody requested a new password.
    PasswordResetRequested = "user.password_reset_requested", staff: PlatformUsersRead { id: AccountTokenId }
}
event! {
    /// Somebody requested a change of address.
    AddressChangeRequested = "user.address_change_requested", staff: PlatformUsersRead { id: AccountTokenId }
}
event! {
    /// The address of an account changed.
    AddressChanged = "user.address_changed", staff: PlatformUsersRead { id: AccountTokenId }
}
