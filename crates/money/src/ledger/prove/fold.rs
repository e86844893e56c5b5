//! The fold itself, without a database: what an interval should have been
//! charged in each window, against what it was charged.

use kernel::money::{Currency, MoneyError, Rate};

/// A window of usage that was closed by a journal, in µs since 1970, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub number: i64,
    pub from_us: i64,
    pub to_us: i64,
}

/// A while in which an allocation ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    pub start_us: i64,
    /// None while it runs.
    pub end_us: Option<i64>,
    pub micros_per_hour: i64,
    pub currency: Currency,
}

/// A line that was posted for an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    pub number: i64,
    pub amount: i64,
}

/// A version of a SKU's price, in one unit, kind and currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    pub id: uuid::Uuid,
    pub version: i64,
    pub price_micros: i64,
    pub per_units: i64,
    pub effective_us: i64,
}

/// A quantity that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    pub at_us: i64,
    pub quantity: i64,
    /// Of its interval, with this.
    pub total: i64,
    /// What the mark says that it costs.
    pub amount: i64,
}

/// Compares what an interval was charged with what it came to. Both lists are
/// in the order of their numbers; `posted_to_us` is up to when all is posted,
/// or none when only some windows are looked at.
pub fn check_interval(
    interval: &Interval,
    windows: &[Window],
    charged: &[Charged],
    posted_to_us: Option<i64>,
) -> Result<(), (Option<i64>, String)> {
    let end_us = interval.end_us.unwrap_or(i64::MAX);
    let rate = Rate::from_micros_per_hour(interval.micros_per_hour, interval.currency);
    let first = windows.partition_point(|it| it.to_us <= interval.start_us);
    let windows = windows[first..].iter().take_while(|it| it.from_us < end_us);
    let expected = windows.map(|window| {
        let amount = within(rate, interval.start_us, window.from_us, window.to_us.min(end_us));
        amount.map(|it| (window.number, it)).map_err(|error| (Some(window.number), error.to_string()))
    });
    let sum = compare(expected, charged)?;
    // Windows without a journal were empty, so that the sum shows one that is missing.
    if let Some(posted_to_us) = posted_to_us {
        let until = end_us.min(posted_to_us).max(interval.start_us);
        let whole =
            within(rate, interval.start_us, interval.start_us, until).map_err(|error| (None, error.to_string()))?;
        if i128::from(whole) != sum {
            return Err((None, format!("it was charged {sum} in total; usage and price give {whole}")));
        }
    }
    Ok(())
}

/// The same for what was counted: `price` is that of all of them, as they say.
pub fn check_counts(
    counts: &[Count],
    (price_micros, per_units): (i64, i64),
    windows: &[Window],
    charged: &[Charged],
    posted_to_us: Option<i64>,
) -> Result<(), (Option<i64>, String)> {
    let cost = |total: i64| i128::from(price_micros) * i128::from(total) / i128::from(per_units.max(1));
    let mut total = 0;
    for count in counts {
        total += i128::from(count.quantity);
        if i128::from(count.total) != total {
            return Err((None, format!("a count has a total of {}; the counts add up to {total}", count.total)));
        }
        let amount = cost(count.total) - cost(count.total - count.quantity);
        if i128::from(count.amount) != amount {
            return Err((None, format!("a count has an amount of {}; quantity and price give {amount}", count.amount)));
        }
    }
    let within = |from_us: i64, to_us: i64| {
        let range = counts.partition_point(|it| it.at_us < from_us)..counts.partition_point(|it| it.at_us < to_us);
        counts.get(range).unwrap_or(&[]).iter().map(|it| it.amount).sum::<i64>()
    };
    let first = windows.partition_point(|it| counts.first().is_some_and(|count| it.to_us <= count.at_us));
    let expected = windows[first..].iter().map(|it| Ok((it.number, within(it.from_us, it.to_us))));
    let sum = compare(expected, charged)?;
    if let Some(posted_to_us) = posted_to_us {
        let whole = i128::from(within(i64::MIN, posted_to_us));
        if whole != sum {
            return Err((None, format!("it was charged {sum} in total; quantity and price give {whole}")));
        }
    }
    Ok(())
}

