//! The plane's own CA: a root, an intermediate, the listener's certificate, and
//! certificates for nodes.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use std::sync::Arc;

#[derive(Clone)]
pub struct Authority {
    pub roots: String,
    pub root_der: Vec<u8>,
    intermediate: String,
    issuer: Arc<Issuer<'static, KeyPair>>,
    /// Chain and key of the listener, in PEM; the root is shown too.
    pub listener: (String, String),
}

fn params(name: &str, is_ca: bool) -> CertificateParams {
    let names = if is_ca { vec![] } else { vec!["localhost".to_owned()] };
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    if is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    }
    params
}

impl Authority {
    pub fn new() -> Self {
        let root_key = KeyPair::generate().unwrap();
        let root = params("root", true).self_signed(&root_key).unwrap();
        let root_issuer = Issuer::new(params("root", true), root_key);
        let key = KeyPair::generate().unwrap();
        let intermediate = params("intermediate", true).signed_by(&key, &root_issuer).unwrap();
        let issuer = Issuer::new(params("intermediate", true), key);
        let listener_key = KeyPair::generate().unwrap();
        let listener = params("listener", false).signed_by(&listener_key, &issuer).unwrap();
        let chain = format!("{}{}{}", listener.pem(), intermediate.pem(), root.pem());
        Self {
            roots: root.pem(),
            root_der: root.der().to_vec(),
            intermediate: intermediate.pem(),
            issuer: Arc::new(issuer),
            listener: (chain, listener_key.serialize_pem()),
        }
    }

    pub fn fingerprint(&self) -> String {
        protocol::agent_binary::sha256_hex(&self.root_der)
    }

    /// Chain and key of a gateway, in PEM.
    pub fn gateway(&self, id: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = params("gateway", false);
        params.subject_alt_names.push(SanType::URI(format!("gpuaas://gateway/{id}").try_into().unwrap()));
        let leaf = params.signed_by(&key, &self.issuer).unwrap();
        (format!("{}{}", leaf.pem(), self.intermediate), key.serialize_pem())
    }

    /// Certifies a request for a node; what the request says about itself is ignored.
    pub fn certify(&self, csr: &str, node: &str, now: Timestamp, life: SignedDuration) -> String {
        let mut request = CertificateSigningRequestParams::from_pem(csr).unwrap();
        let name = format!("urn:gpuaas:node:{node}");
        request.params.subject_alt_names = vec![SanType::URI(name.try_into().unwrap())];
        // The listener judges by the real clock, however far the plane pretends to be.
        request.params.not_before = asn1(now.min(Timestamp::now())).to_datetime();
        request.params.not_after = asn1(now + life).to_datetime();
        let leaf = request.signed_by(&self.issuer).unwrap();
        format!("{}{}", leaf.pem(), self.intermediate)
    }
}

fn asn1(at: Timestamp) -> x509_parser::time::ASN1Time {
    x509_parser::time::ASN1Time::from_timestamp(at.as_second()).unwrap()
}
