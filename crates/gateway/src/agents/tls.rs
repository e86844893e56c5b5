//! TLS of the listener for hosts: every host shows a certificate of our CA, and
//! what this gateway shows and trusts follows its identity.

use crate::identity::Identity;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use trust::ControlClock;
use trust::{PairError, TrustError};

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the certificate cannot be used")]
    Tls(#[from] rustls::Error),
    #[error("the root certificates cannot be used")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Pair(#[from] PairError),
}

pub struct AgentsTls {
    /// Of every connection; it follows later changes by itself.
    pub config: Arc<ServerConfig>,
    following: Arc<Following>,
}

struct Following {
    provider: Arc<CryptoProvider>,
    now: RwLock<Arc<Current>>,
}

struct Current {
    shown: Arc<CertifiedKey>,
    trusted: Arc<dyn ClientCertVerifier>,
}

impl AgentsTls {
    pub fn new(identity: &Identity, clock: &ControlClock) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let now = RwLock::new(Arc::new(current(identity, &provider)?));
        let following = Arc::new(Following { provider: provider.clone(), now });
        let builder = ServerConfig::builder_with_details(provider, Arc::new(clock.clone()));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13])?;
        let mut config = builder.with_client_cert_verifier(following.clone()).with_cert_resolver(following.clone());
        // Hosts hold one connection for long; tickets would only cost memory.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        config.alpn_protocols = vec![protocol::stream::ALPN.to_vec()];
        Ok(Self { config: Arc::new(config), following })
    }

    /// Shows and trusts what a renewed identity says.
    pub fn follow(&self, identity: &Identity) -> Result<(), TlsError> {
        let fresh = Arc::new(current(identity, &self.following.provider)?);
        *self.following.now.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }
}

impl Following {
    fn current(&self) -> Arc<Current> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn current(identity: &Identity, provider: &Arc<CryptoProvider>) -> Result<Current, TlsError> {
    let shown = Arc::new(CertifiedKey::from_der(identity.pair.chain()?, identity.pair.private_key()?, provider)?);
    let roots = Arc::new(trust::roots(&identity.roots)?);
    let trusted = WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build()?;
    Ok(Current { shown, trusted })
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Following")
    }
}

impl ResolvesServerCert for Following {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current().shown.clone())
    }
}

impl ClientCertVerifier for Following {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.current().trusted.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.current().trusted.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.current().trusted.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.current().trusted.supported_verify_schemes()
    }
}
