//! A supplier of bare machines: what there is, taking one, installing it,
//! giving it back erased. Nothing here may be believed to have happened
//! because it was asked for: whoever asks looks first and looks again.

use std::{sync::Arc, time::Duration};

use contract::providers::Erase;
use futures_util::future::BoxFuture;
use kernel::secrets::Secret;

/// How a supplier is reached.
#[derive(Debug, Clone)]
pub struct MetalAccess {
    pub url: String,
    pub api_key: Secret,
}

/// Opens suppliers; one for all of them, so that connections are shared.
pub trait MetalConnector: Send + Sync {
    fn connect(&self, access: &MetalAccess) -> Result<Arc<dyn MetalProvider>, MetalError>;
    /// Whether a key has the form that suppliers of this kind take.
    fn is_api_key(&self, text: &str) -> bool;
}

/// A supplier of bare machines.
pub trait MetalProvider: Send + Sync {
    /// The machines that match, in the supplier's own order.
    fn list<'a>(&'a self, filter: &'a MetalFilter) -> BoxFuture<'a, Result<Vec<MetalMachine>, MetalError>>;
    /// One machine, or nothing when the supplier does not know it.
    fn get<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<Option<MetalMachine>, MetalError>>;
    /// Takes one free machine that fits and marks it with the holder's name.
    fn allocate<'a>(&'a self, wish: &'a MachineRequirements) -> BoxFuture<'a, Result<MetalMachine, MetalError>>;
    /// Installs a machine that is held.
    fn install<'a>(
        &'a self,
        system_id: &'a str,
        install: &'a Install,
    ) -> BoxFuture<'a, Result<MetalMachine, MetalError>>;
    /// Erases a machine that is held and gives it back.
    fn release<'a>(
        &'a self,
        system_id: &'a str,
        erase: Erase,
        comment: &'a str,
    ) -> BoxFuture<'a, Result<MetalMachine, MetalError>>;
    fn power_on<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<(), MetalError>>;
    fn power_off<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<(), MetalError>>;
    /// Asks the machine's own controller, not what was last known.
    fn power<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<Power, MetalError>>;
}

/// Which machines to list. Everything that is said must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetalFilter {
    pub system_id: Option<String>,
    /// Held under this name.
    pub holder: Option<String>,
    pub pool: Option<String>,
    pub tags: Vec<String>,
}

/// What a machine must be like to be taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineRequirements {
    pub system_id: Option<String>,
    pub pool: Option<String>,
    pub tags: Vec<String>,
    /// The name that it is held under.
    pub holder: String,
}

/// What is installed on a machine, and what it does when it first starts.
#[derive(Debug, Clone)]
pub struct Install {
    pub series: String,
    pub user_data: Secret,
    pub holder: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetalMachine {
    pub system_id: String,
    pub hostname: String,
    pub status: MetalStatus,
    /// The supplier's own word for the status, with its message.
    pub status_text: String,
    pub power: Power,
    pub pool: Option<String>,
    pub tags: Vec<String>,
}

/// What a machine is to its supplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetalStatus {
    /// Free to be taken.
    Ready,
    Allocated,
    Installing,
    Installed,
    FailedInstall,
    Releasing,
    FailedReleasing,
    DiskErasing,
    FailedDiskErasing,
    Broken,
    /// Anything that has no part in a hand-over: new, in tests, being repaired.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    On,
    Off,
    Unknown,
}

/// Why a supplier did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum MetalError {
    #[error("the supplier's address or key cannot be used: {0}")]
    BadAccess(&'static str),
    #[error("the supplier cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    #[error("the supplier did not respond in time")]
    TimedOut,
    #[error("the supplier rejects the API key: set a new one with `gpuaas providers change`")]
    WrongKey,
    #[error("the API key does not have the permission: {detail}")]
    Forbidden { detail: String },
    #[error("the supplier does not know the machine or URL")]
    NotFound,
    #[error("the machine's state does not allow this, or no machine matches: {detail}")]
    Conflict { detail: String },
    #[error("the supplier rejected the request as invalid: {detail}")]
    BadRequest { detail: String },
    #[error("the supplier is overloaded or in maintenance")]
    Busy { after: Option<Duration> },
    #[error("the response of the supplier exceeds {most} bytes")]
    TooLarge { most: usize },
    #[error("the response of the supplier is malformed: {0}")]
    Malformed(&'static str),
    #[error("the supplier returned status {status}: {detail}")]
    Unexpected { status: u16, detail: String },
}
