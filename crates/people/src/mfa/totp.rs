//! Time-based one-time passwords (RFC 6238): SHA-1, six digits, 30 seconds, one
//! step of tolerance each way. Pure.

use aws_lc_rs::{constant_time::verify_slices_are_equal, hmac};

/// How many bytes a secret has, as RFC 4226 recommends.
pub const SECRET_BYTES: usize = 20;
// bound: every authenticator app assumes it
const STEP_SECONDS: i64 = 30;
const DIGITS: u32 = 6;
/// How many steps a device's clock may be off.
const TOLERANCE: i64 = 1;

/// The step that the code is of, if it is one that counts at `now`.
pub fn matching_step(secret: &[u8], code: &str, now_s: i64) -> Option<i64> {
    let code: String = code.chars().filter(|it| !it.is_ascii_whitespace()).collect();
    let now = now_s.div_euclid(STEP_SECONDS);
    // Every step is compared, so that the time taken says nothing.
    let mut found = None;
    for step in now - TOLERANCE..=now + TOLERANCE {
        if verify_slices_are_equal(code_of(secret, step, DIGITS).as_bytes(), code.as_bytes()).is_ok() {
            found = Some(step);
        }
    }
    found
}

fn code_of(secret: &[u8], step: i64, digits: u32) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag[tag.len() - 1] & 0x0f);
    let mut word = [0u8; 4];
    word.copy_from_slice(&tag[offset..offset + 4]);
    let number = (u32::from_be_bytes(word) & 0x7fff_ffff) % 10u32.pow(digits);
    format!("{number:0width$}", width = digits as usize)
}

/// The secret as people type it.
pub fn base32(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits = |at: usize| {
        let byte = at / 8;
        let pair = u16::from_be_bytes([bytes[byte], bytes.get(byte + 1).copied().unwrap_or(0)]);
        usize::from((pair >> (11 - at % 8)) & 0x1f)
    };
    (0..bytes.len() * 8).step_by(5).map(|at| char::from(LETTERS[bits(at)])).collect()
}

/// What an authenticator app reads from a QR code.
pub fn uri(secret: &str, installation: &str, account: &str) -> String {
    let escape =
        |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20");
    let (issuer, account) = (escape(installation), escape(account));
    format!(
        "otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}&algorithm=SHA1&digits={DIGITS}&period={STEP_SECONDS}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"12345678901234567890";

    /// The table of RFC 6238, appendix B, for SHA-1: eight digits.
    #[test]
    fn totp_codes_match_the_vectors_of_rfc_6238() {
        let table = [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ];
        for (at, code) in table {
            assert_eq!(code_of(SECRET, at / STEP_SECONDS, 8), code, "at {at}");
            assert_eq!(matching_step(SECRET, &code[2..], at), Some(at / STEP_SECONDS), "six digits at {at}");
        }
    }

    #[test]
    fn totp_tolerates_one_step_each_way_and_no_more() {
        let at = 1_111_111_109;
        let code = &"07081804"[2..];
        for (off, expected) in [(-60, false), (-30, true), (0, true), (30, true), (60, false)] {
            assert_eq!(matching_step(SECRET, code, at + off).is_some(), expected, "{off} s");
        }
        for bad in ["", "81804", "0081804", "abcdef", "08180٤"] {
            assert_eq!(matching_step(SECRET, bad, at), None, "{bad}");
        }
        assert!(matching_step(SECRET, " 081 804 ", at).is_some(), "spaces do not count");
    }

    #[test]
    fn base32_matches_rfc_4648() {
        for (plain, text) in
            [("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("foobar", "MZXW6YTBOI")]
        {
            assert_eq!(base32(plain.as_bytes()), text);
        }
        assert_eq!(base32(SECRET), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    }
}
