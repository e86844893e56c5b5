//! Passkeys (WebAuthn, level 2): what a browser made is believed only if it was
//! made for this installation, for this challenge and with the person at it.
//! Attestation is not asked for and not judged. Pure.

mod cbor;
mod cose;

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    digest::{SHA256, digest},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;

use cbor::Item;
use cose::PublicKey;

/// COSE algorithms that are accepted, the preferred one first.
pub const ALGORITHMS: [i32; 3] = [cose::ES256 as i32, cose::EDDSA as i32, cose::RS256 as i32];
/// How many bytes a passkey is asked to sign.
pub const CHALLENGE_BYTES: usize = 32;

/// What passkeys are made for: this installation's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// The host's name.
    pub id: String,
    pub origin: String,
}

impl RelyingParty {
    /// From the public address of the installation.
    pub fn of(address: &str) -> Self {
        let url = url::Url::parse(address).ok();
        let id = url.as_ref().and_then(url::Url::host_str).unwrap_or("localhost").to_owned();
        Self { id, origin: url.map_or_else(String::new, |it| it.origin().ascii_serialization()) }
    }
}

/// A passkey to be stored.
#[derive(Debug, PartialEq, Eq)]
pub struct Registered {
    pub credential_id: Vec<u8>,
    /// As COSE.
    pub public_key: Vec<u8>,
    pub sign_count: u32,
}

/// What a browser sent to prove that a passkey is there.
pub struct Assertion<'a> {
    pub client_data: &'a [u8],
    pub authenticator_data: &'a [u8],
    pub signature: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyError {
    #[error("the response of the browser is malformed")]
    Malformed,
    #[error("the passkey answered a different challenge")]
    WrongChallenge,
    #[error("the passkey was used for a different site")]
    WrongOrigin,
    #[error("the passkey did not verify its user: set a PIN or a fingerprint on it")]
    NotVerified,
    #[error("the passkey uses an algorithm that is not supported")]
    Algorithm,
    #[error("the signature does not match the passkey")]
    Signature,
    #[error("the passkey's signature counter went backward: it may have been cloned")]
    Counter,
}

// bound: what WebAuthn allows for a credential id
const CREDENTIAL_ID_BYTES: usize = 1023;
const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const ATTESTED: u8 = 0x40;
const EXTENDED: u8 = 0x80;

/// Judges what `navigator.credentials.create` made.
pub fn register(
    party: &RelyingParty,
    challenge: &[u8],
    client_data: &[u8],
    attestation: &[u8],
) -> Result<Registered, PasskeyError> {
    check_client_data(party, challenge, client_data, "webauthn.create")?;
    let attestation = cbor::only(attestation).map_err(|_| PasskeyError::Malformed)?;
    let data = attestation.get(&Item::Text("authData")).and_then(Item::bytes).ok_or(PasskeyError::Malformed)?;
    let (flags, sign_count, rest) = check_authenticator(party, data)?;
    if flags & ATTESTED == 0 {
        return Err(PasskeyError::Malformed);
    }
    // The authenticator's model, which is not judged, and the length of the id.
    let (_, rest) = rest.split_at_checked(16).ok_or(PasskeyError::Malformed)?;
    let (length, rest) = rest.split_first_chunk::<2>().ok_or(PasskeyError::Malformed)?;
    let length = usize::from(u16::from_be_bytes(*length));
    if length == 0 || length > CREDENTIAL_ID_BYTES {
        return Err(PasskeyError::Malformed);
    }
    let (credential_id, rest) = rest.split_at_checked(length).ok_or(PasskeyError::Malformed)?;
    let (key, after) = cbor::first(rest).map_err(|_| PasskeyError::Malformed)?;
    check_extensions(flags, after)?;
    PublicKey::of(&key).ok_or(PasskeyError::Algorithm)?;
    let public_key = rest[..rest.len() - after.len()].to_vec();
    Ok(Registered { credential_id: credential_id.to_vec(), public_key, sign_count })
}

/// Judges what `navigator.credentials.get` made; returns the new counter.
pub fn verify(
    party: &RelyingParty,
    challenge: &[u8],
    (public_key, stored_count): (&[u8], u32),
    assertion: &Assertion<'_>,
) -> Result<u32, PasskeyError> {
    check_client_data(party, challenge, assertion.client_data, "webauthn.get")?;
    let (flags, sign_count, rest) = check_authenticator(party, assertion.authenticator_data)?;
    if flags & ATTESTED != 0 {
        return Err(PasskeyError::Malformed);
    }
    check_extensions(flags, rest)?;
    let key = PublicKey::parse(public_key).ok_or(PasskeyError::Algorithm)?;
    let mut signed = assertion.authenticator_data.to_vec();
    signed.extend_from_slice(digest(&SHA256, assertion.client_data).as_ref());
    if !key.verifies(&signed, assertion.signature) {
        return Err(PasskeyError::Signature);
    }
    // Passkeys that are shared between devices do not count, and always say 0.
    if (sign_count, stored_count) != (0, 0) && sign_count <= stored_count {
        return Err(PasskeyError::Counter);
    }
    Ok(sign_count)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
}

fn check_client_data(party: &RelyingParty, challenge: &[u8], bytes: &[u8], kind: &str) -> Result<(), PasskeyError> {
    let data: ClientData = serde_json::from_slice(bytes).map_err(|_| PasskeyError::Malformed)?;
    if data.kind != kind {
        return Err(PasskeyError::Malformed);
    }
    let answered = URL_SAFE_NO_PAD.decode(&data.challenge).map_err(|_| PasskeyError::Malformed)?;
    if verify_slices_are_equal(&answered, challenge).is_err() {
        return Err(PasskeyError::WrongChallenge);
    }
    if data.origin != party.origin || data.cross_origin {
        return Err(PasskeyError::WrongOrigin);
    }
    Ok(())
}

/// The flags, the counter and what follows them.
fn check_authenticator<'a>(party: &RelyingParty, data: &'a [u8]) -> Result<(u8, u32, &'a [u8]), PasskeyError> {
    let (hash, rest) = data.split_at_checked(32).ok_or(PasskeyError::Malformed)?;
    if hash != digest(&SHA256, party.id.as_bytes()).as_ref() {
        return Err(PasskeyError::WrongOrigin);
    }
    let (flags, rest) = rest.split_first().ok_or(PasskeyError::Malformed)?;
    let (count, rest) = rest.split_first_chunk::<4>().ok_or(PasskeyError::Malformed)?;
    if flags & PRESENT == 0 || flags & VERIFIED == 0 {
        return Err(PasskeyError::NotVerified);
    }
    Ok((*flags, u32::from_be_bytes(*count), rest))
}

/// Nothing follows but what the flags announce.
fn check_extensions(flags: u8, rest: &[u8]) -> Result<(), PasskeyError> {
    match (flags & EXTENDED != 0, rest) {
        (false, []) => Ok(()),
        (true, rest) => cbor::only(rest).map(drop).map_err(|_| PasskeyError::Malformed),
        (false, _) => Err(PasskeyError::Malformed),
    }
}

#[cfg(test)]
mod tests;
