//! Nothing that opens a door is committed: known key forms, and values that look
//! random assigned to names that say secret. A line may state its innocence with
//! `secret-scan: allow`.

use super::{File, Problem};
use std::collections::BTreeMap;

const ALLOW: &str = "secret-scan: allow";
const ADVICE: &str = "remove it, revoke it if it was ever real, and read it from the environment; \
                      a harmless value says `secret-scan: allow` on its line";

/// What it is, its prefix, and how many of which characters must follow.
type Form = (&'static str, &'static str, usize, fn(char) -> bool);

const FORMS: &[Form] = &[
    ("a cloud access key", "AKIA", 16, is_upper),
    ("a cloud access key", "ASIA", 16, is_upper),
    ("a forge token", "ghp_", 30, is_plain),
    ("a forge token", "gho_", 30, is_plain),
    ("a forge token", "ghs_", 30, is_plain),
    ("a forge token", "github_pat_", 30, is_token),
    ("a payment key", "sk_live_", 16, is_plain),
    ("a payment key", "rk_live_", 16, is_plain),
    ("a chat token", "xoxa-", 10, is_token),
    ("a chat token", "xoxb-", 10, is_token),
    ("a chat token", "xoxp-", 10, is_token),
    ("a chat token", "xoxr-", 10, is_token),
    ("a chat token", "xoxs-", 10, is_token),
    ("a signed token", "eyJ", 40, is_token),
];
const NAMES: &[&str] =
    &["password", "passwd", "secret", "token", "api_key", "apikey", "api-key", "private_key", "access_key"];

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            if line.contains(ALLOW) {
                continue;
            }
            if let Some(what) = secret_in(line) {
                problems.push(Problem::new(file, at + 1, format!("looks like {what}; {ADVICE}")));
            }
        }
    }
    problems
}

fn secret_in(line: &str) -> Option<&'static str> {
    if is_private_key(line) {
        return Some("a private key");
    }
    if OURS.iter().any(|prefix| line.match_indices(prefix).any(|(at, _)| is_our_key(&line[at + prefix.len()..]))) {
        return Some("one of our keys");
    }
    let known = FORMS.iter().find(|(_, prefix, length, allowed)| {
        line.match_indices(prefix).any(|(at, prefix)| {
            let starts = line[..at].chars().next_back().is_none_or(|c| !is_plain(c));
            let rest = line[at + prefix.len()..].chars();
            starts && rest.take_while(|c| allowed(*c)).count() >= *length
        })
    });
    known.map(|(what, ..)| *what).or_else(|| assigns_random(line).then_some("a secret value"))
}

fn is_private_key(line: &str) -> bool {
    let header = line.split_once("-----BEGIN ").and_then(|(_, rest)| rest.split_once("-----"));
    header.is_some_and(|(kind, _)| kind.ends_with("PRIVATE KEY"))
}

/// Keys, refresh tokens and invitations, as `kernel::secrets::random_token` makes them.
const OURS: &[&str] = &["gpk_", "gpr_", "gpi_"];

/// 43 characters of URL-safe base 64 follow the prefix.
fn is_our_key(rest: &str) -> bool {
    rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).count() >= 43
}

/// Whether a name that says secret is given a value that looks random.
fn assigns_random(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    if lower.len() != line.len() {
        return false;
    }
    let ends = NAMES.iter().flat_map(|name| lower.match_indices(name).map(|(at, n)| at + n.len()));
    ends.filter_map(|end| value_after(&line[end..])).any(looks_random)
}

fn value_after(rest: &str) -> Option<&str> {
    let rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '"' | '\'' | ']'));
    let value = rest.trim_start().strip_prefix(['=', ':'])?;
    // `name: &str = "value"` and `name := value` have a second sign.
    let value = value.split_once('=').filter(|(kind, _)| is_type(kind)).map_or(value, |(_, v)| v);
    let value = value.trim_start().trim_start_matches(['"', '\'', '`', 'b']);
    let end = value.find(|c: char| !is_value(c)).unwrap_or(value.len());
    Some(&value[..end])
}

