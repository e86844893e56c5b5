//! Whether an identity token is believed. Pure: keys and time are given.

use std::time::Duration;

use contract::Timestamp;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;

use super::{Profile, keys::Keys};

/// What a token must say.
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    /// Of the sign-in that asked for the token, when one did.
    pub nonce: Option<&'a str>,
    /// The greatest age, for tokens that nobody here asked for.
    pub oldest: Option<Duration>,
    pub now: Timestamp,
}

#[derive(Deserialize)]
pub struct Claims {
    iss: String,
    pub sub: String,
    aud: Audience,
    azp: Option<String>,
    /// Seconds, and perhaps a fraction.
    exp: f64,
    iat: f64,
    nonce: Option<String>,
    #[serde(flatten)]
    pub profile: Profile,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, PartialEq, Eq)]
pub enum TokenRejection {
    /// Well-formed, and signed by a key that may have been published since.
    UnknownKey,
    Refused(&'static str),
}

const ACCEPTED: [Algorithm; 3] = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA];
// bound: how far the issuer's clock may differ from ours
const LEEWAY: Duration = Duration::from_secs(60);

pub fn verify(token: &str, keys: &Keys, expected: &Expected) -> Result<Claims, TokenRejection> {
    let refused = TokenRejection::Refused;
    // `none` is no algorithm to the parser; shared secrets are refused here.
    let header = decode_header(token).ok().filter(|it| ACCEPTED.contains(&it.alg));
    let header =
        header.ok_or(refused("the identity token is malformed, or is not signed with RS256, ES256 or EdDSA"))?;
    if header.crit.is_some() {
        return Err(refused("the identity token has critical headers that are not supported"));
    }
    let key = keys.find(header.kid.as_deref(), header.alg).ok_or(TokenRejection::UnknownKey)?;
    let mut rules = Validation::new(key.algorithm);
    // Judged below: the time by the one clock, the audience with `azp`.
    rules.required_spec_claims.clear();
    (rules.validate_exp, rules.validate_aud) = (false, false);
    let claims = decode::<Claims>(token, &key.decoding, &rules)
        .map_err(|_| refused("the identity token's signature or claims are not valid"))?
        .claims;
    judge(&claims, expected).map_err(refused)?;
    Ok(claims)
}

fn judge(claims: &Claims, expected: &Expected) -> Result<(), &'static str> {
    if claims.iss != expected.issuer {
        return Err("the identity token is from another issuer");
    }
    if !claims.is_for(expected.client_id) {
        return Err("the identity token is for another client");
    }
    let (now, leeway) = (expected.now.as_second() as f64, LEEWAY.as_secs_f64());
    if claims.exp + leeway <= now {
        return Err("the identity token has expired: sign in at the issuer again");
    }
    if claims.iat - leeway > now {
        return Err("the identity token was issued in the future: check the clocks");
    }
    if expected.oldest.is_some_and(|it| claims.iat + it.as_secs_f64() + leeway <= now) {
        return Err("the identity token is too old: get a new one");
    }
    match (expected.nonce, &claims.nonce) {
        (None, None) => (),
        (Some(wanted), Some(nonce)) if wanted == nonce => (),
        (Some(_), _) => return Err("the identity token does not belong to this sign-in: start again"),
        // A browser was to bring it back; whoever has it took it from there.
        (None, Some(_)) => return Err("the identity token was issued for another sign-in: get one without a nonce"),
    }
    if !(1..=255).contains(&claims.sub.len()) {
        return Err("the identity token has no valid subject");
    }
    Ok(())
}

impl Claims {
    /// Until when the token is believed at all.
    pub fn believed_until(&self) -> Timestamp {
        let seconds = self.exp + LEEWAY.as_secs_f64() + 1.0;
        Timestamp::from_second(seconds as i64).unwrap_or(Timestamp::MAX)
    }

    /// With several audiences, `azp` says which of them it was issued to.
    fn is_for(&self, client_id: &str) -> bool {
        let (named, others) = match &self.aud {
            Audience::One(one) => (one == client_id, false),
            Audience::Many(many) => (many.iter().any(|it| it == client_id), many.len() > 1),
        };
        named && self.azp.as_deref().map_or(!others, |it| it == client_id)
    }
}
