//! Proof that somebody holds a key which they register: a signature as
//! `ssh-keygen -Y sign` makes it (SSHSIG), over the id of their account. It names the
//! account, so that it is good for no other, and shown again it proves the same again:
//! there is no challenge to keep.

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use base64::{Engine, engine::general_purpose::STANDARD};
use contract::{id::UserId, ssh_keys::PROOF_NAMESPACE};

use super::{
    blob::part,
    signature::{BadSignature, verify},
};

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
const MAGIC: &[u8] = b"SSHSIG";
const VERSION: [u8; 4] = 1_u32.to_be_bytes();
/// How lines end where the id was piped in with `echo`.
const ENDS: [&str; 3] = ["", "\n", "\r\n"];

/// Whether the holder of the key, given on the wire, signed that it is this person's.
pub fn check(proof: &str, key: &[u8], user: UserId) -> Result<(), BadSignature> {
    let text = proof.trim().strip_prefix(BEGIN).and_then(|it| it.strip_suffix(END)).ok_or(BadSignature::Malformed)?;
    let text: String = text.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(text).map_err(|_| BadSignature::Malformed)?;
    let mut rest = bytes.strip_prefix(MAGIC).ok_or(BadSignature::Malformed)?;
    rest = rest.strip_prefix(&VERSION).ok_or(BadSignature::Malformed)?;
    let mut take = || part(&mut rest);
    let (signer, namespace, reserved, hash, signature) = (take()?, take()?, take()?, take()?, take()?);
    if !rest.is_empty() {
        return Err(BadSignature::Malformed);
    }
    if signer != key || namespace != PROOF_NAMESPACE.as_bytes() {
        return Err(BadSignature::Wrong);
    }
    let algorithm = match hash {
        b"sha512" => &SHA512,
        b"sha256" => &SHA256,
        _ => return Err(BadSignature::Algorithm),
    };
    let mut why = BadSignature::Wrong;
    for end in ENDS {
        let hashed = digest(algorithm, format!("{user}{end}").as_bytes());
        let signed = [MAGIC.to_vec(), string(namespace), string(reserved), string(hash), string(hashed.as_ref())];
        match verify(key, signature, &signed.concat()) {
            Ok(()) => return Ok(()),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], bytes].concat()
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        process::{Command, Stdio},
    };

    use super::*;
    use crate::ssh_keys::blob;

    /// A key of the real program, and what it signs.
    struct Holder {
        _folder: tempfile::TempDir,
        file: std::path::PathBuf,
        blob: Vec<u8>,
    }

    impl Holder {
        fn new(kind: &str, size: &str) -> Holder {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("key");
            let mut make = Command::new("ssh-keygen");
            make.args(["-q", "-t", kind, "-b", size, "-N", "", "-f"]).arg(&file);
            assert!(make.status().expect("ssh-keygen is installed").success());
            let line = std::fs::read_to_string(file.with_extension("pub")).unwrap();
            let blob = blob::wire(line.trim()).unwrap();
            Holder { _folder: folder, file, blob }
        }

        fn signs(&self, namespace: &str, text: &str) -> String {
            let mut sign = Command::new("ssh-keygen");
            sign.args(["-Y", "sign", "-n", namespace, "-f"]).arg(&self.file);
            let mut child = sign.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
            String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
        }
    }

    #[test]
    fn proofs_of_ssh_keygen_are_accepted_for_every_kind_of_key() {
        let user = UserId::generate();
        for (kind, size) in [("ed25519", "256"), ("rsa", "2048"), ("ecdsa", "256"), ("ecdsa", "384"), ("ecdsa", "521")]
        {
            let holder = Holder::new(kind, size);
            // A number may begin with zeros, which are left out on the wire.
            for _ in 0..if kind == "ecdsa" { 8 } else { 1 } {
                let proof = holder.signs(PROOF_NAMESPACE, &user.to_string());
                assert_eq!(check(&proof, &holder.blob, user), Ok(()), "{kind} {size}");
            }
            let echoed = holder.signs(PROOF_NAMESPACE, &format!("{user}\n"));
            assert_eq!(check(&echoed, &holder.blob, user), Ok(()));
        }
    }

    #[test]
    fn proof_of_another_key_account_or_purpose_is_refused() {
        let (user, other) = (UserId::generate(), UserId::generate());
        let (holder, stranger) = (Holder::new("ed25519", "256"), Holder::new("ed25519", "256"));
        let proof = holder.signs(PROOF_NAMESPACE, &user.to_string());
        assert_eq!(check(&proof, &holder.blob, other), Err(BadSignature::Wrong), "another account's");
        assert_eq!(check(&proof, &stranger.blob, user), Err(BadSignature::Wrong), "another key's");
        let file = holder.signs("file", &user.to_string());
        assert_eq!(check(&file, &holder.blob, user), Err(BadSignature::Wrong), "for another purpose");
        for bad in ["", "-----BEGIN SSH SIGNATURE-----", &proof[..proof.len() / 2], &proof.replace('A', "B")] {
            assert!(check(bad, &holder.blob, user).is_err(), "{bad}");
        }
    }
}
