//! Passwords: hashed with argon2id, on threads of their own and few at a time,
//! because each hash takes 19 MiB and tens of milliseconds on purpose.

use std::sync::{Arc, LazyLock};

use argon2::{
    Argon2,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use tokio::sync::Semaphore;

#[derive(Clone)]
pub struct Passwords {
    slots: Arc<Semaphore>,
    /// Those who hash and those who wait for it.
    line: Arc<Semaphore>,
}

#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("hashing a password failed")]
    Hash(#[source] argon2::password_hash::Error),
    #[error("too many passwords are being checked")]
    Busy,
    #[error("hashing a password was interrupted")]
    Interrupted(#[from] tokio::task::JoinError),
}

// bound: hashes at once, each 19 MiB; more would only wait for cores
const AT_ONCE: usize = 2;
// bound: each of them holds a database connection, which others need too
const IN_LINE: usize = 8;

/// Verified against when there is no account, so that the answer takes as long.
static NOBODY: LazyLock<String> = LazyLock::new(|| hash_now("nobody's password").unwrap_or_default());

impl Default for Passwords {
    fn default() -> Self {
        Self { slots: Arc::new(Semaphore::new(AT_ONCE)), line: Arc::new(Semaphore::new(IN_LINE)) }
    }
}

impl Passwords {
    pub async fn hash(&self, password: &str) -> Result<String, PasswordError> {
        let password = password.to_owned();
        let _place = self.line.try_acquire().map_err(|_| PasswordError::Busy)?;
        let _slot = self.slots.acquire().await.expect("the semaphore is never closed");
        tokio::task::spawn_blocking(move || hash_now(&password)).await?.map_err(PasswordError::Hash)
    }

    /// Whether the password fits the hash; without a hash, takes as long and says no.
    pub async fn verify(&self, password: &str, hash: Option<String>) -> Result<bool, PasswordError> {
        let password = password.to_owned();
        let _place = self.line.try_acquire().map_err(|_| PasswordError::Busy)?;
        let _slot = self.slots.acquire().await.expect("the semaphore is never closed");
        let fits = tokio::task::spawn_blocking(move || {
            let known = hash.is_some();
            let hash = hash.unwrap_or_else(|| NOBODY.clone());
            let fits = PasswordHash::new(&hash)
                .is_ok_and(|it| Argon2::default().verify_password(password.as_bytes(), &it).is_ok());
            known && fits
        });
        Ok(fits.await?)
    }
}

fn hash_now(password: &str) -> Result<String, argon2::password_hash::Error> {
    let mut salt = [0u8; 16];
    aws_lc_rs::rand::fill(&mut salt).expect("the operating system gives randomness");
    Ok(Argon2::default().hash_password_with_salt(password.as_bytes(), &salt)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_fits_and_nobody_has_one() {
        let passwords = Passwords::default();
        let hash = passwords.hash("correct horse").await.unwrap();
        assert!(hash.starts_with("$argon2id$"));
        assert!(passwords.verify("correct horse", Some(hash.clone())).await.unwrap());
        assert!(!passwords.verify("wrong horse", Some(hash)).await.unwrap());
        assert!(!passwords.verify("nobody's password", None).await.unwrap());
    }
}
