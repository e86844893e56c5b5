//! A grant: leave to open one stream on one host, once and soon. The control
//! plane signs it with a task key under a context of its own.

use crate::canonical::{self, EncodeError};
use crate::{PROTOCOL, SigningKey, TaskKey, WorkloadRef, is_supported};
use base64::{Engine, prelude::BASE64_STANDARD, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::refusals;

const CONTEXT: &[u8] = b"gpuaas-grant-v1\0";
const MAX_GRANT_BYTES: usize = 8 * 1024; // bound: HTTP/2 carries it in a header

/// A terminal's width and height in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

impl Size {
    pub const DEFAULT: Self = Self { columns: 80, rows: 24 };
    pub const MOST_COLUMNS: u16 = 1000; // bound: the screen model's memory grows with it
    pub const MOST_ROWS: u16 = 500; // bound: the screen model's memory grows with it

    /// What a client asked for, made into something a terminal can have.
    pub fn clamped(self) -> Self {
        Self { columns: self.columns.clamp(2, Self::MOST_COLUMNS), rows: self.rows.clamp(1, Self::MOST_ROWS) }
    }
}

/// What kind of stream it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A login shell, or a command of it, on a terminal. Framed.
    Terminal {
        size: Size,
        /// The value of `TERM`.
        term: String,
        /// Run by the login shell instead of a prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// Joins the shell of this session that runs already, and fails without one.
        resume: bool,
        /// Where output is wanted from, when somebody saw the bytes before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// Up to where the session's recording reaches: output from there on is
        /// wanted too, as far as it is still kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recorded: Option<u64>,
        /// Looks on: a second pair of eyes that neither types nor takes over.
        #[serde(default)]
        watch: bool,
    },
    /// A command without a terminal: framed, errors apart from output. An empty one
    /// is the login shell, which reads what comes as input.
    Exec { command: String },
    /// The SFTP protocol, raw.
    File,
    /// Bytes to and from a port on which the workload itself listens, raw.
    Tcp { port: u16 },
    /// The serial console, framed as a terminal.
    Serial { size: Size },
}

impl Kind {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Terminal { .. } => "terminal",
            Self::Exec { .. } => "exec",
            Self::File => "file",
            Self::Tcp { .. } => "tcp",
            Self::Serial { .. } => "serial",
        }
    }
}

/// What the agent holds a stream to, whoever is at its other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// When the session ends whatever happens.
    pub until: Timestamp,
    /// How long a shell waits for somebody to come back.
    pub grace_seconds: u32,
    /// How long a terminal may be silent in both directions; nought is for ever.
    pub idle_seconds: u32,
    /// How many sessions one allocation may have on one host.
    pub sessions: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub protocol: u16,
    pub id: Uuid,
    /// The only host that may act on it.
    pub node: String,
    /// The only gateway that may use it.
    pub gateway: String,
    pub epoch: i64,
    /// As tasks name it in `resource`.
    pub allocation: String,
    /// What the stream opens into.
    pub workload: WorkloadRef,
    pub session: Uuid,
    pub kind: Kind,
    pub limits: Limits,
    pub issued_at: Timestamp,
    /// Until when it may be used.
    pub expires_at: Timestamp,
}

/// A grant as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedGrant {
    pub key_id: String,
    /// The canonical JSON of the grant, in base64.
    pub payload: String,
    /// Ed25519 over the context and the payload's bytes, in base64.
    pub signature: String,
}

/// Read before the grant itself: a later version may have another form.
#[derive(Deserialize)]
struct Envelope {
    protocol: u16,
}

impl Grant {
    /// The version that this build speaks.
    pub const PROTOCOL: u16 = PROTOCOL;
}

impl SignedGrant {
    pub fn sign(grant: &Grant, key: &SigningKey) -> Result<Self, EncodeError> {
        let bytes = canonical::encode(grant)?;
        let signature = key.sign(&[CONTEXT, &bytes].concat());
        Ok(Self { key_id: key.id().to_owned(), payload: BASE64_STANDARD.encode(bytes), signature })
    }

