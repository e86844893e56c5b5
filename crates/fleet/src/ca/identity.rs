//! Who a certificate says somebody is: the node or gateway in its one URI. The
//! common name is for people and decides nothing.

use contract::{
    Timestamp,
    id::{GatewayId, NodeId},
};
use rustls::pki_types::CertificateDer;
use x509_parser::extensions::{GeneralName, ParsedExtension};

use super::Validity;

const NODE: &str = "gpuaas://node/";
const GATEWAY: &str = "gpuaas://gateway/";

/// The URI under which a node is known.
pub fn node_uri(node: NodeId) -> String {
    format!("{NODE}{node}")
}

/// The URI under which a gateway is known.
pub fn gateway_uri(gateway: GatewayId) -> String {
    format!("{GATEWAY}{gateway}")
}

/// Whom a certificate is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateSubject {
    Node(NodeId),
    Gateway(GatewayId),
}

impl std::fmt::Display for CertificateSubject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CertificateSubject::Node(node) => node.fmt(f),
            CertificateSubject::Gateway(gateway) => gateway.fmt(f),
        }
    }
}

/// What a verified certificate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub who: CertificateSubject,
    pub serial: String,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Peer {
    /// Reads a certificate whose chain was verified; `None` if it names neither a
    /// node nor a gateway, or more than one.
    pub fn read(certificate: &CertificateDer<'_>) -> Option<Peer> {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
        let names = parsed.extensions().iter().find_map(|it| match it.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        })?;
        Some(Peer {
            who: who(names)?,
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
    pub fn is_aging(&self, now: Timestamp) -> bool {
        Validity { from: self.issued_at, until: self.expires_at }.is_aging(now)
    }
}

fn who(names: &[GeneralName<'_>]) -> Option<CertificateSubject> {
    // A node has no other name.
    if let [GeneralName::URI(uri)] = names
        && let Some(id) = uri.strip_prefix(NODE)
    {
        return id.parse().ok().map(CertificateSubject::Node);
    }
    // A gateway is also a server, with the names that hosts dial.
    let mut uris = names.iter().filter_map(|it| match it {
        GeneralName::URI(uri) => Some(*uri),
        _ => None,
    });
    let (uri, None) = (uris.next()?, uris.next()) else { return None };
    let is_server_name = |it: &&GeneralName| matches!(it, GeneralName::DNSName(_) | GeneralName::IPAddress(_));
    if names.iter().filter(is_server_name).count() + 1 != names.len() {
        return None;
    }
    uri.strip_prefix(GATEWAY)?.parse().ok().map(CertificateSubject::Gateway)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_uri_says_who_it_is() {
        let (node, gateway) = (NodeId::generate(), GatewayId::generate());
        let (node_name, gateway_name) = (node_uri(node), gateway_uri(gateway));
        let (node_uri, gateway_uri) = (GeneralName::URI(&node_name), GeneralName::URI(&gateway_name));
        let host = GeneralName::DNSName("gw.example.com");
        assert_eq!(who(std::slice::from_ref(&node_uri)), Some(CertificateSubject::Node(node)));
        assert_eq!(who(&[gateway_uri.clone(), host.clone()]), Some(CertificateSubject::Gateway(gateway)));
        assert_eq!(who(&[host.clone(), gateway_uri.clone()]), Some(CertificateSubject::Gateway(gateway)));
        assert_eq!(who(&[node_uri.clone(), host.clone()]), None, "a node is no server");
        assert_eq!(who(&[node_uri, gateway_uri.clone()]), None, "one or the other");
        assert_eq!(who(&[gateway_uri, GeneralName::RFC822Name("a@example.com")]), None);
        assert_eq!(who(&[host]), None);
    }
}
