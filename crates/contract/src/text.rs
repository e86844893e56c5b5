//! Strings with rules: parsing one proves that it keeps them, so a handler
//! never sees a bad value. The rules are in the schema too.

use std::fmt;

/// Why a text was refused; reads after the field's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadText(pub &'static str);

impl fmt::Display for BadText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BadText {}

/// Declares a string type with a rule, its schema and the sentence for who breaks it.
macro_rules! text {
    ($(#[doc = $doc:literal])+ $name:ident { schema: $schema:tt, rule: $rule:expr, otherwise: $otherwise:literal $(,)? }) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, ::serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str { &self.0 }
            pub fn into_string(self) -> String { self.0 }
        }
        impl ::std::str::FromStr for $name {
            type Err = $crate::BadText;
            fn from_str(text: &str) -> Result<Self, $crate::BadText> {
                let rule: fn(&str) -> bool = $rule;
                if rule(text) { Ok(Self(text.to_owned())) } else { Err($crate::BadText($otherwise)) }
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { f.write_str(&self.0) }
        }
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { ::std::fmt::Debug::fmt(&self.0, f) }
        }
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                ::std::borrow::Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(::serde::de::Error::custom)
            }
        }
        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema { ::schemars::json_schema!($schema) }
        }
    };
}

text! {
    /// A short name that people gave to something.
    Name {
        schema: { "type": "string", "minLength": 1, "maxLength": 64, "pattern": r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$" },
        rule: |text| (1..=64).contains(&text.len())
            && text.starts_with(|it: char| it.is_ascii_alphanumeric())
            && text.chars().all(|it| it.is_ascii_alphanumeric() || " ._-".contains(it)),
        otherwise: "a name has 1 to 64 letters, digits, spaces, `.`, `_` or `-`, and starts with a letter or digit",
    }
}

text! {
    /// A name that also fits into addresses and command lines.
    Label {
        schema: { "type": "string", "minLength": 1, "maxLength": 63, "pattern": r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" },
        rule: |text| (1..=63).contains(&text.len())
            && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
            && !text.starts_with('-') && !text.ends_with('-'),
        otherwise: "a label has 1 to 63 small letters, digits or `-`, and neither starts nor ends with `-`",
    }
}

text! {
    /// A person's name as they write it.
    PersonName {
        schema: { "type": "string", "minLength": 1, "maxLength": 128, "pattern": r"^[^\x00-\x1f\x7f]+$" },
        rule: |text| (1..=128).contains(&text.chars().count()) && !text.chars().any(|it| it.is_ascii_control()),
        otherwise: "a person's name has 1 to 128 characters without control characters",
    }
}

text! {
    /// The reason, recorded in the audit log.
    Reason {
        schema: { "type": "string", "minLength": 1, "maxLength": 500, "pattern": r"^[^\x00-\x1f\x7f]+$" },
        rule: |text| (1..=500).contains(&text.chars().count()) && !text.chars().any(|it| it.is_ascii_control()),
        otherwise: "a reason has 1 to 500 characters on one line",
    }
}

text! {
    /// An email address, compared without case.
    Email {
        schema: { "type": "string", "maxLength": 254, "pattern": r"^[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){0,5}$" },
        rule: |text| text.len() <= 254 && text.split_once('@').is_some_and(|(local, domain)| {
            (1..=64).contains(&local.len())
                && local.bytes().all(|it| it.is_ascii_alphanumeric() || b"._%+-".contains(&it))
                && domain.split('.').count() <= 6
                && domain.split('.').all(|label| (1..=63).contains(&label.len()) && label.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-'))
        }),
        otherwise: "not an email address like `name@example.com`",
    }
}

impl Email {
    /// The form that is stored and compared.
    pub fn folded(&self) -> String {
        self.as_str().to_ascii_lowercase()
    }
}

/// A secret that a caller sends. Never printed, never stored as it is.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    pub fn new(text: String) -> Self {
        Self(text)
    }
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl schemars::JsonSchema for SecretText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SecretText".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "minLength": 1, "maxLength": 4096, "format": "password", "pattern": r"^[^\x00]*$" })
    }
}

/// A secret that an answer shows. An endpoint that returns one keeps its
/// answer sealed, which a test over every endpoint checks.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct ShownSecret(String);

impl ShownSecret {
    pub fn new(text: String) -> Self {
        Self(text)
    }
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ShownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl schemars::JsonSchema for ShownSecret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ShownSecret".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "password", "description": "Shown in this answer only." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_hold_at_their_edges() {
        assert!("a".parse::<Name>().is_ok() && "a".repeat(64).parse::<Name>().is_ok());
        for bad in ["", "-a", "a\0", "ä", &"a".repeat(65)] {
            assert!(bad.parse::<Name>().is_err(), "{bad:?}");
        }
        for good in ["a@b", "first.last+tag@mail.example.com"] {
            assert!(good.parse::<Email>().is_ok(), "{good}");
        }
        for bad in ["", "@b", "a@", "a b@c", "a@b..c", "a@b@c"] {
            assert!(bad.parse::<Email>().is_err(), "{bad}");
        }
        assert!("Zoë".parse::<PersonName>().is_ok() && "a\nb".parse::<PersonName>().is_err());
    }

    #[test]
    fn secrets_do_not_print() {
        assert_eq!(
            format!("{:?} {:?}", SecretText::new("x".into()), ShownSecret::new("x".into())),
            "[secret] [secret]"
        );
    }
}
