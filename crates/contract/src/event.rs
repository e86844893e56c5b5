//! What an event is: one type per subject, which the outbox stores, the bus
//! carries and the AsyncAPI document describes.

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{Payload, Permission};

/// A fact that was committed. Declared with [`event!`](crate::event!).
pub trait Event: Payload + Clone + std::fmt::Debug {
    const INFO: EventInfo;
}

#[derive(Debug, Clone, Copy)]
pub struct EventInfo {
    /// `resource.happening`, as in `project.created`.
    pub subject: &'static str,
    /// What a member of the staff needs besides `platform.events:read` to read it.
    pub staff: Permission,
    pub about: &'static [&'static str],
    pub module: &'static str,
}

/// Every event of the contract.
pub fn every_event() -> Vec<EventInfo> {
    macro_rules! collect {
        ($($event:path),* $(,)?) => { vec![$(<$event as Event>::INFO),*] };
    }
    crate::for_each_event!(collect)
}

/// What a lifecycle tells the world about a move, whatever the resource.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize, JsonSchema)]
pub struct Moved {
    /// The resource that moved, in its text form.
    pub id: String,
    pub from: String,
    pub to: String,
    pub version: i64,
}

/// Declares an [`Event`]: its subject, the permission that staff need to read it, and its fields.
///
/// ```
/// contract::event! {
///     /// Somebody said hello.
///     HelloSaid = "hello.said", staff: PlatformOrganizationsRead { to: String }
/// }
/// ```
///
/// An event that does not say who of the staff may read it does not compile:
///
/// ```compile_fail
/// contract::event! {
///     /// Somebody said hello.
///     HelloSaid = "hello.said" { to: String }
/// }
/// ```
#[macro_export]
macro_rules! event {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $subject:literal, staff: $staff:ident {
            $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty),* $(,)?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        pub struct $name { $($(#[doc = $field_doc])* pub $field: $ty),* }
        impl $crate::Event for $name {
            const INFO: $crate::EventInfo = $crate::EventInfo {
                subject: $subject,
                staff: $crate::Permission::$staff,
                about: &[$($doc),+],
                module: module_path!(),
            };
        }
    };
}

/// Declares an event that a lifecycle emits when a row moves:
/// `moved_event! { /// doc  NoteDeleted = "note.deleted", staff: PlatformOrganizationsRead }`.
#[macro_export]
macro_rules! moved_event {
    ($(#[doc = $doc:literal])+ $name:ident = $subject:literal, staff: $staff:ident) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub $crate::Moved);
        impl $crate::Event for $name {
            const INFO: $crate::EventInfo = $crate::EventInfo {
                subject: $subject,
                staff: $crate::Permission::$staff,
                about: &[$($doc),+],
                module: module_path!(),
            };
        }
    };
}

/// The envelope that every consumer sees.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize, JsonSchema)]
pub struct Envelope<T> {
    /// Equal for equal events: de-duplicate by it.
    pub message_id: String,
    pub subject: String,
    pub organization_id: Option<crate::id::OrganizationId>,
    pub at: crate::Timestamp,
    /// The request or visit that caused it.
    pub correlation_id: String,
    pub data: T,
}

impl<T: DeserializeOwned> Envelope<T> {
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}
