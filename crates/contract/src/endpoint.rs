//! What an endpoint is: one type that the server mounts, the client calls and
//! the OpenAPI document describes. A channel is the same for WebSockets.

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{Code, Permission};

/// One HTTP operation. Declared with [`endpoint!`](crate::endpoint!), never by hand.
pub trait Endpoint: Send + Sync + 'static {
    const INFO: EndpointInfo;
    type Path: Payload;
    type Query: Payload;
    type Body: Payload;
    type Response: Payload;
}

/// One WebSocket. Same policy, same gates; typed frames instead of a response.
pub trait Channel: Send + Sync + 'static {
    const INFO: EndpointInfo;
    type Path: Payload;
    type Query: Payload;
    type FromClient: Payload;
    type ToClient: Payload;
}

/// Anything that may travel in a request or a response.
pub trait Payload: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {}
impl<T: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static> Payload for T {}

#[derive(Debug, Clone, Copy)]
pub struct EndpointInfo {
    pub operation: &'static str,
    /// Lines of documentation; the first is the summary.
    pub about: &'static [&'static str],
    /// The contract module that declares it, which is its OpenAPI tag.
    pub module: &'static str,
    pub verb: Verb,
    pub path: &'static str,
    pub success: u16,
    /// Of a success; anything but JSON comes as [`Raw`](crate::Raw).
    pub media: &'static str,
    pub policy: Policy,
    /// What the handler may answer besides what the gates may.
    pub problems: &'static [Code],
}

/// `http::Method` has a destructor and so cannot be inspected in a `const`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    GET,
    POST,
    PUT,
    PATCH,
    DELETE,
}

/// Every cross-cutting rule of an endpoint. Leaving one out does not compile,
/// but for `organization_states`, which is the strict one unless something else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    pub auth: Auth,
    pub organization_states: OrganizationStates,
    pub lane: Lane,
    pub second_factor: SecondFactor,
    pub idempotency: Idempotency,
    pub audit: Audit,
}

/// Who may call, and so whose rows the transaction can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// Anyone; the reason is printed in the policy table. The transaction sees no row.
    Public { because: &'static str },
    /// Any principal, about itself.
    SignedIn,
    /// A person (not a service account), about themselves.
    Person,
    /// A member of the organization named by `{organization_id}` in the path.
    Organization(Permission),
    /// A member of the organization that owns `{project_id}` in the path.
    Project(Permission),
    /// Platform staff, across organizations.
    Platform(Permission),
}

/// In which states of its organization a write is accepted; reads always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrganizationStates {
    /// Only while it is active.
    Active,
    /// Also while it is suspended, and after it was closed: for what ends
    /// things, stops them, and so stops them from costing money.
    Any,
}

/// Which budget of requests a call draws from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    Default,
    Financial,
    Admin,
    Login,
    Terminal,
    Launch,
    Node,
}

