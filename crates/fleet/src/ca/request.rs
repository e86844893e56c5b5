//! Certificate signing requests of hosts. Only the key is taken from them; one
//! that asks for a name which is not the host's own is an attempt to be another.

use protocol::agent_binary::sha256_hex;
use rcgen::{
    CertificateSigningRequestParams, IsCa, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PublicKey,
    PublicKeyData, SanType,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CsrError {
    #[error("the signing request is malformed, or its signature does not match its key")]
    Unreadable,
    #[error("the key must be ECDSA P-256, ECDSA P-384 or Ed25519")]
    Key,
    #[error("the signing request contains a name that does not belong to its sender")]
    ForeignName,
}

// bound: a request with the largest accepted key has some 500 bytes
const MAX_CSR_BYTES: usize = 8 * 1024;

/// The public key of a request whose signature fits. `own` is the one name that
/// it may ask for; a host that enrolls has none yet.
pub fn read_request(pem: &str, own: Option<&str>) -> Result<PublicKey, CsrError> {
    if pem.len() > MAX_CSR_BYTES {
        return Err(CsrError::Unreadable);
    }
    let read = CertificateSigningRequestParams::from_pem(pem).map_err(|_| CsrError::Unreadable)?;
    let is_own = |name: &SanType| matches!(name, SanType::URI(uri) if Some(uri.as_str()) == own);
    let wants_more = matches!(read.params.is_ca, IsCa::Ca(_));
    if wants_more || !read.params.subject_alt_names.iter().all(is_own) {
        return Err(CsrError::ForeignName);
    }
    let accepted = [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384, &PKCS_ED25519];
    if !accepted.contains(&read.public_key.algorithm()) {
        return Err(CsrError::Key);
    }
    Ok(read.public_key)
}

/// What a public key is remembered by.
pub fn key_hash(key: &PublicKey) -> String {
    sha256_hex(key.der_bytes())
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, KeyPair};

    use super::*;

    fn csr(change: impl FnOnce(&mut CertificateParams)) -> String {
        let mut params = CertificateParams::default();
        change(&mut params);
        params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
    }

    fn uri(text: &str) -> SanType {
        SanType::URI(text.try_into().unwrap())
    }

    #[test]
    fn a_subject_is_ignored_and_a_foreign_name_is_refused() {
        assert!(read_request(&csr(|_| ()), None).is_ok());
        let own = csr(|it| it.subject_alt_names.push(uri("gpuaas://node/a")));
        assert!(read_request(&own, Some("gpuaas://node/a")).is_ok());
        for expected in [None, Some("gpuaas://node/b")] {
            assert_eq!(read_request(&own, expected).unwrap_err(), CsrError::ForeignName);
        }
        let named = csr(|it| it.subject_alt_names.push(SanType::DnsName("api.example".try_into().unwrap())));
        assert_eq!(read_request(&named, None).unwrap_err(), CsrError::ForeignName);
    }

    #[test]
    fn request_for_an_authority_certificate_is_refused() {
        let greedy = csr(|it| it.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
        assert_eq!(read_request(&greedy, None).unwrap_err(), CsrError::ForeignName);
    }

    #[test]
    fn a_request_must_be_signed_by_its_key() {
        let text = csr(|_| ());
        let middle = text.len() / 2;
        let mut bytes = text.into_bytes();
        bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
        let broken = String::from_utf8(bytes).unwrap();
        assert_eq!(read_request(&broken, None).unwrap_err(), CsrError::Unreadable);
        assert_eq!(read_request("", None).unwrap_err(), CsrError::Unreadable);
    }

    #[test]
    fn other_keys_are_accepted_by_name_only() {
        for (algorithm, accepted) in
            [(&PKCS_ED25519, true), (&PKCS_ECDSA_P384_SHA384, true), (&rcgen::PKCS_ECDSA_P521_SHA512, false)]
        {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let text = CertificateParams::default().serialize_request(&key).unwrap().pem().unwrap();
            assert_eq!(read_request(&text, None).is_ok(), accepted, "{algorithm:?}");
        }
    }
}
