//! Whom to believe to be the control plane: whoever the roots vouch for, or before
//! there are any the root whose fingerprint came with the token.

use crate::{ControlClock, Pair, PairError};
use protocol::agent_binary::sha256_hex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("the root certificates of the control plane are malformed: {0}")]
    Roots(String),
    #[error("a fingerprint is the SHA-256 of the root certificate: 64 hexadecimal digits")]
    Fingerprint,
    #[error("our own key and certificate do not match")]
    Misfit(#[source] Error),
    #[error(transparent)]
    Pair(#[from] PairError),
    #[error("the cryptography library does not offer TLS 1.3")]
    Provider(#[source] Error),
}

/// Shared by every connection that trusts the same roots.
#[derive(Clone, Debug)]
pub struct Trust {
    provider: Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
}

/// The roots of a PEM bundle; one without any is refused.
pub fn roots(pem: &str) -> Result<RootCertStore, TrustError> {
    let unreadable = |error: &dyn std::fmt::Display| TrustError::Roots(error.to_string());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    if roots.is_empty() { Err(unreadable(&"there are none")) } else { Ok(roots) }
}

impl Trust {
    /// Trusts the control plane that a PEM bundle of roots vouches for. Gateways have
    /// servers' certificates of the same roots; none of them is the control plane.
    pub fn in_roots(pem: &str) -> Result<Self, TrustError> {
        let Self { provider, verifier } = Self::in_gateways(pem)?;
        Ok(Self { provider, verifier: Arc::new(NoGateway(verifier)) })
    }

    /// Trusts whatever a PEM bundle of roots vouches for; which gateway it is, is for
    /// the caller to look at.
    pub fn in_gateways(pem: &str) -> Result<Self, TrustError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = verifier(roots(pem)?, &provider).map_err(|error| TrustError::Roots(error.to_string()))?;
        Ok(Self { provider, verifier })
    }

    /// Trusts a root by its fingerprint; the server must show it in its chain.
    pub fn in_fingerprint(text: &str) -> Result<Self, TrustError> {
        let digits: String = text.chars().filter(|c| *c != ':').map(|c| c.to_ascii_lowercase()).collect();
        let digits = digits.strip_prefix("sha256").unwrap_or(&digits).to_owned();
        if digits.len() != 64 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err(TrustError::Fingerprint);
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let pinned = Pinned { fingerprint: digits, provider: Arc::clone(&provider) };
        Ok(Self { provider, verifier: Arc::new(NoGateway(Arc::new(pinned))) })
    }

    /// How to connect before there is a certificate.
    pub fn anonymous(&self, clock: &ControlClock) -> Result<Arc<ClientConfig>, TrustError> {
        let mut config = self.builder(clock)?.with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Arc::new(config))
    }

    /// How to connect as somebody whom the control plane has certified.
    pub fn identified(&self, pair: &Pair, clock: &ControlClock) -> Result<Arc<ClientConfig>, TrustError> {
        let config = self.builder(clock)?.with_client_auth_cert(pair.chain()?, pair.private_key()?);
        let mut config = config.map_err(TrustError::Misfit)?;
        config.resumption = Resumption::disabled();
        Ok(Arc::new(config))
    }

    fn builder(
        &self,
        clock: &ControlClock,
    ) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>, TrustError> {
        let builder = ClientConfig::builder_with_details(Arc::clone(&self.provider), Arc::new(clock.clone()));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(TrustError::Provider)?;
        Ok(builder.dangerous().with_custom_certificate_verifier(Arc::clone(&self.verifier)))
    }
}

fn verifier(
    roots: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, rustls::server::VerifierBuilderError> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build()
}

/// What a gateway's certificate says it is.
const GATEWAY: &str = "gpuaas://gateway/";

/// Refuses a gateway's certificate, whatever names it is for beside.
#[derive(Debug)]
struct NoGateway(Arc<dyn ServerCertVerifier>);

impl ServerCertVerifier for NoGateway {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)?;
        if is_gateway(end_entity) {
            return Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure));
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// One that cannot be read might be one.
fn is_gateway(certificate: &CertificateDer<'_>) -> bool {
    let Ok((_, read)) = X509Certificate::from_der(certificate) else { return true };
    match read.subject_alternative_name() {
        Ok(Some(names)) => {
            names.value.general_names.iter().any(|it| matches!(it, GeneralName::URI(uri) if uri.starts_with(GATEWAY)))
        }
        Ok(None) => false,
        Err(_) => true,
    }
}

/// Finds the pinned root in the chain that the server shows, and then checks the
/// chain and the name as usual against that root alone.
#[derive(Debug)]
struct Pinned {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let unknown = || Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let is_pinned = |certificate: &&CertificateDer<'_>| sha256_hex(certificate) == self.fingerprint;
        let root = intermediates.iter().find(is_pinned).ok_or_else(unknown)?;
        let mut roots = RootCertStore::empty();
        roots.add(root.clone().into_owned())?;
        let verifier = verifier(roots, &self.provider).map_err(|_| unknown())?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is supported".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_has_64_digits_however_it_is_written() {
        let plain = "ab".repeat(32);
        for good in [&plain, &vec!["AB"; 32].join(":"), &format!("sha256:{plain}")] {
            assert!(Trust::in_fingerprint(good).is_ok(), "{good}");
        }
        for bad in ["", "abcd", &"xy".repeat(32)] {
            assert!(matches!(Trust::in_fingerprint(bad), Err(TrustError::Fingerprint)), "{bad}");
        }
    }

    #[test]
    fn an_empty_bundle_trusts_nobody() {
        assert!(matches!(Trust::in_roots(""), Err(TrustError::Roots(_))));
        assert!(matches!(Trust::in_roots("-----BEGIN CERTIFICATE-----\n!"), Err(TrustError::Roots(_))));
    }
}