/// What an endpoint asks of a person's second factor. It follows from the rest
/// of the policy, so that what moves money cannot forget it; a few endpoints
/// say otherwise, and none of those can ask for less where it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondFactor {
    /// Nothing, also where policy requires a factor.
    Exempt,
    /// An account with a factor, where policy requires one.
    Enrolled,
    /// As `Enrolled`; and who has a factor used it in this session lately.
    Recent,
    /// As `Recent` for who has a factor, and nothing of who has none yet.
    RecentOnceEnrolled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotency {
    /// Repeating it changes nothing: GET, PUT, DELETE.
    Natural,
    /// The caller must send `Idempotency-Key`; the response is stored and replayed.
    KeyRequired,
    /// As `KeyRequired`, and the stored response is sealed because it shows a secret.
    KeyRequiredSealed,
    /// A mutation whose repetition is harmless for the stated reason.
    Exempt { because: &'static str },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audit {
    Action(&'static str),
    ReadOnly,
    /// A read that leaves an audit entry, and so runs in a write transaction.
    AuditedRead(&'static str),
}

impl Lane {
    pub const ALL: [Lane; 7] =
        [Lane::Default, Lane::Financial, Lane::Admin, Lane::Login, Lane::Terminal, Lane::Launch, Lane::Node];

    pub const fn as_str(self) -> &'static str {
        match self {
            Lane::Default => "default",
            Lane::Financial => "financial",
            Lane::Admin => "admin",
            Lane::Login => "login",
            Lane::Terminal => "terminal",
            Lane::Launch => "launch",
            Lane::Node => "node",
        }
    }
}

impl SecondFactor {
    /// What follows from who may call, the lane and the verb.
    pub const fn of(auth: Auth, lane: Lane, verb: Verb) -> Self {
        let writes = !matches!(verb, Verb::GET);
        match auth {
            Auth::Public { .. } => SecondFactor::Exempt,
            // Whoever must enroll still sees their own account.
            Auth::SignedIn | Auth::Person if !writes => SecondFactor::Exempt,
            Auth::SignedIn | Auth::Person => SecondFactor::Enrolled,
            Auth::Organization(permission) | Auth::Project(permission) | Auth::Platform(permission) => {
                if writes && (permission.needs_step_up() || matches!(lane, Lane::Financial)) {
                    SecondFactor::Recent
                } else {
                    SecondFactor::Enrolled
                }
            }
        }
    }
}

impl Idempotency {
    pub const fn needs_key(self) -> bool {
        matches!(self, Idempotency::KeyRequired | Idempotency::KeyRequiredSealed)
    }
}

impl Verb {
    pub const fn as_str(self) -> &'static str {
        match self {
            Verb::GET => "GET",
            Verb::POST => "POST",
            Verb::PUT => "PUT",
            Verb::PATCH => "PATCH",
            Verb::DELETE => "DELETE",
        }
    }
}

impl EndpointInfo {
    pub fn tag(&self) -> &'static str {
        self.module.rsplit("::").next().expect("module paths are not empty")
    }

    /// Checked while compiling by [`endpoint!`](crate::endpoint!).
    pub const fn assert_sound(&self) {
        let reads = matches!(self.verb, Verb::GET);
        let acts = matches!(self.policy.audit, Audit::Action(_));
        assert!(reads != acts, "a mutation needs an audit action; a GET is ReadOnly or AuditedRead");
        let natural = matches!(self.policy.idempotency, Idempotency::Natural);
        let posts = matches!(self.verb, Verb::POST | Verb::PATCH);
        assert!(!(posts && natural), "POST and PATCH need an idempotency key, or a reason to be exempt");
        assert!(!(reads && self.policy.idempotency.needs_key()), "a GET takes no idempotency key");
        let follows = SecondFactor::of(self.policy.auth, self.policy.lane, self.verb);
        let is_recent = matches!(self.policy.second_factor, SecondFactor::Recent);
        assert!(is_recent || !matches!(follows, SecondFactor::Recent), "this cannot do without a recent second factor");
    }
}

/// Stands for "no path parameters", "no query", "no body" and "empty answer".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "An empty object.")]
pub struct Nothing {}

pub fn is_nothing<T: 'static>() -> bool {
    std::any::TypeId::of::<T>() == std::any::TypeId::of::<Nothing>()
}

