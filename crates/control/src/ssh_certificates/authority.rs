//! The key that signs certificates, kept in the vault, and what it signs.

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

/// The vault's name for it.
const NAME: &str = "ssh_user_ca";
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
    #[error("a certificate could not be made")]
    Form(#[from] ssh_key::Error),
}

/// Whom a certificate was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// As audit entries name them.
    pub actor: String,
    /// The only thing that it lets into.
    pub login: String,
}

/// A certificate for a key, from a moment ago until then.
pub async fn issue(
    tx: &mut Tx,
    keyring: &Keyring,
    key: &PublicKey,
    bearer: &Bearer,
    (now, until): (Timestamp, Timestamp),
) -> Result<String, AuthorityError> {
    let authority = ensure(tx, keyring).await?;
    let mut nonce = [0; NONCE_BYTES];
    let mut serial = [0; 8];
    for random in [&mut nonce[..], &mut serial[..]] {
        rand::fill(random).expect("the operating system gives randomness");
    }
    let mut builder =
        Builder::new(nonce.to_vec(), key.key_data().clone(), seconds(now).saturating_sub(SLACK_S), seconds(until))?;
    builder.serial(u64::from_be_bytes(serial))?;
    builder.cert_type(CertType::User)?;
    builder.key_id(bearer.actor.clone())?;
    builder.valid_principal(bearer.login.clone())?;
    for extension in EXTENSIONS {
        builder.extension(*extension, "")?;
    }
    builder.comment("gpuaas")?;
    Ok(builder.sign(&authority)?.to_openssh()?)
}

/// Whose certificate it is; nothing unless this platform signed it, it is good now
/// and it asks for nothing that is not understood.
pub async fn read(
    tx: &mut Tx,
    keyring: &Keyring,
    line: &str,
    now: Timestamp,
) -> Result<Option<Bearer>, AuthorityError> {
    let authority = ensure(tx, keyring).await?.fingerprint(HashAlg::Sha256);
    let Ok(certificate) = Certificate::from_openssh(line) else { return Ok(None) };
    let is_sound = certificate.validate_at(seconds(now), [&authority]).is_ok()
        && certificate.cert_type() == CertType::User
        && certificate.critical_options().is_empty();
    let [login] = certificate.valid_principals() else { return Ok(None) };
    let bearer = Bearer { actor: certificate.key_id().to_owned(), login: login.clone() };
    Ok(is_sound.then_some(bearer))
}

/// The key; the first to ask makes it.
async fn ensure(tx: &mut Tx, keyring: &Keyring) -> Result<PrivateKey, AuthorityError> {
    if let Some(held) = vault::all(tx, keyring, NAME).await?.into_iter().next() {
        return from_seed(held.secret.expose());
    }
    vault::lock(tx, NAME).await?;
    // Somebody else may have made it while this one waited.
    if let Some(held) = vault::all(tx, keyring, NAME).await?.into_iter().next() {
        return from_seed(held.secret.expose());
    }
    let mut seed = [0; SEED_BYTES];
    rand::fill(&mut seed).expect("the operating system gives randomness");
    let key = from_seed(&seed)?;
    let public = key.public_key().to_openssh()?;
    vault::put(tx, keyring, NAME, &Secret::new(seed.to_vec()), Some(&public)).await?;
    Ok(key)
}

fn from_seed(seed: &[u8]) -> Result<PrivateKey, AuthorityError> {
    let seed = seed.try_into().map_err(|_| AuthorityError::Seed)?;
    Ok(PrivateKey::from(Ed25519Keypair::from_seed(seed)))
}

fn seconds(moment: Timestamp) -> u64 {
    u64::try_from(moment.as_second()).unwrap_or(0)
}
