//! A passkey in software: makes keys and signs as an authenticator and a
//! browser do together, and lies where a test wants it to.

use aws_lc_rs::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contract::mfa::{BinaryText, PasskeyAssertion};

pub enum Pair {
    Es256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

pub struct Authenticator {
    pub id: Vec<u8>,
    pub pair: Pair,
    pub count: u32,
    pub origin: String,
    pub rp_id: String,
    pub flags: u8,
}

impl Authenticator {
    pub fn es256(origin: &str, rp_id: &str) -> Authenticator {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        Self::of(Pair::Es256(pair), origin, rp_id)
    }

    pub fn ed25519(origin: &str, rp_id: &str) -> Authenticator {
        Self::of(Pair::Ed25519(Ed25519KeyPair::generate().unwrap()), origin, rp_id)
    }

    fn of(pair: Pair, origin: &str, rp_id: &str) -> Authenticator {
        let id = uuid::Uuid::now_v7().as_bytes().to_vec();
        // Present and verified.
        Authenticator { id, pair, count: 1, origin: origin.into(), rp_id: rp_id.into(), flags: 0x05 }
    }

    /// `clientDataJSON` and `attestationObject`.
    pub fn create(&self, challenge: &str) -> (BinaryText, BinaryText) {
        let credential = [&[0; 16][..], &[0, self.id.len() as u8], &self.id, &self.cose()].concat();
        let data = self.data(self.flags | 0x40, &credential);
        let head = [0xa3, 0x63, b'f', b'm', b't', 0x64, b'n', b'o', b'n', b'e', 0x67];
        let length = (data.len() as u16).to_be_bytes();
        let object = [&head[..], b"attStmt", &[0xa0, 0x68], b"authData", &[0x59], &length, &data].concat();
        (text(&self.client_data("webauthn.create", challenge)), text(&object))
    }

    pub fn get(&mut self, challenge: &str) -> PasskeyAssertion {
        self.count += 1;
        let client_data = self.client_data("webauthn.get", challenge);
        let data = self.data(self.flags, &[]);
        let signed = [&data[..], digest(&SHA256, &client_data).as_ref()].concat();
        let signature = match &self.pair {
            Pair::Es256(pair) => pair.sign(&SystemRandom::new(), &signed).unwrap().as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.sign(&signed).as_ref().to_vec(),
        };
        PasskeyAssertion {
            credential_id: text(&self.id),
            client_data_json: text(&client_data),
            authenticator_data: text(&data),
            signature: text(&signature),
        }
    }

    fn data(&self, flags: u8, after: &[u8]) -> Vec<u8> {
        [digest(&SHA256, self.rp_id.as_bytes()).as_ref(), &[flags], &self.count.to_be_bytes(), after].concat()
    }

    fn client_data(&self, kind: &str, challenge: &str) -> Vec<u8> {
        serde_json::json!({ "type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": false })
            .to_string()
            .into_bytes()
    }

    fn cose(&self) -> Vec<u8> {
        match &self.pair {
            Pair::Es256(pair) => {
                let point = pair.public_key().as_ref();
                let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
                [&head[..], &point[1..33], &[0x22, 0x58, 0x20], &point[33..]].concat()
            }
            Pair::Ed25519(pair) => {
                let head = [0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20];
                [&head[..], pair.public_key().as_ref()].concat()
            }
        }
    }
}

pub fn text(bytes: &[u8]) -> BinaryText {
    URL_SAFE_NO_PAD.encode(bytes).parse().unwrap()
}