fn is_type(text: &str) -> bool {
    text.trim().len() < 16 && !text.contains(['"', '\'']) && text.chars().all(|c| !c.is_ascii_digit())
}

fn looks_random(value: &str) -> bool {
    // An address or an event name is long, but made of short words.
    let is_mixed = |part: &str| {
        part.len() >= 16
            && part.contains(|c: char| c.is_ascii_digit())
            && part.contains(|c: char| c.is_ascii_alphabetic())
    };
    value.len() >= 20 && value.split(['/', '.']).any(is_mixed) && entropy(value) >= 3.5
}

/// Shannon's bits per character.
fn entropy(value: &str) -> f64 {
    let mut counts = BTreeMap::new();
    for c in value.chars() {
        *counts.entry(c).or_insert(0_u32) += 1;
    }
    let total = f64::from(counts.values().sum::<u32>());
    counts.values().map(|n| f64::from(*n) / total).map(|p| -p * p.log2()).sum()
}

fn is_upper(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

fn is_token(c: char) -> bool {
    is_plain(c) || matches!(c, '_' | '-' | '.')
}

fn is_value(c: char) -> bool {
    is_token(c) || matches!(c, '+' | '/' | '=' | '!' | '@' | '#' | '%' | '^' | '*' | '~')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_clean(line: &str) -> bool {
        check(&[File::new("deploy/a.env", line)]).is_empty()
    }

    // Put together here so that this file keeps its own rule.
    const RANDOM: &str = concat!("q8Zt2vLm", "X4rB7nKd", "W1sJ9hFc");

    #[test]
    fn known_forms_are_found() {
        assert!(!is_clean(concat!("-----BEGIN EC PRIV", "ATE KEY-----")));
        assert!(!is_clean(&format!("id {}", concat!("AKIA", "IOSFODNN7", "EXAMPLE"))));
        assert!(!is_clean(&format!("x ghp_{RANDOM}{RANDOM}")));
        assert!(!is_clean(&format!("\"sk_live_{RANDOM}\"")));
        assert!(!is_clean(&format!("xoxb-{RANDOM}")));
        assert!(!is_clean(&format!("eyJ{RANDOM}.eyJ{RANDOM}")));
        for prefix in OURS {
            let key = format!("{prefix}{}", "aB3-_".repeat(9).split_at(43).0);
            assert!(!is_clean(&format!("curl -H 'x: {key}'")), "{prefix}");
        }
    }

    #[test]
    fn random_values_of_secret_names_are_found() {
        assert!(!is_clean(&format!("DB_PASSWORD={RANDOM}")));
        assert!(!is_clean(&format!("const API_KEY: &str = \"{RANDOM}\";")));
        assert!(!is_clean(&format!("\"client_secret\": \"{RANDOM}\"")));
        assert!(!is_clean(&format!("  access_token: {RANDOM}")));
    }

    #[test]
    fn code_about_secrets_passes() {
        assert!(is_clean("let token = tokens::issue(&tx, user, policy).await?;"));
        assert!(is_clean("password = \"correct-horse-battery-staple\""));
        assert!(is_clean("const TOKEN_PATH: &str = \"/v1/identity/tokens/refresh\";"));
        assert!(is_clean("GPUAAS_TOKEN=${GPUAAS_OPERATOR_TOKEN}"));
        assert!(is_clean("-----BEGIN CERTIFICATE-----"));
        assert!(is_clean("keys look like gpk_<prefix>_<secret>"));
        assert!(is_clean(&format!("checksum = \"{RANDOM}{RANDOM}\"")));
    }

    #[test]
    fn a_line_may_state_its_innocence() {
        assert!(is_clean(&format!("PASSWORD={RANDOM} # secret-scan: allow")));
    }
}
