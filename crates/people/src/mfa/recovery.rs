//! Recovery codes: ten of them, each used once, for who lost their device. Only
//! hashes are stored; 80 random bits need no slow one. Pure.

use contract::ShownSecret;
use kernel::secrets::{TokenHash, hash_token};

/// How many codes an account gets.
pub const COUNT: usize = 10;
const CODE_BYTES: usize = 10;

/// New codes, and what is stored of them.
pub fn generate() -> Vec<(ShownSecret, TokenHash)> {
    (0..COUNT)
        .map(|_| {
            let mut bytes = [0u8; CODE_BYTES];
            aws_lc_rs::rand::fill(&mut bytes).expect("the operating system gives randomness");
            let text = super::totp::base32(&bytes).to_ascii_lowercase();
            let groups: Vec<&str> = (0..text.len()).step_by(4).map(|at| &text[at..at + 4]).collect();
            (ShownSecret::new(groups.join("-")), hash(&text))
        })
        .collect()
}

/// What a code is found by, however it was typed.
pub fn hash(code: &str) -> TokenHash {
    let plain: String = code.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
    hash_token(&format!("recovery:{}", plain.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_codes_differ_and_are_found_however_they_are_typed() {
        let codes = generate();
        assert_eq!(codes.len(), COUNT);
        for (at, (shown, stored)) in codes.iter().enumerate() {
            assert_eq!(shown.expose().len(), 19, "four groups of four");
            assert!(*stored == hash(&shown.expose().to_uppercase().replace('-', " ")));
            assert!(codes.iter().skip(at + 1).all(|(_, other)| other != stored));
        }
    }
}
