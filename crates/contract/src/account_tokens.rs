//! Tokens that travel by mail: whoever shows one receives mail at its address.
//! They make accounts, reset passwords and change addresses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Email, Nothing, PersonName, SecretText, endpoint, event, id::AccountTokenId, users::User};

endpoint! {
    /// Create an account with the token that was mailed to its address.
    ///
    /// The token comes by `SignUp`, or with an invitation, which is accepted after signing in.
    /// The account exists from then on, with the name and the password given here.
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
    /// Ask for a mail with a token that sets a new password.
    ///
    /// The answer is the same whether or not the address has an account.
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
    /// Set a new password with a token that was mailed. Every session ends.
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
    /// Ask for another address: a token is mailed to it.
    ///
    /// The old one stays until the token is confirmed. The answer is the same
    /// whether or not the new address has an account. Who has neither a password nor
    /// a second factor must have signed in lately.
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
    /// Change the caller's address with the token that was mailed to the new one.
    ///
    /// Every session ends, this one too, and the old address is notified.
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
    /// As it is in the mail.
    pub token: SecretText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignUpConfirmation {
    /// As it is in the mail.
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
    /// As it is in the mail.
    pub token: SecretText,
    pub password: SecretText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressChangeSpec {
    /// The new address.
    pub email: Email,
    /// The current password; needed by everybody who has one.
    #[serde(default)]
    pub password: Option<SecretText>,
}

event! {
    /// Somebody signed up, and their address is to be proven.
    SignUpRequested = "user.sign_up_requested" { id: AccountTokenId }
}
event! {
    /// Somebody asked for a new password.
    PasswordResetRequested = "user.password_reset_requested" { id: AccountTokenId }
}
event! {
    /// Somebody asked for another address.
    AddressChangeRequested = "user.address_change_requested" { id: AccountTokenId }
}
event! {
    /// The address of an account changed.
    AddressChanged = "user.address_changed" { id: AccountTokenId }
}