    /// The grant, if one of the keys signed exactly these bytes and they are its
    /// only form; otherwise the code of the refusal.
    pub fn verify(&self, keys: &[TaskKey]) -> Result<Grant, &'static str> {
        let key = keys.iter().find(|key| key.id == self.key_id).ok_or(refusals::FORGED)?;
        if self.payload.len() > MAX_GRANT_BYTES {
            return Err(refusals::MALFORMED);
        }
        let bytes = BASE64_STANDARD.decode(&self.payload).map_err(|_| refusals::MALFORMED)?;
        let signature = BASE64_STANDARD.decode(&self.signature).map_err(|_| refusals::FORGED)?;
        if !key.signed(&[CONTEXT, &bytes].concat(), &signature) {
            return Err(refusals::FORGED);
        }
        let envelope: Envelope = serde_json::from_slice(&bytes).map_err(|_| refusals::MALFORMED)?;
        if !is_supported(envelope.protocol) {
            return Err(refusals::MALFORMED);
        }
        let grant: Grant = serde_json::from_slice(&bytes).map_err(|_| refusals::MALFORMED)?;
        let is_canonical = canonical::encode(&grant).is_ok_and(|again| again == bytes);
        if is_canonical { Ok(grant) } else { Err(refusals::MALFORMED) }
    }

    /// As a header carries it.
    pub fn to_header(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    pub fn from_header(text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text.get(..4 * MAX_GRANT_BYTES).unwrap_or(text)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use jiff::SignedDuration;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_seed(&[byte; 32]).unwrap()
    }

    fn grant() -> Grant {
        let issued_at: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        Grant {
            protocol: PROTOCOL,
            id: Uuid::from_u128(7),
            node: "node-1".into(),
            gateway: "gw-1".into(),
            epoch: 1,
            allocation: "allocation-1".into(),
            workload: WorkloadRef::login(Shape::GpuSlice, "g1"),
            session: Uuid::from_u128(9),
            kind: Kind::Terminal {
                size: Size::DEFAULT,
                term: "xterm-256color".into(),
                command: None,
                resume: false,
                from: None,
                recorded: None,
                watch: false,
            },
            limits: Limits {
                until: issued_at + SignedDuration::from_hours(12),
                grace_seconds: 300,
                idle_seconds: 0,
                sessions: 8,
            },
            issued_at,
            expires_at: issued_at + SignedDuration::from_secs(30),
        }
    }

    #[test]
    fn a_signed_grant_is_read_back_also_from_a_header() {
        let signed = SignedGrant::sign(&grant(), &key(1)).unwrap();
        let again = SignedGrant::from_header(&signed.to_header()).unwrap();
        assert_eq!(again.verify(&[key(2).public(), key(1).public()]), Ok(grant()));
    }

    #[test]
    fn a_forged_or_changed_grant_is_refused() {
        let signed = SignedGrant::sign(&grant(), &key(2)).unwrap();
        assert_eq!(signed.verify(&[key(1).public()]), Err(refusals::FORGED));
        let renamed = SignedGrant { key_id: key(1).id().to_owned(), ..signed };
        assert_eq!(renamed.verify(&[key(1).public()]), Err(refusals::FORGED));
        let signed = SignedGrant::sign(&grant(), &key(1)).unwrap();
        let text = String::from_utf8(BASE64_STANDARD.decode(&signed.payload).unwrap()).unwrap();
        let changed = SignedGrant { payload: BASE64_STANDARD.encode(text.replace("node-1", "node-2")), ..signed };
        assert_eq!(changed.verify(&[key(1).public()]), Err(refusals::FORGED));
    }

    #[test]
    fn a_tasks_signature_is_no_grants_signature() {
        let bytes = canonical::encode(&grant()).unwrap();
        let key = key(1);
        let signature = key.sign(&[b"gpuaas-task-v1\0".as_slice(), &bytes].concat());
        let signed = SignedGrant { key_id: key.id().to_owned(), payload: BASE64_STANDARD.encode(bytes), signature };
        assert_eq!(signed.verify(&[key.public()]), Err(refusals::FORGED));
    }

    #[test]
    fn a_size_is_one_that_a_terminal_can_have() {
        assert_eq!(Size { columns: 0, rows: 0 }.clamped(), Size { columns: 2, rows: 1 });
        let most = Size { columns: u16::MAX, rows: u16::MAX }.clamped();
        assert_eq!(most, Size { columns: Size::MOST_COLUMNS, rows: Size::MOST_ROWS });
    }
}
