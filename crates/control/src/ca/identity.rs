//! Who a certificate says somebody is: the node in its URI. The common name is
//! for people and decides nothing.

use contract::{Timestamp, id::NodeId};
use rustls::pki_types::CertificateDer;
use x509_parser::extensions::{GeneralName, ParsedExtension};

use super::Validity;

const NODE: &str = "gpuaas://node/";

/// The URI under which a node is known.
pub fn node_uri(node: NodeId) -> String {
    format!("{NODE}{node}")
}

/// What a verified certificate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub node: NodeId,
    pub serial: String,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Peer {
    /// Reads a certificate whose chain was verified; `None` if it names no node.
    pub fn read(certificate: &CertificateDer<'_>) -> Option<Peer> {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
        let names = parsed.extensions().iter().find_map(|it| match it.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        })?;
        let [GeneralName::URI(uri)] = names.as_slice() else { return None };
        Some(Peer {
            node: uri.strip_prefix(NODE)?.parse().ok()?,
            serial: parsed.raw_serial().iter().map(|it| format!("{it:02x}")).collect(),
            issued_at: Timestamp::from_second(parsed.validity().not_before.timestamp()).ok()?,
            expires_at: Timestamp::from_second(parsed.validity().not_after.timestamp()).ok()?,
        })
    }

    /// When a certificate ends that nobody has verified yet.
    pub fn end_of(certificate: &CertificateDer<'_>) -> Option<Timestamp> {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
        Timestamp::from_second(parsed.validity().not_after.timestamp()).ok()
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }

    /// Whether it should be renewed now.
    pub fn is_ageing(&self, now: Timestamp) -> bool {
        Validity { from: self.issued_at, until: self.expires_at }.is_ageing(now)
    }
}