/// Compares lines with what they should be, window by window; their sum.
fn compare(
    expected: impl Iterator<Item = Result<(i64, i64), (Option<i64>, String)>>,
    charged: &[Charged],
) -> Result<i128, (Option<i64>, String)> {
    let mut lines = charged.iter();
    let mut sum: i128 = 0;
    for expected in expected {
        let (number, expected) = expected?;
        if expected == 0 {
            continue;
        }
        match lines.next() {
            Some(line) if line.number == number && line.amount == expected => sum += i128::from(expected),
            Some(line) if line.number == number => {
                let what = format!("a line has an amount of {}; usage and price give {expected}", line.amount);
                return Err((Some(line.number), what));
            }
            Some(line) if line.number < number => return Err(unfounded(*line)),
            Some(_) | None => return Err((Some(number), format!("a line with the amount {expected} is missing"))),
        }
    }
    match lines.next() {
        Some(line) => Err(unfounded(*line)),
        None => Ok(sum),
    }
}

/// Compares what was refunded because a host was last heard at a moment with
/// what the interval came to after it. An interval that runs cannot be refunded.
pub fn check_refund(interval: &Interval, last_heard_us: i64, refunded: i64) -> Result<(), String> {
    let Some(end_us) = interval.end_us else { return Err("a refund refers to an interval that has not ended".into()) };
    let rate = Rate::from_micros_per_hour(interval.micros_per_hour, interval.currency);
    let expected = within(rate, interval.start_us, last_heard_us, end_us).map_err(|error| error.to_string())?;
    if expected == refunded {
        return Ok(());
    }
    Err(format!("{refunded} was refunded; usage after the host was last seen comes to {expected}"))
}

fn unfounded(line: Charged) -> (Option<i64>, String) {
    (Some(line.number), format!("a line with the amount {} has no usage", line.amount))
}

/// What an interval adds between two moments.
fn within(rate: Rate, start_us: i64, from_us: i64, to_us: i64) -> Result<i64, MoneyError> {
    let since = |moment: i64| moment.saturating_sub(start_us).max(0);
    let (from, to) = (since(from_us), since(to_us));
    if to <= from {
        return Ok(0);
    }
    Ok(rate.between(from, to)?.micros())
}

/// What a mark says of its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frozen {
    pub price: Option<uuid::Uuid>,
    pub price_micros: i64,
    pub per_units: i64,
}

/// Whether the price that was frozen in a mark is the one that was in force.
/// `prices` are all versions for the SKU, unit, kind and currency.
pub fn check_price(prices: &[Price], frozen: Frozen, at_us: i64) -> Result<(), String> {
    let own = match frozen.price {
        None if frozen.price_micros == 0 => None,
        None => return Err(format!("it has a rate of {} without a price", frozen.price_micros)),
        Some(id) => {
            let own = prices.iter().find(|it| it.id == id);
            Some(*own.ok_or("its price does not belong to its SKU, unit, kind and currency")?)
        }
    };
    if let Some(own) = own {
        if (own.price_micros, own.per_units) != (frozen.price_micros, frozen.per_units) {
            let (says, is) = (frozen.price_micros, own.price_micros);
            return Err(format!(
                "it has a rate of {says} per {}; its price is {is} per {}",
                frozen.per_units, own.per_units
            ));
        }
        if own.effective_us > at_us {
            return Err(format!("version {} of the price was not in effect yet", own.version));
        }
    }
    let rank = |it: &Price| (it.effective_us, it.version);
    let later = prices.iter().find(|it| it.effective_us <= at_us && own.is_none_or(|own| rank(it) > rank(&own)));
    match later {
        Some(later) => Err(format!("version {} of the price was already in effect", later.version)),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
