//! Streams into an allocation: what may be opened and by whom (grants), what
//! travels on a terminal's stream (frames), and where. The agent dials every
//! gateway of its region; on that connection it is the HTTP/2 server, so that the
//! gateway opens streams and each has a window of its own.

mod environment;
mod frame;
mod grant;

pub use environment::Environment;
pub use frame::{
    BadFrame, Closing, Frame, MAX_DATA_BYTES, MAX_FRAME_BYTES, Signal, StreamEnded, StreamOpened, WINDOW_BYTES,
};
pub use grant::{Grant, Kind, Limits, SignedGrant, Size};

use serde::{Deserialize, Serialize};

/// Where an agent serves streams on the connection that it dialled.
pub const PATH: &str = "/stream/v1";
/// The header with the signed grant: its JSON in unpadded base64url.
pub const GRANT_HEADER: &str = "gpuaas-grant";
/// The header with the [`Environment`] of a shell or command, where there is one.
pub const ENVIRONMENT_HEADER: &str = "gpuaas-environment";
/// The application protocol that agent and gateway agree on in TLS.
pub const ALPN: &[u8] = b"gpuaas-stream/1";

/// A gateway that a host should be connected to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GatewayRef {
    /// Its id; its certificate says `gpuaas://gateway/<id>`.
    pub id: String,
    /// Where hosts reach it: `https://host:port`.
    pub url: String,
}

/// Why an agent does not open a stream; `code` of the problem in its answer.
pub mod refusals {
    pub const MALFORMED: &str = "malformed_grant";
    pub const FORGED: &str = "forged_grant";
    pub const OTHER_NODE: &str = "grant_for_another_node";
    pub const OTHER_GATEWAY: &str = "grant_for_another_gateway";
    pub const EXPIRED: &str = "expired_grant";
    pub const USED: &str = "used_grant";
    pub const OLD_EPOCH: &str = "grant_of_an_old_epoch";
    pub const NO_ALLOCATION: &str = "no_such_allocation";
    pub const NO_SESSION: &str = "no_such_session";
    pub const TOO_MANY: &str = "too_many_sessions";
    pub const TOO_MANY_STREAMS: &str = "too_many_streams";
    pub const UNSUPPORTED: &str = "unsupported_kind";
    pub const NOTHING_LISTENS: &str = "nothing_listens";
    pub const FOREIGN_PORT: &str = "port_of_another";
    pub const FAILED: &str = "could_not_start";
}
