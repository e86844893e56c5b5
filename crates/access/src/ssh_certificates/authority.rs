//! The keys that sign certificates, kept in the vault, and what they sign: one for
//! people who log in, another for the gateways that they log in to.

use aws_lc_rs::rand;
use contract::Timestamp;
use kernel::{
    Tx,
    secrets::{Keyring, Secret},
    vault::{self, VaultError},
};
use ssh_key::{
    Certificate, HashAlg, PrivateKey, PublicKey,
    certificate::{Builder, CertType},
    private::Ed25519Keypair,
};

use people::credentials::Credential;

/// The vault's names for them.
pub const USERS: &str = "ssh_user_ca";
pub const HOSTS: &str = "ssh_host_ca";
/// What every certificate is good for; `ssh` itself asks for nothing else.
const EXTENSIONS: &[&str] = &["permit-port-forwarding", "permit-pty"];
// bound: clocks of the control plane's machines differ by less
const SLACK_S: u64 = 60;
const SEED_BYTES: usize = 32;
const NONCE_BYTES: usize = 16;

#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error("the key that signs SSH certificates cannot be read")]
    Seed,
    #[error("a certificate could not be issued")]
    Form(#[from] ssh_key::Error),
}

/// Whom a certificate was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// As audit entries name them.
    pub actor: String,
    /// The only thing that it lets into.
    pub login: String,
    /// What they showed to get it.
    pub credential: Credential,
}

/// A certificate for a key, from a moment ago until then.
pub async fn issue(
    tx: &mut Tx,
    keyring: &Keyring,
    key: &PublicKey,
    bearer: &Bearer,
    span: (Timestamp, Timestamp),
) -> Result<String, AuthorityError> {
    let authority = ensure(tx, keyring, USERS).await?;
    let mut builder = begin(key, span)?;
    builder.cert_type(CertType::User)?;
    builder.key_id(
        [Some(bearer.actor.clone()), bearer.credential.text()].into_iter().flatten().collect::<Vec<_>>().join(" "),
    )?;
    builder.valid_principal(bearer.login.clone())?;
    for extension in EXTENSIONS {
        builder.extension(*extension, "")?;
    }
    Ok(builder.sign(&authority)?.to_openssh()?)
}

/// That a key is the one of the gateway with this id, which is reached under these names.
pub async fn issue_to_host(
    tx: &mut Tx,
    keyring: &Keyring,
    key: &PublicKey,
    (gateway, names): (&str, &[String]),
    span: (Timestamp, Timestamp),
) -> Result<String, AuthorityError> {
    let authority = ensure(tx, keyring, HOSTS).await?;
    let mut builder = begin(key, span)?;
    builder.cert_type(CertType::Host)?;
    builder.key_id(gateway)?;
    for name in names {
        builder.valid_principal(name.clone())?;
    }
    Ok(builder.sign(&authority)?.to_openssh()?)
}

/// What people trust to name gateways, as `known_hosts` has it.
pub async fn host_line(tx: &mut Tx, keyring: &Keyring) -> Result<String, AuthorityError> {
    let authority = ensure(tx, keyring, HOSTS).await?;
    Ok(PublicKey::new(authority.public_key().key_data().clone(), "").to_openssh()?)
}

/// Whose certificate it is; nothing unless this platform signed it, it is good now
/// and it asks for nothing that is not understood.
pub async fn read(
    tx: &mut Tx,
    keyring: &Keyring,
    line: &str,
    now: Timestamp,
) -> Result<Option<Bearer>, AuthorityError> {
    let Ok(certificate) = Certificate::from_openssh(line) else { return Ok(None) };
    let authority = ensure(tx, keyring, USERS).await?.public_key().fingerprint(HashAlg::Sha256);
    let is_sound = certificate.validate_at(seconds(now), [&authority]).is_ok()
        && certificate.cert_type() == CertType::User
        && certificate.critical_options().is_empty();
    let [login] = certificate.valid_principals() else { return Ok(None) };
    let Some((actor, credential)) = certificate.key_id().split_once(' ') else { return Ok(None) };
    let Some(credential) = Credential::parse(credential) else { return Ok(None) };
    let bearer = Bearer { actor: actor.to_owned(), login: login.clone(), credential };
    Ok(is_sound.then_some(bearer))
}

fn begin(key: &PublicKey, (now, until): (Timestamp, Timestamp)) -> Result<Builder, AuthorityError> {
    let mut nonce = [0; NONCE_BYTES];
    let mut serial = [0; 8];
    for random in [&mut nonce[..], &mut serial[..]] {
        rand::fill(random).expect("the operating system gives randomness");
    }
    let from = seconds(now).saturating_sub(SLACK_S);
    let mut builder = Builder::new(nonce.to_vec(), key.key_data().clone(), from, seconds(until))?;
    builder.serial(u64::from_be_bytes(serial))?;
    builder.comment("gpuaas")?;
    Ok(builder)
}

/// The key of that name; the first to ask makes it.
pub async fn ensure(tx: &mut Tx, keyring: &Keyring, name: &str) -> Result<PrivateKey, AuthorityError> {
    if let Some(held) = vault::all(tx, keyring, name).await?.into_iter().next() {
        return from_seed(held.secret.expose());
    }
    vault::lock(tx, name).await?;
    // Somebody else may have made it while this one waited.
    if let Some(held) = vault::all(tx, keyring, name).await?.into_iter().next() {
        return from_seed(held.secret.expose());
    }
    let mut seed = [0; SEED_BYTES];
    rand::fill(&mut seed).expect("the operating system gives randomness");
    let key = from_seed(&seed)?;
    let public = key.public_key().to_openssh()?;
    vault::put(tx, keyring, name, &Secret::new(seed.to_vec()), Some(&public)).await?;
    Ok(key)
}

fn from_seed(seed: &[u8]) -> Result<PrivateKey, AuthorityError> {
    let seed = seed.try_into().map_err(|_| AuthorityError::Seed)?;
    Ok(PrivateKey::from(Ed25519Keypair::from_seed(seed)))
}

fn seconds(moment: Timestamp) -> u64 {
    u64::try_from(moment.as_second()).unwrap_or(0)
}
