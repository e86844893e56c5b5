//! Currency codes in the form of ISO 4217, and how many decimals their
//! smallest coin has.

use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::MoneyError;

/// Three capital letters. Any three: private codes (`XTS`, a site's own
/// credits) count like money with two decimals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Currency([u8; 3]);

impl Currency {
    pub const USD: Self = Self(*b"USD");
    pub const EUR: Self = Self(*b"EUR");

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("made of ASCII letters only")
    }

    /// Decimals of the smallest coin: 2 for dollars and cents, 0 for yen.
    pub const fn minor_digits(self) -> u32 {
        match &self.0 {
            b"BIF" | b"CLP" | b"DJF" | b"GNF" | b"ISK" | b"JPY" | b"KMF" | b"KRW" | b"PYG" | b"RWF" | b"UGX"
            | b"UYI" | b"VND" | b"VUV" | b"XAF" | b"XOF" | b"XPF" => 0,
            b"BHD" | b"IQD" | b"JOD" | b"KWD" | b"LYD" | b"OMR" | b"TND" => 3,
            b"CLF" | b"UYW" => 4,
            _ => 2,
        }
    }

    pub const fn micros_per_minor_unit(self) -> i64 {
        super::MICROS_PER_UNIT / 10_i64.pow(self.minor_digits())
    }
}

impl FromStr for Currency {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let code: [u8; 3] = text.as_bytes().try_into().map_err(|_| MoneyError::BadCurrency)?;
        if !code.iter().all(u8::is_ascii_uppercase) {
            return Err(MoneyError::BadCurrency);
        }
        Ok(Self(code))
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_three_capital_letters() {
        assert_eq!("USD".parse(), Ok(Currency::USD));
        for bad in ["", "US", "USDX", "usd", "U D", "US1", "ÄB", "\0\0\0"] {
            assert_eq!(bad.parse::<Currency>(), Err(MoneyError::BadCurrency), "{bad:?}");
        }
    }

    #[test]
    fn a_minor_unit_is_a_whole_number_of_micros() {
        for (code, micros) in [("USD", 10_000), ("JPY", 1_000_000), ("KWD", 1_000), ("CLF", 100), ("XTS", 10_000)] {
            let currency: Currency = code.parse().unwrap();
            assert_eq!(currency.micros_per_minor_unit(), micros, "{code}");
        }
    }
}