/// Declares an [`Endpoint`].
///
/// ```
/// contract::endpoint! {
///     /// Say hello.
///     SayHello = POST "/v1/hello" {
///         returns: 200 contract::Nothing,
///         auth: SignedIn,
///         lane: Default,
///         idempotency: KeyRequired,
///         audit: Action("hello.say"),
///         problems: [],
///     }
/// }
/// ```
///
/// A policy that is left out does not compile:
///
/// ```compile_fail
/// contract::endpoint! {
///     /// Say hello.
///     SayHello = POST "/v1/hello" {
///         returns: 200 contract::Nothing,
///         lane: Default,
///         idempotency: KeyRequired,
///         audit: Action("hello.say"),
///         problems: [],
///     }
/// }
/// ```
///
/// Nor does a mutation that is not audited:
///
/// ```compile_fail
/// contract::endpoint! {
///     /// Say hello.
///     SayHello = POST "/v1/hello" {
///         returns: 200 contract::Nothing,
///         auth: SignedIn,
///         lane: Default,
///         idempotency: KeyRequired,
///         audit: ReadOnly,
///         problems: [],
///     }
/// }
/// ```
///
/// Nor something that moves money and does without a recent second factor:
///
/// ```compile_fail
/// contract::endpoint! {
///     /// Give money away.
///     GiveMoney = POST "/v1/platform/gifts" {
///         returns: 200 contract::Nothing,
///         auth: Platform(PlatformLedgerWrite),
///         lane: Financial,
///         second_factor: Exempt,
///         idempotency: KeyRequired,
///         audit: Action("gift.give"),
///         problems: [],
///     }
/// }
/// ```
///
/// Nor a mutation that is neither keyed nor excused:
///
/// ```compile_fail
/// contract::endpoint! {
///     /// Say hello.
///     SayHello = POST "/v1/hello" {
///         returns: 200 contract::Nothing,
///         auth: SignedIn,
///         lane: Default,
///         idempotency: Natural,
///         audit: Action("hello.say"),
///         problems: [],
///     }
/// }
/// ```
#[macro_export]
macro_rules! endpoint {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $verb:ident $path:literal {
            $(path: $path_ty:ty,)?
            $(query: $query_ty:ty,)?
            $(body: $body_ty:ty,)?
            returns: $status:literal $response:ty $(as $media:literal)?,
            auth: $auth:expr,
            $(organization_states: $states:ident,)?
            lane: $lane:ident,
            $(second_factor: $second_factor:ident,)?
            idempotency: $idempotency:expr,
            audit: $audit:expr,
            problems: [$($code:ident),* $(,)?] $(,)?
        }
    ) => {
        $(#[doc = $doc])+
        pub struct $name;
        impl $crate::Endpoint for $name {
            const INFO: $crate::EndpointInfo = {
                #[allow(unused_imports)]
                use $crate::{Auth::*, Audit::*, Idempotency::*, Permission::*};
                $crate::EndpointInfo {
                    operation: stringify!($name),
                    about: &[$($doc),+],
                    module: module_path!(),
                    verb: $crate::Verb::$verb,
                    path: $path,
                    success: $status,
                    media: $crate::endpoint!(@or_json $($media)?),
                    policy: $crate::Policy {
                        auth: $auth,
                        organization_states: $crate::endpoint!(@or_active $($states)?),
                        lane: $crate::Lane::$lane,
                        second_factor: $crate::endpoint!(@second_factor $auth, $lane, $verb $(, $second_factor)?),
                        idempotency: $idempotency,
                        audit: $audit,
                    },
                    problems: &[$($crate::Code::$code),*],
                }
            };
            type Path = $crate::endpoint!(@or_nothing $($path_ty)?);
            type Query = $crate::endpoint!(@or_nothing $($query_ty)?);
            type Body = $crate::endpoint!(@or_nothing $($body_ty)?);
            type Response = $response;
        }
        const _: () = <$name as $crate::Endpoint>::INFO.assert_sound();
    };
    (@second_factor $auth:expr, $lane:ident, $verb:ident) => {
        $crate::SecondFactor::of($auth, $crate::Lane::$lane, $crate::Verb::$verb)
    };
    (@second_factor $auth:expr, $lane:ident, $verb:ident, $asked:ident) => { $crate::SecondFactor::$asked };
    (@or_active) => { $crate::OrganizationStates::Active };
    (@or_active $states:ident) => { $crate::OrganizationStates::$states };
    (@or_json) => { $crate::JSON };
    (@or_json $media:literal) => { $media };
    (@or_nothing) => { $crate::Nothing };
    (@or_nothing $ty:ty) => { $ty };
}

/// Declares a [`Channel`].
#[macro_export]
macro_rules! channel {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $path:literal {
            path: $path_ty:ty,
            query: $query_ty:ty,
            receives: $from_client:ty,
            sends: $to_client:ty,
            auth: $auth:expr,
            lane: $lane:ident,
            audit: $audit:expr,
            problems: [$($code:ident),* $(,)?] $(,)?
        }
    ) => {
        $(#[doc = $doc])+
        pub struct $name;
        impl $crate::Channel for $name {
            const INFO: $crate::EndpointInfo = {
                #[allow(unused_imports)]
                use $crate::{Auth::*, Audit::*, Permission::*};
                $crate::EndpointInfo {
                    operation: stringify!($name),
                    about: &[$($doc),+],
                    module: module_path!(),
                    verb: $crate::Verb::GET,
                    path: $path,
                    success: 101,
                    media: $crate::JSON,
                    policy: $crate::Policy {
                        auth: $auth,
                        organization_states: $crate::OrganizationStates::Active,
                        lane: $crate::Lane::$lane,
                        second_factor: $crate::endpoint!(@second_factor $auth, $lane, GET),
                        idempotency: $crate::Idempotency::Natural,
                        audit: $audit,
                    },
                    problems: &[$($crate::Code::$code),*],
                }
            };
            type Path = $path_ty;
            type Query = $query_ty;
            type FromClient = $from_client;
            type ToClient = $to_client;
        }
        const _: () = <$name as $crate::Channel>::INFO.assert_sound();
    };
}
