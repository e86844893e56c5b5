//! What a client may set in the environment of its shell or command: its language,
//! and nothing that changes what is run.

use std::collections::BTreeMap;

const MOST_VARIABLES: usize = 16; // bound: C has thirteen categories of a language, and its name
const MOST_NAME: usize = 32; // bound: the longest of them has nineteen letters
const MOST_VALUE: usize = 64; // bound: names of languages are short

/// Variables that may be set; there is no way to put another one in. It travels
/// beside the grant, not in it: a grant has one form alone, and a host that is
/// older than a field refuses it, while it does not look at a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Sets a variable, if it may be set and there is room for it.
    pub fn set(&mut self, name: &str, value: &str) -> bool {
        let has_room = self.0.len() < MOST_VARIABLES || self.0.contains_key(name);
        let is_set = has_room && is_language(name) && is_plain(value);
        if is_set {
            self.0.insert(name.to_owned(), value.to_owned());
        }
        is_set
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// As a header carries it; none when there is nothing to carry.
    pub fn to_header(&self) -> Option<String> {
        let all: Vec<String> = self.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (!all.is_empty()).then(|| all.join(";"))
    }

    /// What may not be set is left out, whoever wrote it.
    pub fn from_header(text: &str) -> Self {
        let mut environment = Self::default();
        for (name, value) in text.split(';').filter_map(|it| it.split_once('=')) {
            environment.set(name, value);
        }
        environment
    }
}

/// As Debian's `AcceptEnv LANG LC_*`.
fn is_language(name: &str) -> bool {
    let is_category =
        |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b'_');
    name.len() <= MOST_NAME && (name == "LANG" || name.strip_prefix("LC_").is_some_and(is_category))
}

/// Programs that change to the user read it before they do, so it is no path.
fn is_plain(value: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.' | b'@' | b':' | b'+');
    value.len() <= MOST_VALUE && value.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_languages_are_set_and_travel() {
        let mut environment = Environment::default();
        assert_eq!(environment.to_header(), None);
        for (name, value) in [("LANG", "de_DE.UTF-8@euro"), ("LC_ALL", "C"), ("LC_TIME", "")] {
            assert!(environment.set(name, value), "{name}");
        }
        let before = environment.clone();
        for (name, value) in [
            ("PATH", "/tmp"),
            ("LD_PRELOAD", "x"),
            ("BASH_ENV", "x"),
            ("LANGUAGE", "de"),
            ("LC_", "C"),
            ("LC_all", "C"),
            ("lang", "C"),
            ("LANG", "../../x"),
            ("LANG", "a b"),
            ("LANG", "$(id)"),
            ("LANG", "x;PATH=y"),
            ("LANG", &"x".repeat(MOST_VALUE + 1)),
            (&format!("LC_{}", "X".repeat(MOST_NAME)), "C"),
        ] {
            assert!(!environment.set(name, value), "{name}={value}");
        }
        assert_eq!(environment, before);
        assert_eq!(Environment::from_header(&environment.to_header().unwrap()), environment);
        let forged = Environment::from_header("PATH=/tmp;LANG=C;;LC_ALL=/x;rubbish");
        assert_eq!(forged.iter().collect::<Vec<_>>(), [("LANG", "C")]);
    }

    #[test]
    fn there_are_no_more_than_a_few() {
        let mut environment = Environment::default();
        let set = (0..100).filter(|it| environment.set(&format!("LC_{it}"), "C")).count();
        assert_eq!((set, environment.iter().count()), (MOST_VARIABLES, MOST_VARIABLES));
        assert!(environment.set("LC_0", "de"), "one that is there may change");
    }
}
