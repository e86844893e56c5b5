//! The written forms of money: `12.345678 USD` for people, and for programs an
//! object whose micro-units are a string, because JSON numbers lose digits
//! beyond 2^53 in many readers.

use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeStruct};

use super::{Currency, MICROS_PER_UNIT, Money, MoneyError};

const DECIMALS: usize = 6;

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.micros.unsigned_abs();
        let unit = MICROS_PER_UNIT.unsigned_abs();
        let fraction = format!("{:0DECIMALS$}", size % unit);
        let shown = fraction.trim_end_matches('0').len().max(self.currency.minor_digits() as usize);
        let sign = if self.micros < 0 { "-" } else { "" };
        let point = if shown > 0 { "." } else { "" };
        f.pad(&format!("{sign}{}{point}{} {}", size / unit, &fraction[..shown], self.currency))
    }
}

impl FromStr for Money {
    type Err = MoneyError;

    /// Reads what `Display` writes, and shorter forms such as `12 USD`.
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let (number, code) = text.split_once(' ').ok_or(MoneyError::BadAmount)?;
        let currency = code.parse()?;
        let (sign, digits) = match number.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, number),
        };
        let (whole, fraction) = match digits.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(MoneyError::BadAmount),
            None => (digits, ""),
        };
        let only_digits = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
        if whole.is_empty() || fraction.len() > DECIMALS || !only_digits(whole) || !only_digits(fraction) {
            return Err(MoneyError::BadAmount);
        }
        let micros: i128 = format!("{whole}{fraction:0<DECIMALS$}").parse().map_err(|_| MoneyError::Overflow)?;
        Self::fit(sign * micros, currency)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Money", 2)?;
        object.serialize_field("micros", &self.micros.to_string())?;
        object.serialize_field("currency", &self.currency)?;
        object.end()
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, rename = "Money")]
        struct Wire<'a> {
            #[serde(borrow)]
            micros: Cow<'a, str>,
            currency: Currency,
        }
        let wire = Wire::deserialize(deserializer)?;
        let micros: i64 = wire
            .micros
            .parse()
            .map_err(|_| de::Error::custom("micros is a whole number in a string, like \"12500000\""))?;
        Ok(Self::from_micros(micros, wire.currency))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn show(micros: i64, code: &str) -> String {
        Money::from_micros(micros, code.parse().unwrap()).to_string()
    }

    #[test]
    fn an_amount_shows_its_minor_units_and_no_idle_zeros() {
        assert_eq!(show(12_345_678, "USD"), "12.345678 USD");
        assert_eq!(show(12_500_000, "USD"), "12.50 USD");
        assert_eq!(show(-1, "USD"), "-0.000001 USD");
        assert_eq!(show(12_000_000, "JPY"), "12 JPY");
        assert_eq!(show(12_100_000, "JPY"), "12.1 JPY");
        assert_eq!(show(12_100_000, "KWD"), "12.100 KWD");
        assert_eq!(show(i64::MIN, "USD"), "-9223372036854.775808 USD");
    }

    #[test]
    fn malformed_amounts_are_refused() {
        for bad in [
            "",
            "USD",
            "12",
            "12USD",
            " 12 USD",
            "12  USD",
            "12 USD ",
            "+1 USD",
            "1. USD",
            ".5 USD",
            "- USD",
            "--1 USD",
            "1e3 USD",
            "1,000 USD",
            "0.0000001 USD",
            "١ USD",
        ] {
            assert!(bad.parse::<Money>().is_err(), "{bad:?}");
        }
        for big in ["9223372036854.775808 USD".to_owned(), format!("{} USD", "9".repeat(99))] {
            assert_eq!(big.parse::<Money>(), Err(MoneyError::Overflow), "{big}");
        }
    }

    #[test]
    fn json_keeps_every_digit() {
        let most = Money::from_micros(i64::MAX, Currency::USD);
        let json = serde_json::to_string(&most).unwrap();
        assert_eq!(json, r#"{"micros":"9223372036854775807","currency":"USD"}"#);
        assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), most);
        for bad in [
            r#"{"micros":1,"currency":"USD"}"#,
            r#"{"micros":"1.5","currency":"USD"}"#,
            r#"{"micros":"1","currency":"usd"}"#,
            r#"{"micros":"1"}"#,
            r#"{"micros":"1","currency":"USD","more":1}"#,
        ] {
            assert!(serde_json::from_str::<Money>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn the_written_form_round_trips(micros: i64, code in "[A-Z]{3}") {
            let money = Money::from_micros(micros, code.parse().unwrap());
            prop_assert_eq!(money.to_string().parse::<Money>(), Ok(money));
            let json = serde_json::to_value(money).unwrap();
            prop_assert_eq!(serde_json::from_value::<Money>(json).unwrap(), money);
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = text.parse::<Money>();
        }
    }
}
