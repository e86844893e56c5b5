//! A CA as the control plane has one: a root, and leaves that name one URI.

use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::Path;
use std::sync::Arc;

pub struct Ca {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
    pem: String,
}

/// A certificate and its key.
pub struct Pair {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Ca {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "a test's root");
        let root = params.self_signed(&key).unwrap();
        let (der, pem) = (root.der().clone(), root.pem());
        Self { issuer: Issuer::new(params, key), root: der, pem }
    }

    pub fn roots(&self) -> String {
        self.pem.clone()
    }

    pub fn node(&self, node: &str) -> Pair {
        self.named(&[&format!("gpuaas://node/{node}")])
    }

    /// A leaf with these URIs; its subject claims to be a node too.
    pub fn named(&self, uris: &[&str]) -> Pair {
        let mut params = leaf();
        params.distinguished_name.push(DnType::CommonName, "gpuaas://node/node_1");
        params.serial_number = Some(SerialNumber::from_slice(&[0x4a, 0x0b]));
        params.subject_alt_names = uris.iter().map(|it| SanType::URI((*it).try_into().unwrap())).collect();
        self.sign(params)
    }

    pub fn server(&self) -> Pair {
        let mut params = leaf();
        params.subject_alt_names = vec![SanType::DnsName("localhost".try_into().unwrap())];
        self.sign(params)
    }

    /// A certificate of the public listener and its key, in files.
    pub fn write_server(&self, certificate: &Path, key: &Path) {
        let mut params = leaf();
        params.subject_alt_names = vec![SanType::DnsName("localhost".try_into().unwrap())];
        let pair = KeyPair::generate().unwrap();
        std::fs::write(certificate, params.signed_by(&pair, &self.issuer).unwrap().pem()).unwrap();
        std::fs::write(key, pair.serialize_pem()).unwrap();
    }

    fn sign(&self, params: CertificateParams) -> Pair {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        Pair { chain: vec![certificate.der().clone()], key }
    }

    /// Certifies a gateway's request; a short one is past two thirds of its life.
    pub fn certify(&self, csr: &str, gateway: &str, is_short: bool) -> String {
        let mut request = CertificateSigningRequestParams::from_pem(csr).unwrap();
        request.params = leaf();
        if is_short {
            request.params.not_after = rcgen::date_time_ymd(2035, 1, 1);
            request.params.not_before = rcgen::date_time_ymd(1975, 1, 1);
        }
        request.params.subject_alt_names = vec![
            SanType::URI(format!("gpuaas://gateway/{gateway}").try_into().unwrap()),
            SanType::DnsName("localhost".try_into().unwrap()),
        ];
        request.signed_by(&self.issuer).unwrap().pem()
    }

    fn store(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        roots
    }

    pub fn server_config(&self, alpn: &[u8]) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(self.store()), provider.clone());
        let verifier = verifier.allow_unauthenticated().build().unwrap();
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let Pair { chain, key } = self.server();
        let mut config = builder.with_client_cert_verifier(verifier).with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![alpn.to_vec()];
        Arc::new(config)
    }

    pub fn client_config(&self, pair: Pair, alpn: &[u8]) -> Arc<ClientConfig> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(self.store());
        let mut config = builder.with_client_auth_cert(pair.chain, pair.key).unwrap();
        config.alpn_protocols = vec![alpn.to_vec()];
        Arc::new(config)
    }
}

fn leaf() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
    params
}
