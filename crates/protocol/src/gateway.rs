//! What a gateway and the control plane say to each other, on the node listener,
//! each known by certificate. A gateway holds no keys that sign and sees no
//! tables: it has tickets exchanged for grants, and recordings kept, here.

use crate::stream::{Kind, SignedGrant};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// A gateway's first message: it is known by a one-time token.
#[derive(Clone, Serialize, Deserialize)]
pub struct JoinRequest {
    pub protocol: u16,
    /// Spent by this request.
    pub token: String,
    /// Certificate signing request in PEM. Its subject is ignored.
    pub csr: String,
    pub version: String,
}

impl fmt::Debug for JoinRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinRequest").field("version", &self.version).finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinAnswer {
    pub protocol: u16,
    pub gateway_id: String,
    /// PEM chain: the gateway's certificate, then the intermediate's. It is good
    /// for both ends: towards hosts it is a server's, here a client's.
    pub certificate: String,
    /// PEM bundle of the roots that vouch for hosts and control plane.
    pub roots: String,
    pub now: Timestamp,
}

impl fmt::Debug for JoinAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinAnswer").field("gateway_id", &self.gateway_id).finish_non_exhaustive()
    }
}

/// Sent every few seconds: that it lives, and what goes through it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatRequest {
    pub protocol: u16,
    pub version: String,
    /// Counts its starts; sessions of an earlier one have lost their gateway.
    pub generation: u64,
    /// A new certificate is wanted for this request, when the old one ages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csr: Option<String>,
    /// The public key that it shows to SSH clients, in OpenSSH's form, when it wants
    /// that certified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_host_key: Option<String>,
    /// How many hosts are connected.
    pub nodes: u32,
    /// What goes through it, bounded by [`limits::SESSIONS_PER_BEAT`]; the next beat follows at once when there are more.
    pub sessions: Vec<SessionBeat>,
}

/// How much went through a session, since it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionBeat {
    pub session: Uuid,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// How often its reader made it wait.
    pub stalls: u64,
    /// The fingerprint of the registered key that SSH was entered with: who removes
    /// the key ends the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatAnswer {
    pub protocol: u16,
    pub now: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
    /// For the key of the beat, in OpenSSH's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_host_certificate: Option<String>,
    /// Sessions that were in the beat and must end, each with why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub end: Vec<EndOrder>,
    /// Nodes whose certificates were revoked of late: cut them off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<String>,
    /// When to beat again.
    pub next_ms: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndOrder {
    pub session: Uuid,
    pub closing: crate::stream::Closing,
}

/// A host has connected: may it?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmitRequest {
    pub protocol: u16,
    pub node: String,
    /// The serial of the certificate that it showed, in hexadecimal.
    pub serial: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmitAnswer {
    pub protocol: u16,
    pub is_admitted: bool,
}

/// A ticket for a session and its first grant. The ticket is spent by it.
#[derive(Clone, Serialize, Deserialize)]
pub struct ExchangeRequest {
    pub protocol: u16,
    pub ticket: String,
    /// Whence the person came.
    pub address: String,
    /// The offset up to which the client has seen output, when it comes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
    /// The window's size, if the client knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<crate::stream::Size>,
    /// For web services: the SHA-256 in hexadecimal of the cookie by which the browser is
    /// known from now on, at any gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_sha256: Option<String>,
}

impl fmt::Debug for ExchangeRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeRequest").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Somebody signs in with SSH: whose key is it, and into what?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshRequest {
    pub protocol: u16,
    /// What stands before the `@`: the allocation's id, or its name with a project's;
    /// then `+` and a rank, if another of its hosts is meant than the first.
    pub login: String,
    /// The public key in OpenSSH's form, or a certificate. The gateway has seen proof that the client holds it only when `is_proven`.
    pub key: String,
    /// Whether the client proved that it holds the key; only then a session begins.
    pub is_proven: bool,
    pub address: String,
}

/// A browser shows a web service's cookie: whose is it?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebVisitRequest {
    pub protocol: u16,
    pub cookie_sha256: String,
    /// As the host name says them: the cookie must be theirs.
    pub allocation: String,
    pub port: u16,
    pub address: String,
}

