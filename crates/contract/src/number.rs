//! Numbers with bounds: parsing one proves that it is within them, and the
//! bounds are in the schema too.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A whole number from `MIN` to `MAX`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Within<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Within<MIN, MAX> {
    pub fn new(number: u64) -> Option<Self> {
        (MIN..=MAX).contains(&number).then_some(Self(number))
    }

    pub fn get(self) -> u64 {
        self.0
    }

    /// As a narrower number; the bounds say whether it fits.
    pub fn to<T: TryFrom<u64>>(self) -> T {
        let Ok(number) = T::try_from(self.0) else { unreachable!("the bounds of the contract fit the type") };
        number
    }
}

/// Why a number was refused; reads after the field's name.
fn refused<const MIN: u64, const MAX: u64>() -> String {
    format!("expected a whole number from {MIN} to {MAX}")
}

impl<const MIN: u64, const MAX: u64> FromStr for Within<MIN, MAX> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().ok().and_then(Self::new).ok_or_else(refused::<MIN, MAX>)
    }
}

impl<const MIN: u64, const MAX: u64> fmt::Display for Within<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const MIN: u64, const MAX: u64> Serialize for Within<MIN, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Within<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).ok().and_then(Self::new).ok_or_else(|| de::Error::custom(refused::<MIN, MAX>()))
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Within<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Within{MIN}To{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_at_their_edges() {
        type Few = Within<1, 3>;
        for good in ["1", "3"] {
            assert_eq!(serde_json::from_str::<Few>(good).unwrap().to_string(), good);
            assert!(good.parse::<Few>().is_ok());
        }
        for bad in ["0", "4", "-1", "1.5", "\"1\"", "null", "18446744073709551616"] {
            assert!(serde_json::from_str::<Few>(bad).is_err(), "{bad}");
        }
        assert!("0".parse::<Few>().unwrap_err().contains("from 1 to 3"));
    }
}
