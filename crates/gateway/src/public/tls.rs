//! TLS of the public listener: certificate and key from files, read again when
//! they change, so that a renewed certificate needs no restart.

use crate::{Settings, TlsFiles};
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use std::{fmt, fs, io};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

const LOOK: Duration = Duration::from_secs(30); // bound: how late a renewed certificate is shown

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{path} cannot be read; check the path and that this user may read it")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} contains no valid PEM data")]
    Pem { path: PathBuf, source: rustls::pki_types::pem::Error },
    #[error("the certificate and the key of the public listener do not match")]
    Pair(#[from] rustls::Error),
}

/// What the settings ask for; nothing where the listener speaks plainly.
pub fn tls(settings: &Settings) -> Result<Option<Arc<PublicTls>>, TlsError> {
    settings.tls.clone().map(PublicTls::new).transpose()
}

pub struct PublicTls {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    now: RwLock<Current>,
}

struct Current {
    texts: (Vec<u8>, Vec<u8>),
    shown: Arc<CertifiedKey>,
}

impl PublicTls {
    fn new(files: TlsFiles) -> Result<Arc<Self>, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let texts = read(&files)?;
        let shown = certified(&files, &texts, &provider)?;
        Ok(Arc::new(Self { files, provider, now: RwLock::new(Current { texts, shown }) }))
    }

    pub fn acceptor(self: &Arc<Self>) -> TlsAcceptor {
        let builder = ServerConfig::builder_with_provider(self.provider.clone());
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]);
        let builder = builder.expect("the provider offers this version");
        let mut config = builder.with_no_client_auth().with_cert_resolver(self.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }

    /// Looks at the files until stopped.
    pub async fn follow(self: Arc<Self>, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK) => (),
            }
            match self.look() {
                Ok(true) => tracing::info!("the certificate of the public listener was renewed"),
                Ok(false) => (),
                Err(error) => {
                    tracing::error!(%error, "the certificate of the public listener cannot be read; the previous one is still used");
                }
            }
        }
    }

    fn look(&self) -> Result<bool, TlsError> {
        let texts = read(&self.files)?;
        if self.now.read().unwrap_or_else(PoisonError::into_inner).texts == texts {
            return Ok(false);
        }
        let shown = certified(&self.files, &texts, &self.provider)?;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Current { texts, shown };
        Ok(true)
    }
}

fn read(files: &TlsFiles) -> Result<(Vec<u8>, Vec<u8>), TlsError> {
    let read = |path: &Path| fs::read(path).map_err(|source| TlsError::Io { path: path.to_owned(), source });
    Ok((read(&files.certificate)?, read(&files.key)?))
}

fn certified(
    files: &TlsFiles,
    (certificate, key): &(Vec<u8>, Vec<u8>),
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let unusable = |path: &Path, source| TlsError::Pem { path: path.to_owned(), source };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let chain = chain.map_err(|source| unusable(&files.certificate, source))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|source| unusable(&files.key, source))?;
    Ok(Arc::new(CertifiedKey::from_der(chain, key, provider)?))
}

impl fmt::Debug for PublicTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicTls")
    }
}

impl ResolvesServerCert for PublicTls {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.now.read().unwrap_or_else(PoisonError::into_inner).shown.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};

    fn write(files: &TlsFiles) -> Vec<u8> {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["gateway.example".into()]).unwrap().self_signed(&key).unwrap();
        fs::write(&files.certificate, certificate.pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        certificate.der().to_vec()
    }

    #[test]
    fn a_changed_file_is_shown_and_a_broken_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let files = TlsFiles { certificate: folder.path().join("c.pem"), key: folder.path().join("k.pem") };
        assert!(matches!(PublicTls::new(files.clone()), Err(TlsError::Io { .. })));
        let first = write(&files);
        let tls = PublicTls::new(files.clone()).unwrap();
        let shown = || tls.now.read().unwrap().shown.cert[0].to_vec();
        assert!(!tls.look().unwrap());
        assert_eq!(shown(), first);
        let second = write(&files);
        assert!(tls.look().unwrap());
        assert_eq!(shown(), second);
        fs::write(&files.key, "rubbish").unwrap();
        assert!(tls.look().is_err());
        assert_eq!(shown(), second);
    }
}
