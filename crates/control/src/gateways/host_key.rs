//! The key that every gateway shows to SSH clients: one for all, so that behind
//! one name it does not matter which of them answers. Kept in the vault.

use aws_lc_rs::{
    rand,
    signature::{Ed25519KeyPair, KeyPair},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use kernel::{
    Tx,
    secrets::{Keyring, Secret},
    vault::{self, VaultError},
};

/// The vault's name for it.
const NAME: &str = "ssh_host";
const ALGORITHM: &[u8] = b"ssh-ed25519";

/// The key in OpenSSH's own form; the first to ask makes it.
pub async fn ensure(tx: &mut Tx, keyring: &Keyring) -> Result<Secret, VaultError> {
    vault::lock(tx, NAME).await?;
    if let Some(held) = vault::all(tx, keyring, NAME).await?.into_iter().next() {
        return Ok(held.secret);
    }
    let (secret, public) = generate();
    vault::put(tx, keyring, NAME, &secret, Some(&public)).await?;
    Ok(secret)
}

/// The public half, as people compare it.
pub async fn line(tx: &mut Tx, keyring: &Keyring) -> Result<String, VaultError> {
    ensure(tx, keyring).await?;
    let held = vault::all(tx, keyring, NAME).await?.into_iter().next();
    Ok(held.and_then(|it| it.public).unwrap_or_default())
}

/// A new key: the file that holds it, and the line that people compare.
fn generate() -> (Secret, String) {
    let (mut seed, mut check) = ([0; 32], [0; 4]);
    for random in [&mut seed[..], &mut check[..]] {
        rand::fill(random).expect("the operating system gives randomness");
    }
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("every seed of 32 bytes is one");
    let public = pair.public_key().as_ref().to_vec();
    let blob = [string(ALGORITHM), string(&public)].concat();
    let line = format!("ssh-ed25519 {}", BASE64_STANDARD.encode(&blob));
    (file(&seed, &public, check).into(), line)
}

/// `openssh-key-v1`, not encrypted: the vault does that.
fn file(seed: &[u8], public: &[u8], check: [u8; 4]) -> String {
    let blob = [string(ALGORITHM), string(public)].concat();
    let mut secret = [check, check].concat();
    secret.extend(string(ALGORITHM));
    secret.extend(string(public));
    secret.extend(string(&[seed, public].concat()));
    secret.extend(string(b"gpuaas"));
    for pad in (1..=8_u8).take((8 - secret.len() % 8) % 8) {
        secret.push(pad);
    }
    let whole = [
        b"openssh-key-v1\0".to_vec(),
        string(b"none"),
        string(b"none"),
        string(b""),
        1_u32.to_be_bytes().to_vec(),
        string(&blob),
        string(&secret),
    ]
    .concat();
    let text = BASE64_STANDARD.encode(whole);
    let lines: Vec<&str> = (0..text.len()).step_by(70).map(|at| &text[at..(at + 70).min(text.len())]).collect();
    let name = "OPENSSH PRIVATE KEY"; // secret-scan: allow
    format!("-----BEGIN {name}-----\n{}\n-----END {name}-----\n", lines.join("\n"))
}

fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("short by construction");
    [&length.to_be_bytes()[..], bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OpenSSH's own program reads it and finds the same public key.
    #[test]
    fn openssh_reads_the_key() {
        let (secret, public) = generate();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), secret.expose()).unwrap();
        let said = match std::process::Command::new("ssh-keygen").arg("-yf").arg(file.path()).output() {
            Ok(said) => said,
            // Where there is no OpenSSH, its form is still checked.
            Err(_) => return assert!(public.starts_with("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI")),
        };
        let line = String::from_utf8_lossy(&said.stdout);
        assert!(line.starts_with(&public), "{line} {}", String::from_utf8_lossy(&said.stderr));
    }
}
