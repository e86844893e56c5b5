//! TLS of the node listener. A client certificate is optional here, because a
//! host that enrolls has none; one that is shown must be of our CA. An expired
//! one passes, so that the request that renews it can be told from the others.

use std::{
    fmt,
    sync::{Arc, RwLock},
    time::Duration,
};

use contract::Timestamp;
use rcgen::KeyPair;
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
    server::{
        ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
    sign::CertifiedKey,
};

use super::refusal;
use crate::ca::{Ca, CaError, Peer, Validity};

// bound: re-issued in the process itself at two thirds, so only an idle replica could let it end
const OWN_LIFE: Duration = Duration::from_secs(30 * 86_400);

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the CA failed")]
    Ca(#[from] CaError),
    #[error("the listener's certificate cannot be used")]
    Tls(#[from] rustls::Error),
    #[error("the listener's certificate cannot be read")]
    Pem(#[from] rustls::pki_types::pem::Error),
    #[error("the root certificates cannot be used")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
}

/// What the listener shows and trusts; follows the CA.
pub struct Tls {
    ca: Ca,
    names: Vec<String>,
    provider: Arc<CryptoProvider>,
    now: RwLock<Arc<Current>>,
}

struct Current {
    /// The version of the CA that this was made from.
    version: u64,
    validity: Validity,
    shown: Arc<CertifiedKey>,
    trusted: Arc<dyn ClientCertVerifier>,
}

impl Tls {
    pub fn new(ca: Ca, names: Vec<String>) -> Result<Arc<Self>, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let now = RwLock::new(Arc::new(make(&ca, &names, &provider)?));
        Ok(Arc::new(Self { ca, names, provider, now }))
    }

    /// The configuration for every connection; it follows later changes by itself.
    pub fn config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, TlsError> {
        let builder = ServerConfig::builder_with_provider(self.provider.clone());
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13])?;
        let mut config = builder.with_client_cert_verifier(self.clone()).with_cert_resolver(self.clone());
        // Agents hold one connection for long; tickets would only cost memory.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn current(&self) -> Arc<Current> {
        let current = self.now.read().expect("no code panics while it holds this lock").clone();
        let is_good = current.version == self.ca.version() && !current.validity.is_aging(self.ca.now());
        if is_good {
            return current;
        }
        match make(&self.ca, &self.names, &self.provider) {
            Ok(fresh) => {
                let fresh = Arc::new(fresh);
                *self.now.write().expect("no code panics while it holds this lock") = fresh.clone();
                fresh
            }
            Err(error) => {
                tracing::error!(%error, "the listener's certificate could not be renewed; the previous one is still used");
                current
            }
        }
    }
}

fn make(ca: &Ca, names: &[String], provider: &Arc<CryptoProvider>) -> Result<Current, TlsError> {
    let version = ca.version();
    let authority = ca.authority();
    let key = KeyPair::generate().map_err(CaError::from)?;
    let validity = Validity::starting(ca.now(), OWN_LIFE);
    let issued = authority.issue_to_listener(&key, names, validity)?;
    let mut chain = CertificateDer::pem_slice_iter(issued.chain.as_bytes()).collect::<Result<Vec<_>, _>>()?;
    // A new host knows the root by its fingerprint only and must see it.
    chain.extend(authority.roots().iter().cloned());
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes())?;
    let shown = Arc::new(CertifiedKey::from_der(chain, key, provider)?);
    let mut roots = RootCertStore::empty();
    for root in authority.roots() {
        roots.add(root.clone())?;
    }
    let trusted = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build()?;
    let validity = Validity { until: issued.expires_at, ..validity };
    Ok(Current { version, validity, shown, trusted })
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl ResolvesServerCert for Tls {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current().shown.clone())
    }
}

impl ClientCertVerifier for Tls {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        // One that has ended is judged as of its end.
        let now = self.ca.now();
        let at = Peer::end_of(end_entity).map_or(now, |end| end.min(now));
        let verified = self.current().trusted.verify_client_cert(end_entity, intermediates, unix(at));
        verified.inspect_err(|error| {
            tracing::info!(%error, "a client certificate was not accepted");
            refusal::count("foreign_certificate");
        })
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

fn unix(at: Timestamp) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at.as_second()).unwrap_or_default()))
}
