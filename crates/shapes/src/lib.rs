//! The shapes of capacity: one list for the contract, the planner and the protocol
//! with hosts. Nothing else belongs here.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

macro_rules! shapes {
    ($( $(#[doc = $doc:literal])* $variant:ident = $word:literal ),+ $(,)?) => {
        /// What an allocation gets of a host.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Shape { $( $(#[doc = $doc])* $variant ),+ }

        impl Shape {
            pub const ALL: &'static [Self] = &[ $( Self::$variant ),+ ];

            /// The word in the API, the database and tasks.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word ),+ }
            }
        }
    };
}

shapes! {
    /// The whole host.
    Baremetal = "baremetal",
    /// Whole GPUs of a host.
    GpuSlice = "gpu_slice",
    /// A part of a GPU that the hardware isolates.
    MigSlice = "mig_slice",
    /// A container with GPUs.
    Container = "container",
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|it| it.as_str() == text).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|it| it.as_str()).collect();
            let shown: String = text.chars().take(40).collect();
            format!("unknown word `{shown}`, expected one of {}", known.join(", "))
        })
    }
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Shape {
    fn schema_name() -> Cow<'static, str> {
        "ShapeChoice".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let words: Vec<&str> = Self::ALL.iter().map(|it| it.as_str()).collect();
        schemars::json_schema!({ "type": "string", "enum": words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_read_back_from_its_word_and_no_other_word_is() {
        for shape in Shape::ALL {
            let text = serde_json::to_string(shape).unwrap();
            assert_eq!(text, format!("\"{shape}\""));
            assert_eq!(serde_json::from_str::<Shape>(&text).unwrap(), *shape);
        }
        let error = serde_json::from_str::<Shape>("\"GpuSlice\"").unwrap_err().to_string();
        assert!(error.contains("expected one of baremetal, gpu_slice, mig_slice, container"), "{error}");
    }
}
