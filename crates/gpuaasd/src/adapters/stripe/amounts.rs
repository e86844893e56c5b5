//! Money as Stripe writes it: whole numbers of a currency's smallest unit,
//! which for some currencies is another than ISO 4217's.

use kernel::money::{Currency, MICROS_PER_UNIT, Money};

use platform::ports::payments::AmountError;

/// Charged in whole units.
const WHOLE: &[&str] =
    &["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"];
/// Written with two decimals that must be zero.
const WHOLE_WITH_CENTS: &[&str] = &["ISK", "UGX"];
/// Written with three decimals, of which the last must be zero.
const THOUSANDTHS: &[&str] = &["BHD", "JOD", "KWD", "OMR", "TND"];
const HUNDREDTHS: &[&str] = &[
    "AED", "AFN", "ALL", "AMD", "ANG", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BMD", "BND", "BOB",
    "BRL", "BSD", "BWP", "BYN", "BZD", "CAD", "CDF", "CHF", "CNY", "COP", "CRC", "CVE", "CZK", "DKK", "DOP", "DZD",
    "EGP", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL", "GIP", "GMD", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF", "IDR",
    "ILS", "INR", "JMD", "KES", "KGS", "KHR", "KYD", "KZT", "LAK", "LBP", "LKR", "LRD", "LSL", "MAD", "MDL", "MKD",
    "MMK", "MNT", "MOP", "MUR", "MVR", "MWK", "MXN", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "PAB",
    "PEN", "PGK", "PHP", "PKR", "PLN", "QAR", "RON", "RSD", "RUB", "SAR", "SBD", "SCR", "SEK", "SGD", "SHP", "SLE",
    "SOS", "SRD", "STD", "SZL", "THB", "TJS", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "USD", "UYU", "UZS", "WST",
    "XCD", "YER", "ZAR", "ZMW",
];
/// Stripe's own bound: eight digits.
const MOST_UNITS: i64 = 99_999_999;

/// How many micros one of Stripe's units is, and of how many of them an amount
/// must be a multiple.
fn unit(currency: Currency) -> Option<(i64, i64)> {
    let code = currency.as_str();
    if HUNDREDTHS.contains(&code) {
        Some((MICROS_PER_UNIT / 100, 1))
    } else if WHOLE.contains(&code) {
        Some((MICROS_PER_UNIT, 1))
    } else if WHOLE_WITH_CENTS.contains(&code) {
        Some((MICROS_PER_UNIT / 100, 100))
    } else if THOUSANDTHS.contains(&code) {
        Some((MICROS_PER_UNIT / 1000, 10))
    } else {
        None
    }
}

pub fn to_units(amount: Money) -> Result<i64, AmountError> {
    let (micros, step) = unit(amount.currency()).ok_or(AmountError::Currency)?;
    if amount.micros() <= 0 || amount.micros() % (micros * step) != 0 {
        return Err(AmountError::Fraction);
    }
    match amount.micros() / micros {
        units if units <= MOST_UNITS => Ok(units),
        _ => Err(AmountError::TooLarge),
    }
}

/// What Stripe says, in small letters and its own units.
pub fn from_units(units: i64, currency: &str) -> Result<Money, AmountError> {
    let currency: Currency = currency.to_ascii_uppercase().parse().map_err(|_| AmountError::Currency)?;
    let (micros, _) = unit(currency).ok_or(AmountError::Currency)?;
    let micros = units.checked_mul(micros).filter(|it| *it >= 0).ok_or(AmountError::TooLarge)?;
    Ok(Money::from_micros(micros, currency))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(micros: i64, code: &str) -> Money {
        Money::from_micros(micros, code.parse().unwrap())
    }

    #[test]
    fn units_are_those_of_the_currency() {
        for (code, micros, units) in [
            ("USD", 50_000_000, 5_000),
            ("EUR", 10_000, 1),
            ("JPY", 500_000_000, 500),
            ("MGA", 3_000_000, 3),
            ("UGX", 5_000_000, 500),
            ("ISK", 100_000_000, 10_000),
            ("KWD", 1_230_000, 1_230),
        ] {
            assert_eq!(to_units(money(micros, code)), Ok(units), "{code}");
            assert_eq!(from_units(units, &code.to_lowercase()), Ok(money(micros, code)), "{code}");
        }
    }

    #[test]
    fn amount_that_cannot_be_expressed_exactly_is_refused() {
        for (code, micros, error) in [
            ("USD", 10_001, AmountError::Fraction),
            ("USD", 0, AmountError::Fraction),
            ("USD", -10_000, AmountError::Fraction),
            ("JPY", 1_500_000, AmountError::Fraction),
            ("UGX", 5_500_000, AmountError::Fraction),
            ("KWD", 1_234_000, AmountError::Fraction),
            ("XTS", 10_000, AmountError::Currency),
            ("USD", 1_000_000_000_000, AmountError::TooLarge),
            ("JPY", i64::MAX / MICROS_PER_UNIT * MICROS_PER_UNIT, AmountError::TooLarge),
        ] {
            assert_eq!(to_units(money(micros, code)), Err(error), "{code} {micros}");
        }
        assert_eq!(from_units(i64::MAX, "usd"), Err(AmountError::TooLarge));
        assert_eq!(from_units(-1, "usd"), Err(AmountError::TooLarge));
        assert_eq!(from_units(1, "xts"), Err(AmountError::Currency));
        assert_eq!(from_units(1, "$"), Err(AmountError::Currency));
    }

    #[test]
    fn a_currency_is_listed_once() {
        let all: Vec<_> = [WHOLE, WHOLE_WITH_CENTS, THOUSANDTHS, HUNDREDTHS].concat();
        let known: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(known.len(), all.len());
    }
}
