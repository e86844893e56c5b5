//! The secrets that sign what a webhook is sent: made here, sealed at once, and
//! opened only to sign.

use aws_lc_rs::hmac;
use contract::Timestamp;
use kernel::{
    sealed::SealedColumn,
    secrets::{Keyring, Secret, SecretsError, random_token},
};
use uuid::Uuid;

/// The secret that signs, and during a rotation the one before it. Both are
/// sealed alike, because a rotation copies the one to the other.
pub const SECRETS: [SealedColumn; 2] = [column("secret"), column("previous_secret")];

const fn column(column: &'static str) -> SealedColumn {
    SealedColumn { table: "webhooks", column, prefix: "webhooks/" }
}

/// A new secret, and how it is stored.
pub fn make(keyring: &Keyring, id: Uuid) -> (Secret, Vec<u8>) {
    let secret = random_token("whsec");
    let sealed = SECRETS[0].seal(keyring, id, secret.expose());
    (secret, sealed)
}

/// The secrets that sign now: the current one, and during a rotation the one
/// before it.
pub struct Secrets(Vec<Secret>);

impl Secrets {
    pub fn open(keyring: &Keyring, id: Uuid, sealed: &[Vec<u8>]) -> Result<Secrets, SecretsError> {
        let open = |bytes: &Vec<u8>| SECRETS[0].open(keyring, id, bytes);
        sealed.iter().map(open).collect::<Result<_, _>>().map(Secrets)
    }

    /// The value of `gpuaas-signature`: when it was signed, and a signature of
    /// that time and the body by each secret.
    pub fn sign(&self, at: Timestamp, body: &[u8]) -> String {
        let at = at.as_second().to_string();
        let mut header = format!("t={at}");
        for secret in &self.0 {
            let mut signing = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret.expose()));
            signing.update(at.as_bytes());
            signing.update(b".");
            signing.update(body);
            header += ",v1=";
            for byte in signing.sign().as_ref() {
                header += &format!("{byte:02x}");
            }
        }
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyring() -> Keyring {
        Keyring::parse(Keyring::generate_entry().expose_text().unwrap()).unwrap()
    }

    /// Worked out by hand with `printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec_a`.
    #[test]
    fn every_secret_signs_the_time_and_the_body() {
        let at = Timestamp::from_second(1_700_000_000).unwrap();
        let secrets = Secrets(vec![Secret::new(b"whsec_a".to_vec()), Secret::new(b"whsec_b".to_vec())]);
        let header = secrets.sign(at, b"{}");
        let parts: Vec<&str> = header.split(',').collect();
        assert_eq!(parts[0], "t=1700000000");
        assert_eq!(parts[1], "v1=04339dc4f01d6541e8d3b7e4bd93cd2d4f680ccb28592270900b08e49cc09e57");
        assert!(parts.len() == 3 && parts[2].starts_with("v1=") && parts[2] != parts[1]);
    }

    #[test]
    fn a_secret_opens_for_its_own_webhook_only() {
        let (keyring, id) = (keyring(), Uuid::now_v7());
        let (secret, sealed) = make(&keyring, id);
        let opened = Secrets::open(&keyring, id, std::slice::from_ref(&sealed)).unwrap();
        assert_eq!(opened.0[0].expose(), secret.expose());
        assert!(Secrets::open(&keyring, Uuid::now_v7(), &[sealed]).is_err());
    }
}
