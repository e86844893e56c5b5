//! Which node a verified certificate belongs to.

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::{GeneralName, ParsedExtension};

const NODE: &str = "gpuaas://node/";
const MAX_ID: usize = 64; // bound: ids of ours are shorter

#[derive(Debug, PartialEq, Eq)]
pub struct Peer {
    pub node: String,
    /// In hexadecimal, as the control plane keeps it.
    pub serial: String,
}

impl Peer {
    /// None unless the certificate names exactly one thing, and that is a node.
    /// What stands in its subject means nothing.
    pub fn read(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
        let names = parsed.extensions().iter().find_map(|it| match it.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        })?;
        let [GeneralName::URI(uri)] = names.as_slice() else { return None };
        let node = uri.strip_prefix(NODE).filter(|it| is_id(it))?.to_owned();
        let serial = parsed.raw_serial().iter().map(|it| format!("{it:02x}")).collect();
        Some(Self { node, serial })
    }
}

fn is_id(text: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
    !text.is_empty() && text.len() <= MAX_ID && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, SanType, SerialNumber};

    fn read(names: &[&str]) -> Option<Peer> {
        let mut params = CertificateParams::default();
        params.serial_number = Some(SerialNumber::from_slice(&[0x4a, 0x01]));
        for name in names {
            params.subject_alt_names.push(match name.strip_prefix("dns:") {
                Some(name) => SanType::DnsName(name.try_into().unwrap()),
                None => SanType::URI((*name).try_into().unwrap()),
            });
        }
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        Peer::read(certificate.der())
    }

    #[test]
    fn a_node_is_the_only_name_of_its_certificate() {
        let peer = Peer { node: "node_1".into(), serial: "4a01".into() };
        assert_eq!(read(&["gpuaas://node/node_1"]), Some(peer));
        for names in [
            &[][..],
            &["gpuaas://gateway/node_1"],
            &["gpuaas://node/"],
            &["gpuaas://node/a/../b"],
            &["gpuaas://node/a", "gpuaas://node/b"],
            &["gpuaas://node/a", "dns:a.example"],
            &["https://node/a"],
        ] {
            assert_eq!(read(names), None, "{names:?}");
        }
    }
}
