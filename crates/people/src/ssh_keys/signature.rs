//! Whether the holder of a public key signed something: keys and signatures as
//! OpenSSH writes them on the wire. Pure.

use aws_lc_rs::{
    digest::{SHA256, digest},
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
        RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
    },
};

use super::blob::{BadKey, part};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSignature {
    #[error("it is truncated or malformed; paste the complete output of `ssh-keygen -Y sign`")]
    Malformed,
    #[error("its algorithm does not match the key, or is outdated")]
    Algorithm,
    #[error("it was made with another key, or signs different data")]
    Wrong,
    #[error("the security key was not touched")]
    NotTouched,
}

impl From<BadKey> for BadSignature {
    fn from(_: BadKey) -> Self {
        BadSignature::Malformed
    }
}

/// What a security key says of a signature: somebody touched it.
const TOUCHED: u8 = 1;

/// Whether the key, which is sound, made the signature of the data.
pub fn verify(blob: &[u8], signature: &[u8], data: &[u8]) -> Result<(), BadSignature> {
    let (mut key, mut rest) = (blob, signature);
    let (kind, algorithm, made) = (part(&mut key)?, part(&mut rest)?, part(&mut rest)?);
    let is_own = algorithm == kind;
    match (kind, algorithm) {
        (b"ssh-ed25519", _) if is_own => check(&ED25519, part(&mut key)?, data, made)?,
        (b"sk-ssh-ed25519@openssh.com", _) if is_own => {
            let (public, application) = (part(&mut key)?, part(&mut key)?);
            let (said, after) = rest.split_first_chunk::<5>().ok_or(BadSignature::Malformed)?;
            rest = after;
            if said[0] & TOUCHED == 0 {
                return Err(BadSignature::NotTouched);
            }
            let signed = [digest(&SHA256, application).as_ref(), said, digest(&SHA256, data).as_ref()].concat();
            check(&ED25519, public, &signed, made)?;
        }
        (b"ecdsa-sha2-nistp256", _) if is_own => curve(&ECDSA_P256_SHA256_FIXED, 32, key, data, made)?,
        (b"ecdsa-sha2-nistp384", _) if is_own => curve(&ECDSA_P384_SHA384_FIXED, 48, key, data, made)?,
        (b"ecdsa-sha2-nistp521", _) if is_own => curve(&ECDSA_P521_SHA512_FIXED, 66, key, data, made)?,
        (b"ssh-rsa", b"rsa-sha2-512") => rsa(&RSA_PKCS1_2048_8192_SHA512, key, data, made)?,
        (b"ssh-rsa", b"rsa-sha2-256") => rsa(&RSA_PKCS1_2048_8192_SHA256, key, data, made)?,
        _ => return Err(BadSignature::Algorithm),
    }
    if rest.is_empty() { Ok(()) } else { Err(BadSignature::Malformed) }
}

fn check(
    algorithm: &'static dyn VerificationAlgorithm,
    key: &[u8],
    data: &[u8],
    made: &[u8],
) -> Result<(), BadSignature> {
    UnparsedPublicKey::new(algorithm, key).verify(data, made).map_err(|_| BadSignature::Wrong)
}

/// The two numbers of a signature, each as long as a coordinate.
fn curve(
    algorithm: &'static dyn VerificationAlgorithm,
    coordinate: usize,
    mut key: &[u8],
    data: &[u8],
    mut made: &[u8],
) -> Result<(), BadSignature> {
    let (_, point) = (part(&mut key)?, part(&mut key)?);
    let mut fixed = Vec::with_capacity(2 * coordinate);
    for _ in 0..2 {
        let number = without_zeros(part(&mut made)?);
        let missing = coordinate.checked_sub(number.len()).ok_or(BadSignature::Malformed)?;
        fixed.resize(fixed.len() + missing, 0);
        fixed.extend_from_slice(number);
    }
    if !made.is_empty() {
        return Err(BadSignature::Malformed);
    }
    check(algorithm, point, data, &fixed)
}

fn rsa(
    algorithm: &'static aws_lc_rs::signature::RsaParameters,
    mut key: &[u8],
    data: &[u8],
    made: &[u8],
) -> Result<(), BadSignature> {
    let (e, n) = (without_zeros(part(&mut key)?), without_zeros(part(&mut key)?));
    RsaPublicKeyComponents { n, e }.verify(algorithm, data, made).map_err(|_| BadSignature::Wrong)
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|it| **it == 0).count();
    &number[zeros..]
}
