//! A price per hour, and what it comes to over time. Amounts are taken from
//! the start of the charge, so that windows add up however time is cut.

use super::{Currency, Money, MoneyError};

const US_PER_HOUR: i128 = 3_600_000_000;

/// Micro-units of a currency per hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    micros_per_hour: i64,
    currency: Currency,
}

impl Rate {
    pub const fn from_micros_per_hour(micros_per_hour: i64, currency: Currency) -> Self {
        Self { micros_per_hour, currency }
    }

    pub const fn micros_per_hour(self) -> i64 {
        self.micros_per_hour
    }

    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// The rate of several things that cost this much each.
    pub fn times(self, count: u32) -> Result<Self, MoneyError> {
        let micros_per_hour = self.micros_per_hour.checked_mul(i64::from(count)).ok_or(MoneyError::Overflow)?;
        Ok(Self { micros_per_hour, ..self })
    }

    /// What has come together `elapsed_us` after the start: `floor(rate × time)`.
    pub fn amount(self, elapsed_us: i64) -> Result<Money, MoneyError> {
        if elapsed_us < 0 {
            return Err(MoneyError::NegativeTime);
        }
        let product = i128::from(self.micros_per_hour) * i128::from(elapsed_us);
        Money::fit(product.div_euclid(US_PER_HOUR), self.currency)
    }

    /// What one window adds. Both ends count from the start of the charge, so
    /// the fraction that one window leaves out is in the next one.
    pub fn between(self, from_us: i64, to_us: i64) -> Result<Money, MoneyError> {
        if to_us < from_us {
            return Err(MoneyError::NegativeTime);
        }
        self.amount(to_us)?.checked_sub(self.amount(from_us)?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn usd_per_hour(micros: i64) -> Rate {
        Rate::from_micros_per_hour(micros, Currency::USD)
    }

    #[test]
    fn an_hour_costs_the_rate_and_a_part_is_rounded_down() {
        let rate = usd_per_hour(2_500_000);
        assert_eq!(rate.amount(3_600_000_000).unwrap().micros(), 2_500_000);
        assert_eq!(rate.amount(1_439).unwrap().micros(), 0);
        assert_eq!(rate.amount(1_440).unwrap().micros(), 1);
        assert_eq!(usd_per_hour(-1).amount(1).unwrap().micros(), -1, "floor, also below zero");
    }

    #[test]
    fn time_does_not_run_backwards() {
        assert_eq!(usd_per_hour(1).amount(-1), Err(MoneyError::NegativeTime));
        assert_eq!(usd_per_hour(1).between(2, 1), Err(MoneyError::NegativeTime));
    }

    proptest! {
        #[test]
        fn any_split_of_time_sums_to_the_same_amount(
            micros in -1_000_000_000_000_i64..1_000_000_000_000,
            cuts in prop::collection::vec(0_i64..10_000_000_000_000, 1..20),
        ) {
            let rate = usd_per_hour(micros);
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut sum = Money::zero(Currency::USD);
            let mut from = 0;
            for to in &cuts {
                sum = sum.checked_add(rate.between(from, *to).unwrap()).unwrap();
                from = *to;
            }
            prop_assert_eq!(sum, rate.amount(from).unwrap());
        }

        #[test]
        fn no_input_panics(micros: i64, from: i64, to: i64, count: u32) {
            let rate = usd_per_hour(micros);
            let _ = rate.amount(to);
            let _ = rate.between(from, to);
            let _ = rate.times(count).map(|it| it.amount(to));
        }

        #[test]
        fn the_amount_is_the_exact_floor(micros: i64, elapsed in 0..i64::MAX) {
            let product = i128::from(micros) * i128::from(elapsed);
            if let Ok(amount) = usd_per_hour(micros).amount(elapsed) {
                let rest = product - i128::from(amount.micros()) * US_PER_HOUR;
                prop_assert!((0..US_PER_HOUR).contains(&rest));
            } else {
                prop_assert!(product.abs() / US_PER_HOUR >= i128::from(i64::MAX));
            }
        }
    }
}
