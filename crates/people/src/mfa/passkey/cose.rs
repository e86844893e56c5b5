//! Public keys as authenticators write them (COSE, RFC 9053): ES256, EdDSA and
//! RS256, and the signatures made with them. Pure.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

use super::cbor::{self, Item};

pub const ES256: i64 = -7;
pub const EDDSA: i64 = -8;
pub const RS256: i64 = -257;

/// A public key of a passkey.
#[derive(Debug, PartialEq, Eq)]
pub enum PublicKey<'a> {
    /// P-256, as an uncompressed point.
    Es256([u8; 65]),
    Ed25519(&'a [u8]),
    Rs256 {
        n: &'a [u8],
        e: &'a [u8],
    },
}

impl<'a> PublicKey<'a> {
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        Self::of(&cbor::only(bytes).ok()?)
    }

    pub fn of(key: &Item<'a>) -> Option<Self> {
        let field = |label: i64| key.get(&Item::Integer(label));
        let number = |label: i64| field(label).and_then(Item::integer);
        let bytes = |label: i64| field(label).and_then(Item::bytes);
        match (number(1)?, number(3)?) {
            (2, ES256) if number(-1)? == 1 => {
                let (x, y) = (bytes(-2)?, bytes(-3)?);
                if x.len() != 32 || y.len() != 32 {
                    return None;
                }
                let mut point = [4u8; 65];
                point[1..33].copy_from_slice(x);
                point[33..].copy_from_slice(y);
                Some(Self::Es256(point))
            }
            (1, EDDSA) if number(-1)? == 6 => bytes(-2).filter(|it| it.len() == 32).map(Self::Ed25519),
            (3, RS256) => {
                let (n, e) = (bytes(-1)?, bytes(-2)?);
                ((256..=1024).contains(&n.len()) && (1..=8).contains(&e.len())).then_some(Self::Rs256 { n, e })
            }
            _ => None,
        }
    }

    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Es256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature).is_ok()
            }
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok(),
            Self::Rs256 { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
            }
        }
    }
}
