//! What the CA can do with the keys that it holds: make roots, intermediates
//! and the certificates of nodes, gateways and listeners. Nothing here reads or writes.

use std::time::Duration;

use contract::Timestamp;
use kernel::secrets::Secret;
use protocol::agent_binary::sha256_hex;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, pem::PemObject};

#[derive(Debug, thiserror::Error)]
pub enum CaError {
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the CA's keys cannot be read from the vault")]
    Vault(#[from] kernel::vault::VaultError),
    #[error("creating a certificate failed")]
    Make(#[from] rcgen::Error),
    #[error("a certificate of the CA cannot be read: restore the vault from a backup")]
    Unreadable,
    #[error(
        "there is no intermediate certificate and no root key to sign one: run `gpuaasd ca rotate --root-key FILE`"
    )]
    NoIntermediate,
}

/// The part of the CA that signs, and what it is trusted by.
pub struct Authority {
    roots: Vec<CertificateDer<'static>>,
    roots_pem: String,
    intermediate_pem: String,
    issuer: Issuer<'static, KeyPair>,
    starts_at: Timestamp,
    expires_at: Timestamp,
    fingerprints: Vec<String>,
    /// SHA-256 of the root that the intermediate is of.
    root_fingerprint: String,
    /// Certificates from before this are renewed early.
    renew_before: Option<Timestamp>,
    /// How often the roots changed before.
    pub(super) changes: u64,
}

/// A certificate that was just made.
#[derive(Debug)]
pub struct Issued {
    /// The certificate and the intermediate's, in PEM.
    pub chain: String,
    pub serial: String,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy)]
pub struct Validity {
    pub from: Timestamp,
    pub until: Timestamp,
}

// bound: how far a host's clock may be behind ours without distrusting what is new
const SKEW: Duration = Duration::from_secs(300);
// bound: a root outlives every machine that pins it; `gpuaasd ca rotate-root` replaces one
const ROOT_LIFE: Duration = Duration::from_secs(20 * 365 * 86_400);

impl Validity {
    pub fn starting(now: Timestamp, life: Duration) -> Self {
        Self { from: now - SKEW, until: now + life }
    }

    /// Whether two thirds of it are over.
    pub fn is_aging(self, now: Timestamp) -> bool {
        let (life, age) = (self.until.duration_since(self.from), now.duration_since(self.from));
        age >= life / 3 * 2
    }
}

impl Authority {
    pub(super) fn new(
        roots: Vec<String>,
        key: &Secret,
        certificate: &str,
        renew_before: Option<Timestamp>,
    ) -> Result<Self, CaError> {
        let parse = |pem: &String| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| CaError::Unreadable);
        let ders = roots.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let own = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|_| CaError::Unreadable)?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&own).map_err(|_| CaError::Unreadable)?;
        let at = |second: i64| Timestamp::from_second(second).map_err(|_| CaError::Unreadable);
        let starts_at = at(parsed.validity().not_before.timestamp())?;
        let expires_at = at(parsed.validity().not_after.timestamp())?;
        let root = roots.iter().zip(&ders).find(|(pem, _)| is_signed_by(certificate, pem).unwrap_or(false));
        let root_fingerprint = root.map(|(_, der)| sha256_hex(der)).ok_or(CaError::Unreadable)?;
        let fingerprints = ders.iter().chain([&own]).map(|it| sha256_hex(it)).collect();
        let issuer = Issuer::from_ca_cert_der(&own, key_pair(key)?)?;
        Ok(Self {
            roots_pem: roots.concat(),
            roots: ders,
            intermediate_pem: certificate.to_owned(),
            issuer,
            starts_at,
            expires_at,
            fingerprints,
            root_fingerprint,
            renew_before,
            changes: 0,
        })
    }

    pub fn roots(&self) -> &[CertificateDer<'static>] {
        &self.roots
    }

    pub fn roots_pem(&self) -> &str {
        &self.roots_pem
    }

    /// Rises whenever the roots change, and is the same for all replicas.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// SHA-256 of the root that signs now, by which a new host recognizes us.
    pub fn root_fingerprint(&self) -> &str {
        &self.root_fingerprint
    }

    /// Whether a root is being replaced.
    pub fn is_turning(&self) -> bool {
        self.renew_before.is_some()
    }

    /// Whether a node should renew early, to learn what to trust from now on.
    pub fn wants_renewal(&self, issued_at: Timestamp, now: Timestamp) -> bool {
        self.renew_before.is_some_and(|before| before <= now && issued_at + SKEW < before)
    }

    pub(super) fn fingerprints(&self) -> &[String] {
        &self.fingerprints
    }

    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    pub(super) fn is_aging(&self, now: Timestamp) -> bool {
        Validity { from: self.starts_at, until: self.expires_at }.is_aging(now)
    }

    /// A certificate by which a node is known; nothing of it was chosen by the node but the key.
    pub fn issue_to_node(&self, key: &impl PublicKeyData, uri: &str, validity: Validity) -> Result<Issued, CaError> {
        let name = SanType::URI(uri.try_into()?);
        self.issue(key, vec![name], vec![ExtendedKeyUsagePurpose::ClientAuth], validity)
    }

    /// A certificate by which a gateway is known here, and by hosts at `host`.
    pub fn issue_to_gateway(
        &self,
        key: &impl PublicKeyData,
        uri: &str,
        host: &str,
        validity: Validity,
    ) -> Result<Issued, CaError> {
        let mut names = CertificateParams::new([host.to_owned()])?.subject_alt_names;
        names.push(SanType::URI(uri.try_into()?));
        self.issue(key, names, vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth], validity)
    }

    /// The certificate of the node listener.
    pub fn issue_to_listener(&self, key: &KeyPair, names: &[String], validity: Validity) -> Result<Issued, CaError> {
        let names = CertificateParams::new(names)?.subject_alt_names;
        self.issue(key, names, vec![ExtendedKeyUsagePurpose::ServerAuth], validity)
    }

    fn issue(
        &self,
        key: &impl PublicKeyData,
        names: Vec<SanType>,
        usages: Vec<ExtendedKeyUsagePurpose>,
        validity: Validity,
    ) -> Result<Issued, CaError> {
        // What outlived its issuer could not be verified.
        let validity = Validity { until: validity.until.min(self.expires_at), ..validity };
        let (mut params, serial) = blank("gpuaas", validity);
        params.subject_alt_names = names;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = usages;
        let certificate = params.signed_by(key, &self.issuer)?;
        let chain = certificate.pem() + &self.intermediate_pem;
        Ok(Issued { chain, serial, expires_at: validity.until })
    }
}

