//! Which identity tokens are believed, with keys made on the spot.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contract::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use kernel::merkle::SealKey;
use serde_json::{Value, json};

use super::{
    keys::Keys,
    token::{Expected, TokenRejection, verify},
};

const ISSUER: &str = "https://login.example.com";
const NOW: i64 = 1_800_000_000;

struct Key {
    encoding: EncodingKey,
    public: Value,
}

fn key(id: &str) -> Key {
    let (key, secret) = SealKey::generate();
    let x = URL_SAFE_NO_PAD.encode(key.public_key());
    let public = json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": id, "x": x });
    Key { encoding: EncodingKey::from_ed_der(secret.expose()), public }
}

fn keys(publics: &[&Value]) -> Keys {
    Keys::read(serde_json::from_value(json!({ "keys": publics })).unwrap())
}

fn claims(change: Value) -> Value {
    let mut claims =
        json!({ "iss": ISSUER, "sub": "s-1", "aud": "gpuaas", "exp": NOW + 300, "iat": NOW, "nonce": "n" });
    for (name, value) in change.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

fn sign(key: &Key, id: Option<&str>, claims: &Value) -> String {
    let mut header = Header::new(Algorithm::EdDSA);
    header.kid = id.map(str::to_owned);
    encode(&header, claims, &key.encoding).unwrap()
}

fn judge(token: &str, keys: &Keys, nonce: Option<&str>) -> Result<String, TokenRejection> {
    let now = Timestamp::from_second(NOW).unwrap();
    let oldest = Some(Duration::from_secs(600));
    verify(token, keys, &Expected { issuer: ISSUER, client_id: "gpuaas", nonce, oldest, now }).map(|it| it.sub)
}

#[test]
fn claims_decide_to_the_second() {
    let key = key("a");
    let keys = keys(&[&key.public]);
    let good = [
        json!({}),
        json!({ "aud": ["gpuaas"] }),
        json!({ "aud": ["gpuaas", "other"], "azp": "gpuaas" }),
        json!({ "exp": NOW - 59 }),
        json!({ "iat": NOW + 60 }),
        json!({ "iat": NOW - 659, "exp": NOW as f64 + 0.5 }),
        json!({ "email": "a@example.com", "email_verified": "true", "groups": [{ "x": 1 }] }),
    ];
    for change in good {
        assert_eq!(
            judge(&sign(&key, Some("a"), &claims(change.clone())), &keys, Some("n")),
            Ok("s-1".into()),
            "{change}"
        );
    }
    let bad = [
        (json!({ "iss": "https://login.example.com/" }), "another issuer"),
        (json!({ "aud": "other" }), "another client"),
        (json!({ "aud": [] }), "another client"),
        (json!({ "aud": ["gpuaas", "other"] }), "another client"),
        (json!({ "azp": "other" }), "another client"),
        (json!({ "exp": NOW - 60 }), "expired"),
        (json!({ "iat": NOW + 61 }), "future"),
        (json!({ "iat": NOW - 660 }), "too old"),
        (json!({ "nonce": "m" }), "this sign-in"),
        (json!({ "nonce": null }), "this sign-in"),
        (json!({ "sub": "" }), "subject"),
        (json!({ "sub": "s".repeat(256) }), "subject"),
        (json!({ "exp": null }), "claims"),
        (json!({ "iat": "yesterday" }), "claims"),
    ];
    for (change, word) in bad {
        let Err(TokenRejection::Refused(why)) =
            judge(&sign(&key, Some("a"), &claims(change.clone())), &keys, Some("n"))
        else {
            panic!("{change} was believed");
        };
        assert!(why.contains(word), "{change}: {why}");
    }
    // What nobody here asked for was not made for a browser either.
    let unasked = |nonce: Value| judge(&sign(&key, Some("a"), &claims(json!({ "nonce": nonce }))), &keys, None);
    assert_eq!(unasked(Value::Null), Ok("s-1".into()));
    assert!(matches!(unasked("n".into()), Err(TokenRejection::Refused(why)) if why.contains("another sign-in")));
}

#[test]
fn only_a_published_key_signs_and_only_with_its_own_algorithm() {
    let (a, b) = (key("a"), key("b"));
    let both = keys(&[&a.public, &b.public]);
    let good = claims(json!({}));
    assert_eq!(judge(&sign(&b, Some("b"), &good), &both, Some("n")), Ok("s-1".into()));
    assert_eq!(judge(&sign(&a, Some("c"), &good), &both, Some("n")), Err(TokenRejection::UnknownKey));
    assert!(
        matches!(judge(&sign(&a, Some("b"), &good), &both, Some("n")), Err(TokenRejection::Refused(_))),
        "signed by another"
    );
    assert_eq!(
        judge(&sign(&a, None, &good), &both, Some("n")),
        Err(TokenRejection::UnknownKey),
        "which key is not said"
    );
    assert_eq!(judge(&sign(&a, None, &good), &keys(&[&a.public]), Some("n")), Ok("s-1".into()), "there is no choice");

    let none = format!("{}.{}.", part(&json!({ "alg": "none", "kid": "a" })), part(&good));
    let secret = EncodingKey::from_secret(a.public["x"].as_str().unwrap().as_bytes());
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some("a".into());
    let shared = encode(&header, &good, &secret).unwrap();
    let mut header = Header::new(Algorithm::EdDSA);
    (header.kid, header.crit) = (Some("a".into()), Some(vec!["b64".into()]));
    let critical = encode(&header, &good, &a.encoding).unwrap();
    for token in [none.as_str(), &shared, &critical, "", "a.b", "a.b.c", "....", &"a".repeat(10_000)] {
        assert!(matches!(judge(token, &both, Some("n")), Err(TokenRejection::Refused(_))), "{token}");
    }
}

#[test]
fn keys_that_do_not_sign_are_passed_over() {
    let key = key("a");
    let with = |name: &str, value: &str| {
        let mut public = key.public.clone();
        public[name] = value.into();
        public
    };
    assert!(!keys(&[&json!({ "kty": "??" }), &json!(7), &with("alg", "EdDSA")]).is_empty());
    let strange = [
        with("use", "enc"),
        with("alg", "ES256"),
        json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "a", "alg": "HS256" }),
        json!({ "kty": "EC", "crv": "P-384", "x": "AA", "y": "AA", "kid": "a" }),
    ];
    assert!(keys(&strange.iter().collect::<Vec<_>>()).is_empty());
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}
