//! Who an agent is to the control plane: its key and certificate, whom it trusts,
//! and whose tasks it acts on.

use jiff::Timestamp;
use protocol::{EnrollAnswer, RenewAnswer, TaskKey};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use std::fmt;
use x509_parser::prelude::{FromDer, X509Certificate};

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("a key or request could not be made")]
    Request(#[source] rcgen::Error),
    #[error("the certificate of this node cannot be read: {0}")]
    Certificate(String),
    #[error("the private key of this node cannot be read")]
    Key(#[source] rustls::pki_types::pem::Error),
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Identity {
    pub node_id: String,
    pub url: String,
    /// PEM, secret.
    pub key: String,
    /// PEM chain.
    pub certificate: String,
    /// PEM bundle.
    pub roots: String,
    pub task_keys: Vec<TaskKey>,
    pub epoch: i64,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("node_id", &self.node_id).field("url", &self.url).finish_non_exhaustive()
    }
}

impl Identity {
    pub fn enrolled(url: &str, key: String, answer: EnrollAnswer) -> Self {
        let EnrollAnswer { node_id, certificate, roots, task_keys, epoch, .. } = answer;
        Self { node_id, url: url.to_owned(), key, certificate, roots, task_keys, epoch }
    }

    pub fn renewed(&self, key: String, answer: RenewAnswer) -> Self {
        let RenewAnswer { certificate, roots, task_keys, epoch, .. } = answer;
        let (node_id, url) = (self.node_id.clone(), self.url.clone());
        Self { node_id, url, key, certificate, roots, task_keys, epoch: epoch.max(self.epoch) }
    }

    pub fn chain(&self) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect();
        chain.map_err(|error| IdentityError::Certificate(error.to_string()))
    }

    pub fn private_key(&self) -> Result<PrivateKeyDer<'static>, IdentityError> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(IdentityError::Key)
    }

    /// From when to when the certificate holds.
    pub fn lifetime(&self) -> Result<(Timestamp, Timestamp), IdentityError> {
        let damaged = |error: &dyn fmt::Display| IdentityError::Certificate(error.to_string());
        let chain = self.chain()?;
        let leaf = chain.first().ok_or_else(|| damaged(&"it is empty"))?;
        let (_, leaf) = X509Certificate::from_der(leaf).map_err(|error| damaged(&error))?;
        let validity = leaf.validity();
        let moment = |seconds| Timestamp::from_second(seconds).map_err(|error| damaged(&error));
        Ok((moment(validity.not_before.timestamp())?, moment(validity.not_after.timestamp())?))
    }

    /// When two thirds of the certificate's life are over.
    pub fn renew_at(&self) -> Result<Timestamp, IdentityError> {
        let (from, until) = self.lifetime()?;
        let (from, until) = (from.as_second(), until.as_second());
        let at = from + (until - from) * 2 / 3;
        Timestamp::from_second(at).map_err(|error| IdentityError::Certificate(error.to_string()))
    }
}

/// A new private key and the request to certify it, both in PEM. The request names
/// nobody: the control plane decides who its sender is.
pub fn key_and_request() -> Result<(String, String), IdentityError> {
    let key = KeyPair::generate().map_err(IdentityError::Request)?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let request = params.serialize_request(&key).and_then(|request| request.pem()).map_err(IdentityError::Request)?;
    Ok((key.serialize_pem(), request))
}
