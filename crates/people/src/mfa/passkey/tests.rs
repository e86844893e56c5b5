//! The judgment of passkeys, byte by byte. Round trips with a software
//! authenticator through the API are tests of the whole.

use super::*;

const PARTY: &str = "https://gpu.example.com";

fn party() -> RelyingParty {
    RelyingParty::of(PARTY)
}

fn client_data(kind: &str, challenge: &[u8], origin: &str) -> Vec<u8> {
    let challenge = URL_SAFE_NO_PAD.encode(challenge);
    serde_json::json!({ "type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false })
        .to_string()
        .into_bytes()
}

/// An Ed25519 key of 32 equal bytes as COSE.
fn cose_key() -> Vec<u8> {
    [&[0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20][..], &[7; 32]].concat()
}

fn authenticator_data(flags: u8, after: &[u8]) -> Vec<u8> {
    [digest(&SHA256, b"gpu.example.com").as_ref(), &[flags, 0, 0, 0, 9], after].concat()
}

fn attestation(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap().to_be_bytes();
    let head = [0xa3, 0x63, b'f', b'm', b't', 0x64, b'n', b'o', b'n', b'e', 0x67];
    [&head[..], b"attStmt", &[0xa0, 0x68], b"authData", &[0x59], &length, data].concat()
}

fn attested(flags: u8, after: &[u8]) -> Vec<u8> {
    let credential = [&[0; 16][..], &[0, 4], &[1, 2, 3, 4], &cose_key(), after].concat();
    attestation(&authenticator_data(flags, &credential))
}

#[test]
fn relying_party_is_the_address_of_the_installation() {
    assert_eq!(party(), RelyingParty { id: "gpu.example.com".into(), origin: PARTY.into() });
    let local = RelyingParty::of("http://localhost:8080/");
    assert_eq!((local.id.as_str(), local.origin.as_str()), ("localhost", "http://localhost:8080"));
}

#[test]
fn registration_is_believed_only_as_it_was_asked_for() {
    let data = |kind, challenge: &[u8], origin| client_data(kind, challenge, origin);
    let good = data("webauthn.create", b"asked", PARTY);
    let made = register(&party(), b"asked", &good, &attested(0x45, &[])).unwrap();
    assert_eq!(made, Registered { credential_id: vec![1, 2, 3, 4], public_key: cose_key(), sign_count: 9 });
    assert!(register(&party(), b"asked", &good, &attested(0xc5, &[0xa0])).is_ok(), "extensions are announced");

    let refused = |client: &[u8], object: &[u8]| register(&party(), b"asked", client, object).unwrap_err();
    use PasskeyError as E;
    let object = attested(0x45, &[]);
    assert_eq!(refused(&data("webauthn.get", b"asked", PARTY), &object), E::Malformed);
    assert_eq!(refused(&data("webauthn.create", b"other", PARTY), &object), E::WrongChallenge);
    assert_eq!(refused(&data("webauthn.create", b"asked", "https://evil.example"), &object), E::WrongOrigin);
    assert_eq!(refused(&data("webauthn.create", b"asked", "http://gpu.example.com"), &object), E::WrongOrigin);
    assert_eq!(refused(&good, &attested(0x41, &[])), E::NotVerified, "nobody was verified");
    assert_eq!(refused(&good, &attested(0x44, &[])), E::NotVerified, "nobody was present");
    assert_eq!(refused(&good, &attested(0x45, &[0xa0])), E::Malformed, "what was not announced");
    assert_eq!(refused(&good, &attestation(&authenticator_data(0x05, &[]))), E::Malformed, "no passkey in it");
    assert_eq!(refused(b"{}", &object), E::Malformed);
    let elsewhere = RelyingParty { id: "other.example.com".into(), origin: PARTY.into() };
    assert_eq!(register(&elsewhere, b"asked", &good, &object).unwrap_err(), E::WrongOrigin);
}

#[test]
fn registration_that_is_cut_off_anywhere_is_refused() {
    let good = client_data("webauthn.create", b"asked", PARTY);
    let object = attested(0x45, &[]);
    for length in 0..object.len() {
        assert!(register(&party(), b"asked", &good, &object[..length]).is_err(), "{length} bytes");
    }
    for length in 0..authenticator_data(0x45, &[]).len() + 20 + cose_key().len() {
        let data = [authenticator_data(0x45, &[]), [&[0; 16][..], &[0, 4], &[1; 4], &cose_key()].concat()].concat();
        assert!(register(&party(), b"asked", &good, &attestation(&data[..length])).is_err(), "{length} inner bytes");
    }
}

#[test]
fn public_keys_of_other_algorithms_are_refused() {
    let mut key = cose_key();
    key[4] = 0x38; // an algorithm of two bytes
    key.insert(5, 0x22); // ES384
    assert!(PublicKey::parse(&key).is_none());
    assert!(PublicKey::parse(&cose_key()).is_some());
    assert!(PublicKey::parse(&cose_key()[..20]).is_none());
}