/// A session that may go through this gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionAnswer {
    pub protocol: u16,
    pub session: Uuid,
    /// The node that the grant is for.
    pub node: String,
    /// Absent when streams are asked for one by one (ssh, forwards, web services).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<SignedGrant>,
    /// What the session may open: names of kinds.
    pub kinds: Vec<String>,
    /// The only port, for sessions that are about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How it is recorded; absent when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingOrder>,
    pub until: Timestamp,
    /// The names of the person and the allocation, for headers and recordings.
    pub title: String,
    /// What the client had seen, as the gateway told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
    /// Nothing of it runs anywhere yet.
    #[serde(default)]
    pub is_new: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingOrder {
    /// The recording of the session, and which part of it this gateway writes.
    pub recording: Uuid,
    pub segment: u32,
    /// The offset that the parts before this one reach to.
    pub from: u64,
    /// Whether what is typed is kept as well.
    pub input: bool,
    /// Whether the session ends when it cannot be recorded.
    pub is_required: bool,
}

/// One more stream of a session that is open here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRequest {
    pub protocol: u16,
    pub session: Uuid,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantAnswer {
    pub protocol: u16,
    pub node: String,
    pub grant: SignedGrant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingOrder>,
}

/// A session is over, or has lost its reader and may be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftRequest {
    pub protocol: u16,
    pub session: Uuid,
    /// Over for good, as the agent said or because its kind cannot be resumed.
    pub is_over: bool,
    /// `exit`, or a [`crate::stream::Closing`], or `client_left`.
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub stalls: u64,
}

/// A piece of a recording; its bytes follow in the body. Told in the query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRequest {
    pub protocol: u16,
    pub recording: Uuid,
    pub segment: u32,
    /// Counts the pieces of the segment from nought.
    pub number: u32,
    /// SHA-256 of the bytes that are stored, in hexadecimal.
    pub sha256: String,
    /// The stored bytes in base64: asciicast lines, compressed with zstd.
    pub bytes: String,
    /// Offsets of the output in it: from, to.
    pub from: u64,
    pub to: u64,
    /// Milliseconds since the session began, at its first and last event.
    pub began_ms: u64,
    pub ended_ms: u64,
    /// The last of the segment; what follows is another segment.
    pub is_last: bool,
}

/// Nothing more to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub protocol: u16,
}

pub mod paths {
    pub const JOIN: &str = "/gateway/v1/join";
    pub const BEAT: &str = "/gateway/v1/beat";
    pub const ADMIT: &str = "/gateway/v1/admit";
    pub const EXCHANGE: &str = "/gateway/v1/exchange";
    pub const WEB_VISIT: &str = "/gateway/v1/web-visit";
    pub const SSH: &str = "/gateway/v1/ssh";
    pub const GRANT: &str = "/gateway/v1/grant";
    pub const LEFT: &str = "/gateway/v1/left";
    pub const CHUNK: &str = "/gateway/v1/chunk";
}

/// Why the control plane does not do what a gateway asks; `code` of the problem.
pub mod refusals {
    /// 401: unknown, used or expired, and nobody learns which.
    pub const TICKET: &str = "ticket_refused";
    /// 401: a key that opens nothing here. The detail is the reason, for gateways to
    /// count; who shows the key does not learn it.
    pub const SSH_KEY: &str = "ssh_key_refused";
    /// 403: policy or permissions do not allow it.
    pub const ACCESS: &str = "access_refused";
    /// 404: the allocation, host or session is not there any more.
    pub const GONE: &str = "gone";
    /// 404: the allocation has fewer hosts. Whoever hears it may come in.
    pub const NO_RANK: &str = "no_such_rank";
    /// 429: the allocation has as many sessions as it may.
    pub const TOO_MANY: &str = "too_many_sessions";
    /// 409: the piece of a recording will never be accepted.
    pub const RECORDING: &str = "recording_refused";
    /// 503: the store of recordings does not take the piece now. Its part has begun.
    pub const RECORDING_WAITS: &str = "recording_waits";
}

pub mod limits {
    pub const SESSIONS_PER_BEAT: usize = 1_000; // bound: keeps a beat far below the largest body
    pub const MAX_CHUNK_BYTES: usize = 512 * 1024; // bound: in base64 it fits into the largest body
    pub const MAX_GATEWAYS: usize = 16; // bound: connections that every host keeps
}
