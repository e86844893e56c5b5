//! What is shown to the control plane: a certificate of its CA, and the key to it.

use jiff::Timestamp;
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use std::fmt;
use x509_parser::prelude::{FromDer, X509Certificate};

#[derive(Debug, thiserror::Error)]
pub enum PairError {
    #[error("a key or request could not be created")]
    Request(#[source] rcgen::Error),
    #[error("our own certificate cannot be read: {0}")]
    Certificate(String),
    #[error("our own private key cannot be read")]
    Key(#[source] rustls::pki_types::pem::Error),
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Pair {
    /// PEM, secret.
    pub key: String,
    /// PEM chain.
    pub certificate: String,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pair")
    }
}

impl Pair {
    pub fn chain(&self) -> Result<Vec<CertificateDer<'static>>, PairError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect();
        chain.map_err(|error| PairError::Certificate(error.to_string()))
    }

    pub fn private_key(&self) -> Result<PrivateKeyDer<'static>, PairError> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(PairError::Key)
    }

    /// From when to when the certificate holds.
    pub fn lifetime(&self) -> Result<(Timestamp, Timestamp), PairError> {
        let damaged = |error: &dyn fmt::Display| PairError::Certificate(error.to_string());
        let chain = self.chain()?;
        let leaf = chain.first().ok_or_else(|| damaged(&"it is empty"))?;
        let (_, leaf) = X509Certificate::from_der(leaf).map_err(|error| damaged(&error))?;
        let validity = leaf.validity();
        let moment = |seconds| Timestamp::from_second(seconds).map_err(|error| damaged(&error));
        Ok((moment(validity.not_before.timestamp())?, moment(validity.not_after.timestamp())?))
    }

    /// When two thirds of the certificate's life are over.
    pub fn renew_at(&self) -> Result<Timestamp, PairError> {
        let (from, until) = self.lifetime()?;
        let (from, until) = (from.as_second(), until.as_second());
        let at = from + (until - from) * 2 / 3;
        Timestamp::from_second(at).map_err(|error| PairError::Certificate(error.to_string()))
    }
}

/// A private key and the request to certify it. The request names nobody: the
/// control plane decides who its sender is. Kept until it was answered: an answer
/// that got lost is given again to the same key alone.
#[derive(Clone, Serialize, Deserialize)]
pub struct PendingRequest {
    /// PEM, secret.
    pub key: String,
    /// PEM.
    pub csr: String,
}

impl fmt::Debug for PendingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asked")
    }
}

impl PendingRequest {
    pub fn new() -> Result<Self, PairError> {
        let key = KeyPair::generate().map_err(PairError::Request)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        let csr = params.serialize_request(&key).and_then(|request| request.pem()).map_err(PairError::Request)?;
        Ok(Self { key: key.serialize_pem(), csr })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_nobody() {
        let asked = PendingRequest::new().unwrap();
        assert!(asked.key.contains("PRIVATE KEY") && asked.csr.contains("CERTIFICATE REQUEST"));
        let parsed = rcgen::CertificateSigningRequestParams::from_pem(&asked.csr).unwrap();
        assert!(parsed.params.subject_alt_names.is_empty());
        assert_eq!(format!("{asked:?}"), "Asked", "a key is never printed");
    }

    #[test]
    fn two_thirds_of_a_life_are_counted_from_its_begin() {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2001, 1, 31);
        let certificate = params.self_signed(&key).unwrap().pem();
        let pair = Pair { key: key.serialize_pem(), certificate };
        assert_eq!(pair.renew_at().unwrap(), "2001-01-21T00:00:00Z".parse().unwrap());
        let damaged = Pair { certificate: String::new(), ..pair };
        assert!(matches!(damaged.renew_at(), Err(PairError::Certificate(_))));
        assert_eq!(format!("{damaged:?}"), "Pair", "a key is never printed");
    }
}
