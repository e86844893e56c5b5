//! Lists: one shape for every page, one way to ask for the next.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

/// One page of a list, newest first unless the endpoint says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Send it as `cursor` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next_cursor: Option<Cursor>,
}

impl<T> Page<T> {
    /// Builds a page from up to `limit + 1` rows: the extra one says that there is more.
    pub fn cut(mut items: Vec<T>, limit: Limit, position: impl Fn(&T) -> Uuid) -> Self {
        let more = items.len() > limit.rows();
        items.truncate(limit.rows());
        let next_cursor = if more { items.last().map(|it| Cursor(position(it))) } else { None };
        Self { items, next_cursor }
    }
}

/// The number of items per page: 1 to 200. Default: 50.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(u16);

impl Limit {
    pub const DEFAULT: u16 = 50;
    pub const MAX: u16 = 200;

    pub fn new(rows: u16) -> Option<Self> {
        (1..=Self::MAX).contains(&rows).then_some(Self(rows))
    }
    pub fn rows(self) -> usize {
        usize::from(self.0)
    }
    /// What a store asks the database for: one more than the page holds.
    pub fn probe(self) -> i64 {
        i64::from(self.0) + 1
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self(Self::DEFAULT)
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.0)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u16::deserialize(deserializer)
            .ok()
            .and_then(Self::new)
            .ok_or_else(|| de::Error::custom("limit is a number from 1 to 200"))
    }
}

impl JsonSchema for Limit {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": Self::MAX, "default": Self::DEFAULT, "description": "Items per page." })
    }
}

/// The position of the next page. Opaque: only send back a value from an earlier page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(pub Uuid);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::id::encode("c", self.0))
    }
}

impl FromStr for Cursor {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        enum Place {}
        impl crate::id::Kind for Place {
            const PREFIX: &'static str = "c";
            const NAME: &'static str = "cursor";
        }
        text.parse::<crate::Id<Place>>()
            .map(|it| Cursor(it.uuid()))
            .map_err(|_| "not a cursor; send `next_cursor` of an earlier page")
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Cursor {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "`next_cursor` of an earlier page.", "pattern": "^c-[0-7][0-9a-hjkmnp-tv-z]{25}$" })
    }
}

/// Declares the query of a list: its filters, with `cursor` and `limit` added.
#[macro_export]
macro_rules! list_query {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty),* $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Default, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $field_doc])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$ty>,)*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub cursor: Option<$crate::Cursor>,
            #[serde(default)]
            pub limit: $crate::Limit,
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_there_is_more_only_when_there_is() {
        let rows = |count: u128| (1..=count).map(Uuid::from_u128).collect::<Vec<_>>();
        let limit = Limit::new(2).unwrap();
        let page = Page::cut(rows(3), limit, |it| *it);
        assert_eq!((page.items.len(), page.next_cursor), (2, Some(Cursor(Uuid::from_u128(2)))));
        assert_eq!(Page::cut(rows(2), limit, |it| *it).next_cursor, None);
    }

    #[test]
    fn cursors_round_trip_and_reject_the_rest() {
        let cursor = Cursor(Uuid::from_u128(77));
        assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        assert!("c-1".parse::<Cursor>().is_err() && "".parse::<Cursor>().is_err());
        assert!(Limit::new(0).is_none() && Limit::new(201).is_none());
    }
}