/// A key and its self-signed certificate.
pub(super) fn make_root(now: Timestamp) -> Result<(Secret, String), CaError> {
    let key = KeyPair::generate()?;
    let mut params = authority("gpuaas root", Validity::starting(now, ROOT_LIFE));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(1));
    let certificate = params.self_signed(&key)?;
    Ok((key.serialize_pem().into(), certificate.pem()))
}

/// A key and its certificate, signed by the root.
pub(super) fn make_intermediate(
    root_key: &Secret,
    root: &str,
    validity: Validity,
) -> Result<(Secret, String), CaError> {
    let issuer = Issuer::from_ca_cert_pem(root, key_pair(root_key)?)?;
    let key = KeyPair::generate()?;
    let mut params = authority("gpuaas nodes", validity);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let certificate = params.signed_by(&key, &issuer)?;
    Ok((key.serialize_pem().into(), certificate.pem()))
}

/// Whether the key is the one that the certificate is of.
pub(super) fn belongs(key: &Secret, certificate: &str) -> Result<bool, CaError> {
    let der = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|_| CaError::Unreadable)?;
    let (_, parsed) = x509_parser::parse_x509_certificate(&der).map_err(|_| CaError::Unreadable)?;
    Ok(parsed.public_key().raw == key_pair(key)?.subject_public_key_info())
}

/// Whether the certificate was made by the root: each root has a name of its own.
pub(super) fn is_signed_by(certificate: &str, root: &str) -> Result<bool, CaError> {
    let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| CaError::Unreadable);
    let (certificate, root) = (der(certificate)?, der(root)?);
    let (_, certificate) = x509_parser::parse_x509_certificate(&certificate).map_err(|_| CaError::Unreadable)?;
    let (_, root) = x509_parser::parse_x509_certificate(&root).map_err(|_| CaError::Unreadable)?;
    Ok(certificate.issuer() == root.subject())
}

fn key_pair(key: &Secret) -> Result<KeyPair, CaError> {
    Ok(KeyPair::from_pem(key.expose_text().ok_or(CaError::Unreadable)?)?)
}

fn authority(name: &str, validity: Validity) -> CertificateParams {
    let (mut params, serial) = blank(name, validity);
    // Two of them must not be taken for one another.
    params.distinguished_name.push(DnType::OrganizationalUnitName, serial);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn blank(name: &str, validity: Validity) -> (CertificateParams, String) {
    let mut serial = [0; 16];
    aws_lc_rs::rand::fill(&mut serial).expect("the operating system gives randomness");
    // Positive and without leading zeros, so that its text is the same everywhere.
    serial[0] = serial[0] & 0x3f | 0x40;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.use_authority_key_identifier_extension = true;
    let start = date_time_ymd(1970, 1, 1);
    let after = |at: Timestamp| start + Duration::from_secs(u64::try_from(at.as_second()).unwrap_or_default());
    (params.not_before, params.not_after) = (after(validity.from), after(validity.until));
    (params, serial.iter().map(|it| format!("{it:02x}")).collect())
}
