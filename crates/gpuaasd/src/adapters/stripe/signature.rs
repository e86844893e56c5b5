//! Stripe's signature over a webhook's body: HMAC-SHA256 of the time, a dot
//! and the body as it came. Several secrets and several signatures may stand
//! beside each other while a secret is replaced.

use std::time::Duration;

use aws_lc_rs::hmac;
use jiff::Timestamp;
use kernel::secrets::Secret;

use platform::ports::payments::EventError;

// bound: Stripe signs with as many secrets as an endpoint has, two while one is replaced
const MAX_SIGNATURES: usize = 8;

struct Header {
    at: i64,
    signatures: Vec<Vec<u8>>,
}

/// Whether one of the secrets signed the body, within `tolerance` of now.
pub fn verify(
    secrets: &[Secret],
    header: &str,
    body: &[u8],
    now: Timestamp,
    tolerance: Duration,
) -> Result<(), EventError> {
    if secrets.is_empty() {
        return Err(EventError::NoSecret);
    }
    let header = parse(header).ok_or(EventError::Header)?;
    let signed = [header.at.to_string().as_bytes(), b".", body].concat();
    // Every secret is tried with every signature; each comparison takes the same time.
    let is_ours = secrets.iter().fold(false, |found, secret| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose());
        header.signatures.iter().fold(found, |found, it| hmac::verify(&key, &signed, it).is_ok() | found)
    });
    if !is_ours {
        return Err(EventError::Signature);
    }
    let off = now.as_second().abs_diff(header.at);
    if off > tolerance.as_secs() { Err(EventError::Time) } else { Ok(()) }
}

/// `t=…,v1=…,v1=…`; other schemes are for tests and are not believed.
fn parse(text: &str) -> Option<Header> {
    let (mut at, mut signatures) = (None, Vec::new());
    for part in text.split(',') {
        let (name, value) = part.trim().split_once('=')?;
        match name {
            "t" if at.is_some() => return None,
            "t" if value.bytes().all(|it| it.is_ascii_digit()) => at = Some(value.parse().ok()?),
            "t" => return None,
            "v1" if signatures.len() == MAX_SIGNATURES => return None,
            "v1" => signatures.extend(unhex(value)),
            _ => (),
        }
    }
    at.map(|at| Header { at, signatures }).filter(|it| !it.signatures.is_empty())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"id":"evt_1"}"#;
    const TOLERANCE: Duration = Duration::from_secs(300);

    fn secret(text: &str) -> Secret {
        text.to_owned().into()
    }

    fn sign(secret: &str, at: i64, body: &[u8]) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hmac::sign(&key, &[at.to_string().as_bytes(), b".", body].concat());
        tag.as_ref().iter().map(|it| format!("{it:02x}")).collect()
    }

    fn check(header: &str, at: i64) -> Result<(), EventError> {
        let now = Timestamp::from_second(at).unwrap();
        verify(&[secret("new"), secret("old")], header, BODY, now, TOLERANCE)
    }

    #[test]
    fn any_secret_and_any_signature_will_do() {
        let (new, old, other) = (sign("new", 1000, BODY), sign("old", 1000, BODY), sign("other", 1000, BODY));
        assert_eq!(check(&format!("t=1000,v1={new}"), 1000), Ok(()));
        assert_eq!(check(&format!("t=1000, v1={old}, v0=ff"), 1000), Ok(()));
        assert_eq!(check(&format!("t=1000,v1={other},v1={new}"), 1000), Ok(()));
        assert_eq!(check(&format!("t=1000,v1={other}"), 1000), Err(EventError::Signature));
        assert_eq!(check(&format!("t=1000,v0={new}"), 1000), Err(EventError::Header), "a scheme for tests");
        let now = Timestamp::from_second(1000).unwrap();
        assert_eq!(verify(&[], &format!("t=1000,v1={new}"), BODY, now, TOLERANCE), Err(EventError::NoSecret));
    }

    #[test]
    fn time_counts_both_ways_and_is_signed() {
        let header = format!("t=1000,v1={}", sign("new", 1000, BODY));
        for (now, expected) in
            [(700, Ok(())), (1300, Ok(())), (699, Err(EventError::Time)), (1301, Err(EventError::Time))]
        {
            assert_eq!(check(&header, now), expected, "{now}");
        }
        assert_eq!(check(&header.replace("t=1000", "t=1001"), 1000), Err(EventError::Signature));
    }

    #[test]
    fn nonsense_is_refused() {
        let good = sign("new", 1000, BODY);
        for header in
            ["", "t", "t=,v1=00", "t=x,v1=00", "t=1000", "t=-5,v1=00", "t=1000,v1=", "t=1000,v1=0", "t=1000,v1=zz"]
        {
            assert!(check(header, 1000).is_err(), "{header}");
        }
        assert_eq!(check(&format!("t=1000,t=1000,v1={good}"), 1000), Err(EventError::Header));
        assert_eq!(
            check(&format!("t=1000,{}", vec![format!("v1={good}"); 9].join(",")), 1000),
            Err(EventError::Header)
        );
        assert_eq!(check(&format!("t=1000,v1={}", &good[..62]), 1000), Err(EventError::Signature), "cut short");
        assert_eq!(check("t=99999999999999999999,v1=00", 1000), Err(EventError::Header));
        assert_eq!(check("t=1000,v1=éé", 1000), Err(EventError::Header));
    }
}
