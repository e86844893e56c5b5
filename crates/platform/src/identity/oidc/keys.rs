//! The issuer's public keys. Each is good for exactly one algorithm of those
//! that are accepted; whatever else a key set holds is passed over.

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;

/// A key set as published; its members are read one by one, because an
/// unfamiliar one must not hide the others.
#[derive(Deserialize)]
pub struct KeySet {
    keys: Vec<Value>,
}

#[derive(Default)]
pub struct Keys(Vec<Key>);

pub struct Key {
    id: Option<String>,
    pub algorithm: Algorithm,
    pub decoding: DecodingKey,
}

impl Keys {
    pub fn read(set: KeySet) -> Self {
        Self(set.keys.into_iter().filter_map(|it| read_key(serde_json::from_value(it).ok()?)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key that a token names; one that names none fits only if there is no choice.
    pub fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Key> {
        let mut fitting =
            self.0.iter().filter(|it| it.algorithm == algorithm && (id.is_none() || it.id.as_deref() == id));
        let first = fitting.next()?;
        (id.is_some() || fitting.next().is_none()).then_some(first)
    }
}

fn read_key(jwk: Jwk) -> Option<Key> {
    let (algorithm, word) = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(it) if it.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(it) if it.curve == EllipticCurve::Ed25519 => {
            (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
        }
        // Shared secrets among them: a public key must never verify as one.
        _ => return None,
    };
    let signs = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let fits = jwk.common.key_algorithm.is_none_or(|it| it == word);
    let decoding = DecodingKey::from_jwk(&jwk).ok().filter(|_| signs && fits)?;
    Some(Key { id: jwk.common.key_id, algorithm, decoding })
}
