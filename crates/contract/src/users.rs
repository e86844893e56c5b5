//! People: their account, what they are to the platform, and their erasure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Email, Name, Nothing, Open, Page, Permission, PersonName, SecretText, Timestamp, endpoint, event,
    id::{KeyId, OrganizationId, ServiceAccountId, SessionId, UserId},
    list_query,
    permission::PlatformRole,
};

endpoint! {
    /// Sign up: a token is mailed to the address.
    ///
    /// Only where the platform is open to everybody (`identity.self_service`). `ConfirmSignUp` takes the
    /// token with the name and the password, so that the recipient of the mail chooses both. An invited
    /// person can use the token from the invitation mail directly. The response is the same whether or not
    /// the address already has an account.
    SignUp = POST "/v1/users" {
        body: NewUser,
        returns: 202 Nothing,
        auth: Public { because: "a newcomer has no credentials yet" },
        lane: Login,
        idempotency: Exempt { because: "a repetition sends another mail, and few are sent in an hour" },
        audit: Action("user.sign_up"),
        problems: [SelfServiceOff, MailOff],
    }
}

endpoint! {
    /// Show the caller and their permissions.
    WhoAmI = GET "/v1/whoami" {
        returns: 200 Whoami,
        auth: SignedIn,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Change the caller's own name.
    ChangeProfile = PUT "/v1/me" {
        body: Profile,
        returns: 200 User,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: Action("user.change"),
        problems: [],
    }
}

endpoint! {
    /// Change the caller's password; every other session ends.
    ChangePassword = PUT "/v1/me/password" {
        body: NewPassword,
        returns: 200 Nothing,
        auth: Person,
        lane: Login,
        second_factor: Recent,
        idempotency: Natural,
        audit: Action("user.change_password"),
        problems: [InvalidValue],
    }
}

endpoint! {
    /// List every person of the platform.
    ListUsers = GET "/v1/platform/users" {
        query: UserFilter,
        returns: 200 Page<User>,
        auth: Platform(PlatformUsersRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.users.list"),
        problems: [],
    }
}

endpoint! {
    /// Grant or revoke a person's platform role.
    SetPlatformRole = PUT "/v1/platform/users/{user_id}/role" {
        path: UserPath,
        body: PlatformRoleSpec,
        returns: 200 User,
        auth: Platform(PlatformUsersWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("user.set_platform_role"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Erase a person's data; only their id remains in logs.
    EraseUser = DELETE "/v1/platform/users/{user_id}" {
        path: UserPath,
        returns: 200 Nothing,
        auth: Platform(PlatformUsersWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("user.erase"),
        problems: [NotFound, LastOwner, Conflict],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UserPath {
    pub user_id: UserId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// Where the token is mailed.
    pub email: Email,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: PersonName,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPassword {
    pub current: SecretText,
    pub new: SecretText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlatformRoleSpec {
    /// Absent or null revokes the role.
    #[serde(default)]
    pub role: Option<PlatformRole>,
}

list_query! {
    UserFilter {
        /// Only the person with this address.
        email: Email,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct User {
    pub id: UserId,
    pub email: Email,
    pub name: PersonName,
    pub platform_role: Option<Open<PlatformRole>>,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Whoami {
    /// The person, if the caller is a person.
    pub user: Option<User>,
    pub service_account: Option<ServiceAccountSummary>,
    pub session_id: Option<SessionId>,
    pub key_id: Option<KeyId>,
    /// The credential's maximum permissions; absent if only roles limit it.
    pub scopes: Option<Vec<Open<Permission>>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceAccountSummary {
    pub id: ServiceAccountId,
    pub organization_id: OrganizationId,
    pub name: Name,
}

event! {
    /// A person's data was erased.
    UserErased = "user.erased", staff: PlatformUsersRead { id: UserId }
}
event! {
    /// The platform role of a person changed.
    PlatformRoleChanged = "user.platform_role_changed", staff: PlatformUsersRead {
        id: UserId,
        role: Option<Open<PlatformRole>>,
    }
}
