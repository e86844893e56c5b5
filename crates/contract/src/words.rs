//! Closed sets of words. Requests accept only the known ones; answers are
//! open: a client keeps a word that it does not know.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A fieldless enum with one word per variant. Declared with `words!`.
pub trait Word: Copy + Eq + fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;
    const ALL: &'static [Self];
    fn as_str(self) -> &'static str;

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.as_str() == text)
    }
}

/// A word in an answer, which a newer server may have added to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Open<W> {
    Known(W),
    Unknown(String),
}

impl<W: Word> Open<W> {
    /// The word, unless it is one that this program does not know.
    pub fn known(&self) -> Option<W> {
        match self {
            Open::Known(word) => Some(*word),
            Open::Unknown(_) => None,
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Open::Known(word) => word.as_str(),
            Open::Unknown(text) => text,
        }
    }
}

impl<W> From<W> for Open<W> {
    fn from(word: W) -> Self {
        Open::Known(word)
    }
}

impl<W: Word> fmt::Display for Open<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<W: Word> PartialEq<W> for Open<W> {
    fn eq(&self, other: &W) -> bool {
        matches!(self, Open::Known(word) if word == other)
    }
}

impl<W: Word> Serialize for Open<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, W: Word> Deserialize<'de> for Open<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Ok(W::parse(&text).map_or_else(|| Open::Unknown(text.into_owned()), Open::Known))
    }
}

impl<W: Word> JsonSchema for Open<W> {
    fn schema_name() -> Cow<'static, str> {
        W::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = W::ALL.iter().map(|it| it.as_str()).collect();
        json_schema!({
            "type": "string",
            "description": format!("One of {}; accept words that are not listed.", words.join(", ")),
            "x-known-values": words,
        })
    }
}

/// Declares a [`Word`].
#[macro_export]
macro_rules! words {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $variant_doc:literal])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[doc = $variant_doc])* $variant),+ }

        impl $crate::Word for $name {
            const NAME: &'static str = stringify!($name);
            const ALL: &'static [Self] = &[$($name::$variant),+];
            fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str($crate::Word::as_str(*self))
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                <Self as $crate::Word>::parse(text).ok_or_else(|| {
                    let known: Vec<&str> = <Self as $crate::Word>::ALL.iter().map(|it| $crate::Word::as_str(*it)).collect();
                    format!("unknown word `{}`, expected one of {}", text.chars().take(40).collect::<String>(), known.join(", "))
                })
            }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::Word::as_str(*self))
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                ::std::borrow::Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(::serde::de::Error::custom)
            }
        }
        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> { concat!(stringify!($name), "Choice").into() }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                let words: Vec<&str> = <Self as $crate::Word>::ALL.iter().map(|it| $crate::Word::as_str(*it)).collect();
                ::schemars::json_schema!({ "type": "string", "enum": words })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    words! { Color { Red = "red", Blue = "blue" } }

    #[test]
    #[expect(clippy::cmp_owned, reason = "the comparison is what is tested")]
    fn answers_keep_unknown_words_and_requests_refuse_them() {
        let open: Open<Color> = serde_json::from_str("\"green\"").unwrap();
        assert_eq!(open, Open::Unknown("green".into()));
        assert_eq!(serde_json::to_string(&open).unwrap(), "\"green\"");
        assert!(open != Color::Red && Open::from(Color::Blue) == Color::Blue);
        let error = serde_json::from_str::<Color>("\"green\"").unwrap_err().to_string();
        assert!(error.contains("expected one of red, blue"), "{error}");
    }
}
