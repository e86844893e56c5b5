//! What a public key says of itself: its kind and its parts in OpenSSH's wire
//! form, and the fingerprint that `ssh-keygen -l` prints. Pure.

use aws_lc_rs::digest::{SHA256, digest};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    #[error("its second word is not base64; paste the whole line of the `.pub` file")]
    NotBase64,
    #[error("it is truncated or has trailing data; paste the whole line of the `.pub` file")]
    Cut,
    #[error("its type does not match its content")]
    OtherKind,
    #[error("its fields do not match its type")]
    Malformed,
    #[error("RSA keys need 2048 to 8192 bits; generate a new key with `ssh-keygen -t ed25519`")]
    RsaSize,
}

// bound: shorter RSA keys can be broken, longer ones cannot be proven: no signature of theirs is verified
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;
// bound: the size of an Ed25519 public key
const ED25519_BYTES: usize = 32;

/// Checks the line of a public key and tells its fingerprint.
pub fn fingerprint(line: &str) -> Result<String, BadKey> {
    Ok(fingerprint_of(&wire(line)?))
}

/// The fingerprint of a key on the wire.
pub fn fingerprint_of(blob: &[u8]) -> String {
    format!("SHA256:{}", STANDARD_NO_PAD.encode(digest(&SHA256, blob)))
}

/// Checks the line of a public key and gives the key as it goes over the wire.
pub fn wire(line: &str) -> Result<Vec<u8>, BadKey> {
    let mut words = line.splitn(3, ' ');
    let (kind, text) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let blob = STANDARD.decode(text).map_err(|_| BadKey::NotBase64)?;
    check(kind, &blob)?;
    Ok(blob)
}

fn check(kind: &str, blob: &[u8]) -> Result<(), BadKey> {
    let mut rest = blob;
    if part(&mut rest)? != kind.as_bytes() {
        return Err(BadKey::OtherKind);
    }
    let is_sound = match kind {
        "ssh-ed25519" => part(&mut rest)?.len() == ED25519_BYTES,
        "sk-ssh-ed25519@openssh.com" => part(&mut rest)?.len() == ED25519_BYTES && !part(&mut rest)?.is_empty(),
        "ssh-rsa" => {
            let (exponent, modulus) = (part(&mut rest)?, part(&mut rest)?);
            if !RSA_BITS.contains(&bits(modulus)) {
                return Err(BadKey::RsaSize);
            }
            bits(exponent) > 1 && is_positive(exponent) && is_positive(modulus)
        }
        "ecdsa-sha2-nistp256" => is_point(&mut rest, b"nistp256", 32)?,
        "ecdsa-sha2-nistp384" => is_point(&mut rest, b"nistp384", 48)?,
        "ecdsa-sha2-nistp521" => is_point(&mut rest, b"nistp521", 66)?,
        _ => false,
    };
    match (is_sound, rest) {
        (true, []) => Ok(()),
        (true, _) => Err(BadKey::Cut),
        (false, _) => Err(BadKey::Malformed),
    }
}

/// Takes one part: four bytes of length, then as many bytes.
pub(super) fn part<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], BadKey> {
    let (length, after) = rest.split_first_chunk::<4>().ok_or(BadKey::Cut)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| BadKey::Cut)?;
    let (taken, after) = after.split_at_checked(length).ok_or(BadKey::Cut)?;
    *rest = after;
    Ok(taken)
}

/// The name of the curve, then a point that is not compressed.
fn is_point(rest: &mut &[u8], curve: &[u8], coordinate: usize) -> Result<bool, BadKey> {
    let (name, point) = (part(rest)?, part(rest)?);
    Ok(name == curve && point.len() == 1 + 2 * coordinate && point[0] == 4)
}

/// Numbers are written with their sign in the first bit.
fn is_positive(number: &[u8]) -> bool {
    number.first().is_some_and(|it| it & 0x80 == 0)
}

fn bits(number: &[u8]) -> usize {
    let zeros = number.iter().take_while(|it| **it == 0).count();
    let digits = &number[zeros..];
    digits.first().map_or(0, |first| digits.len() * 8 - first.leading_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A key that the real program made, and the fingerprint that it prints.
    fn made(kind: &str, size: &str) -> (String, String) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let mut make = Command::new("ssh-keygen");
        make.args(["-q", "-t", kind, "-b", size, "-N", "", "-C", "someone@host", "-f"]).arg(&file);
        assert!(make.status().expect("ssh-keygen is installed").success());
        let public = file.with_extension("pub");
        let said = Command::new("ssh-keygen").arg("-lf").arg(&public).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        let fingerprint = said.split(' ').nth(1).unwrap().to_owned();
        (std::fs::read_to_string(public).unwrap().trim().to_owned(), fingerprint)
    }

    #[test]
    fn fingerprints_are_those_that_ssh_keygen_prints() {
        for (kind, size) in [("ed25519", "256"), ("rsa", "2048"), ("ecdsa", "256"), ("ecdsa", "384"), ("ecdsa", "521")]
        {
            let (line, expected) = made(kind, size);
            line.parse::<contract::ssh_keys::PublicKey>().expect("the contract takes it");
            assert_eq!(fingerprint(&line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn malformed_key_is_refused_with_its_defect() {
        let (line, _) = made("ed25519", "256");
        let mut words = line.split(' ');
        let (kind, text) = (words.next().unwrap(), words.next().unwrap());
        let blob = STANDARD.decode(text).unwrap();
        let with = |kind: &str, blob: &[u8]| fingerprint(&format!("{kind} {}", STANDARD.encode(blob))).unwrap_err();
        assert_eq!(fingerprint(&format!("{kind} {}", &text[..text.len() - 1])).unwrap_err(), BadKey::NotBase64);
        assert_eq!(with("ssh-rsa", &blob), BadKey::OtherKind);
        assert_eq!(with(kind, &blob[..blob.len() - 1]), BadKey::Cut);
        assert_eq!(with(kind, &[&blob[..], &[0]].concat()), BadKey::Cut);
        assert_eq!(with(kind, &[0xff; 8]), BadKey::Cut);
        let short = [&[0, 0, 0, 11], &b"ssh-ed25519"[..], &[0, 0, 0, 1, 7]].concat();
        assert_eq!(with(kind, &short), BadKey::Malformed);
        let (weak, _) = made("rsa", "1024");
        assert_eq!(fingerprint(&weak).unwrap_err(), BadKey::RsaSize);
        // As long as a key of so many bits; whether it is the product of two primes is not asked.
        let rsa = |bits: usize| {
            let number = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat();
            let modulus = [&[0][..], &vec![0xff; bits / 8]].concat();
            [number(b"ssh-rsa"), number(&[1, 0, 1]), number(&modulus)].concat()
        };
        assert_eq!(check("ssh-rsa", &rsa(8192)), Ok(()));
        assert_eq!(check("ssh-rsa", &rsa(8200)), Err(BadKey::RsaSize), "no proof by it would be believed");
    }
}
