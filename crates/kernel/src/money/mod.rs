//! Exact amounts of money: integer micro-units of one currency, never floats.
//! Who owes what to whom is the ledger's business, not this module's.
//!
//! Micro-units are an `i64`, because that is a `bigint` column and 9.2 trillion
//! units of a currency are enough for one account; products are taken in
//! `i128`, and whatever does not fit back is an error, never a wrap.

mod currency;
mod rate;
mod text;

use std::cmp::Ordering;

pub use currency::Currency;
pub use rate::Rate;

/// Micro-units in one unit of any currency.
pub const MICROS_PER_UNIT: i64 = 1_000_000;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    #[error("{left} and {right} are different currencies: convert one of them first")]
    CurrencyMismatch { left: Currency, right: Currency },
    #[error("the amount is outside ±9.2 trillion units: split it into smaller amounts")]
    Overflow,
    #[error("the end is before the start: pass a later end")]
    NegativeTime,
    #[error("not a currency: use three capital letters such as `USD`")]
    BadCurrency,
    #[error("not an amount: use the form `12.50 USD`, with at most six decimals")]
    BadAmount,
}

/// An amount of one currency. It has no order of its own, since amounts of
/// different currencies have none: see [`Money::compare`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Money {
    micros: i64,
    currency: Currency,
}

/// An amount in whole minor units, and what rounding took away or added:
/// `amount + remainder` is the exact amount again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounded {
    pub amount: Money,
    pub remainder: Money,
}

impl Money {
    pub const fn from_micros(micros: i64, currency: Currency) -> Self {
        Self { micros, currency }
    }

    pub const fn zero(currency: Currency) -> Self {
        Self::from_micros(0, currency)
    }

    /// From cents, yen or whatever the currency's smallest coin is.
    pub fn from_minor_units(minor: i64, currency: Currency) -> Result<Self, MoneyError> {
        Self::fit(i128::from(minor) * i128::from(currency.micros_per_minor_unit()), currency)
    }

    pub const fn micros(self) -> i64 {
        self.micros
    }

    pub const fn currency(self) -> Currency {
        self.currency
    }

    pub const fn is_zero(self) -> bool {
        self.micros == 0
    }

    pub const fn is_negative(self) -> bool {
        self.micros < 0
    }

    pub fn checked_add(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        Self::fit(i128::from(self.micros) + i128::from(other.micros), self.currency)
    }

    pub fn checked_sub(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        Self::fit(i128::from(self.micros) - i128::from(other.micros), self.currency)
    }

    pub fn checked_neg(self) -> Result<Self, MoneyError> {
        Self::fit(-i128::from(self.micros), self.currency)
    }

    pub fn compare(self, other: Self) -> Result<Ordering, MoneyError> {
        self.same_currency(other)?;
        Ok(self.micros.cmp(&other.micros))
    }

    /// Rounds half to even, so that many roundings do not drift one way.
    pub fn round_to_minor_units(self) -> Result<Rounded, MoneyError> {
        let unit = self.currency.micros_per_minor_unit();
        let below = self.micros.div_euclid(unit);
        let rest = self.micros.rem_euclid(unit);
        let up = match (rest * 2).cmp(&unit) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => below % 2 != 0,
        };
        let amount = Self::from_minor_units(below + i64::from(up), self.currency)?;
        let remainder = self.checked_sub(amount)?;
        Ok(Rounded { amount, remainder })
    }

    /// The count of minor units, or nothing if there is a fraction of one.
    pub fn minor_units(self) -> Option<i64> {
        let unit = self.currency.micros_per_minor_unit();
        (self.micros % unit == 0).then_some(self.micros / unit)
    }

    fn same_currency(self, other: Self) -> Result<(), MoneyError> {
        if self.currency == other.currency {
            return Ok(());
        }
        Err(MoneyError::CurrencyMismatch { left: self.currency, right: other.currency })
    }

    fn fit(micros: i128, currency: Currency) -> Result<Self, MoneyError> {
        let micros = i64::try_from(micros).map_err(|_| MoneyError::Overflow)?;
        Ok(Self { micros, currency })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    fn usd(micros: i64) -> Money {
        Money::from_micros(micros, Currency::USD)
    }

    #[test]
    fn amounts_of_different_currencies_do_not_mix() {
        let euro = Money::from_micros(1, currency("EUR"));
        let mismatch = MoneyError::CurrencyMismatch { left: Currency::USD, right: currency("EUR") };
        assert_eq!(usd(1).checked_add(euro), Err(mismatch.clone()));
        assert_eq!(usd(1).checked_sub(euro), Err(mismatch.clone()));
        assert_eq!(usd(1).compare(euro), Err(mismatch));
    }

    #[test]
    fn halves_round_to_the_even_neighbor() {
        for (micros, cents) in [
            (5_000, 0),
            (15_000, 2),
            (25_000, 2),
            (25_001, 3),
            (24_999, 2),
            (-5_000, 0),
            (-15_000, -2),
            (-25_000, -2),
            (-25_001, -3),
        ] {
            let rounded = usd(micros).round_to_minor_units().unwrap();
            assert_eq!(rounded.amount.minor_units(), Some(cents), "{micros}");
        }
    }

    #[test]
    fn minor_units_follow_the_currency() {
        let yen = Money::from_minor_units(12, currency("JPY")).unwrap();
        assert_eq!(yen.micros(), 12_000_000);
        let dinar = Money::from_minor_units(12, currency("KWD")).unwrap();
        assert_eq!(dinar.micros(), 12_000);
        assert_eq!(usd(10_001).minor_units(), None);
    }

    proptest! {
        #[test]
        fn arithmetic_is_exact_or_an_overflow(a: i64, b: i64) {
            let sum = usd(a).checked_add(usd(b));
            prop_assert_eq!(sum, a.checked_add(b).map(usd).ok_or(MoneyError::Overflow));
            let difference = usd(a).checked_sub(usd(b));
            prop_assert_eq!(difference, a.checked_sub(b).map(usd).ok_or(MoneyError::Overflow));
            prop_assert_eq!(usd(a).checked_neg(), a.checked_neg().map(usd).ok_or(MoneyError::Overflow));
        }

        #[test]
        fn rounding_loses_nothing(micros: i64, code in "USD|JPY|KWD|CLF|XXX") {
            let exact = Money::from_micros(micros, currency(&code));
            let unit = exact.currency().micros_per_minor_unit();
            match exact.round_to_minor_units() {
                Ok(Rounded { amount, remainder }) => {
                    prop_assert_eq!(amount.checked_add(remainder), Ok(exact));
                    prop_assert!(amount.minor_units().is_some());
                    prop_assert!(remainder.micros().abs() * 2 <= unit);
                }
                Err(error) => {
                    prop_assert_eq!(error, MoneyError::Overflow);
                    prop_assert!(i64::MAX - micros.saturating_abs() < unit);
                }
            }
        }
    }
}
