//! Random histories: what an in-memory poster charges passes, and whatever is
//! done to it afterwards does not.

use proptest::prelude::*;

use super::*;

const HOUR: i64 = 3_600_000_000;

/// Windows over the cuts, some of which were empty and left no journal.
fn windows(cuts: &[i64]) -> Vec<Window> {
    let mut from_us = 0;
    let mut windows = Vec::new();
    for (number, to_us) in (1..).zip(cuts) {
        windows.push(Window { number, from_us, to_us: *to_us });
        from_us = *to_us;
    }
    windows
}

/// Charges by running totals, as a meter would: not the way the fold does it.
fn meter(interval: &Interval, windows: &[Window]) -> Vec<Charged> {
    let total = |moment: i64| -> i64 {
        let until = moment.min(interval.end_us.unwrap_or(i64::MAX)).max(interval.start_us);
        let product = i128::from(interval.micros_per_hour) * i128::from(until - interval.start_us);
        i64::try_from(product / i128::from(HOUR)).unwrap()
    };
    let mut before = 0;
    let mut lines = Vec::new();
    for window in windows {
        let now = total(window.to_us);
        if now > before {
            lines.push(Charged { number: window.number, amount: now - before });
            before = now;
        }
    }
    lines
}

fn history() -> impl Strategy<Value = (Interval, Vec<Window>)> {
    let cuts = prop::collection::btree_set(1..200 * HOUR, 1..30);
    (0..100 * HOUR, prop::option::of(0..100 * HOUR), 0..50_000_000_000_i64, cuts).prop_map(
        |(start_us, length, micros_per_hour, cuts)| {
            let end_us = length.map(|it| start_us + it);
            let cuts: Vec<i64> = cuts.into_iter().collect();
            (Interval { start_us, end_us, micros_per_hour, currency: Currency::USD }, windows(&cuts))
        },
    )
}

/// Counts at one price, which costs something in all.
fn counted() -> impl Strategy<Value = (Vec<Count>, Vec<Window>, i64, i64)> {
    let quantities = prop::collection::vec((0..100 * HOUR, 0..5_000_000_i64), 1..40);
    let cuts = prop::collection::btree_set(1..200 * HOUR, 1..30);
    (quantities, cuts, 1..1_000_000_i64, prop::sample::select(vec![1_i64, 1_000, 1_000_000])).prop_map(
        |(mut quantities, cuts, price, per)| {
            quantities.sort_unstable();
            let cost = |total: i64| i64::try_from(i128::from(price) * i128::from(total) / i128::from(per)).unwrap();
            let mut total = 0;
            let counts = quantities.into_iter().map(|(at_us, quantity)| {
                let before = cost(total);
                total += quantity;
                Count { at_us, quantity, total, amount: cost(total) - before }
            });
            (counts.collect(), windows(&cuts.into_iter().collect::<Vec<_>>()), price, per)
        },
    )
}

/// What is charged for counts, by totals at the ends of windows: not the way the check does it.
fn charges(counts: &[Count], windows: &[Window], price: i64, per: i64) -> Vec<Charged> {
    let mut before = 0;
    let mut lines = Vec::new();
    for window in windows {
        let total: i64 = counts.iter().filter(|it| it.at_us < window.to_us).map(|it| it.quantity).sum();
        let now = i64::try_from(i128::from(price) * i128::from(total) / i128::from(per)).unwrap();
        if now > before {
            lines.push(Charged { number: window.number, amount: now - before });
            before = now;
        }
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn metered_usage_is_proven_and_changed_usage_is_not(
        (interval, windows) in history(),
        at in any::<prop::sample::Index>(),
        fault in 0..6,
        by in 1_i64..1_000_000,
    ) {
        let posted_to = windows.last().map(|it| it.to_us);
        let lines = meter(&interval, &windows);
        prop_assert_eq!(check_interval(&interval, &windows, &lines, posted_to), Ok(()));
        if lines.is_empty() {
            return Ok(());
        }
        let at = at.index(lines.len());
        let mut changed = lines.clone();
        let mut edited = interval;
        match fault {
            0 => { changed.remove(at); }
            1 => changed.insert(at, lines[at]),
            2 => changed[at].amount += by,
            3 => changed[at].amount -= by,
            4 => changed[at].number += i64::try_from(windows.len()).unwrap(),
            // The rate of a stored interval: twice as much cannot come to the same.
            _ => edited.micros_per_hour *= 2,
        }
        prop_assert!(check_interval(&edited, &windows, &changed, posted_to).is_err());
    }

    #[test]
    fn a_window_that_lost_its_journal_shows_in_the_sum((interval, windows) in history(), at in any::<prop::sample::Index>()) {
        let posted_to = windows.last().map(|it| it.to_us);
        let lines = meter(&interval, &windows);
        if lines.is_empty() {
            return Ok(());
        }
        let gone = lines[at.index(lines.len())].number;
        let left: Vec<Window> = windows.iter().copied().filter(|it| it.number != gone).collect();
        let kept: Vec<Charged> = lines.iter().copied().filter(|it| it.number != gone).collect();
        prop_assert!(check_interval(&interval, &left, &kept, posted_to).is_err());
        prop_assert_eq!(check_interval(&interval, &left, &kept, None), Ok(()), "a month alone does not know the rest");
    }

    #[test]
    fn counts_are_proven_and_what_was_changed_is_not(
        (counts, windows, price, per) in counted(),
        at in any::<prop::sample::Index>(),
        fault in 0..7,
        by in 1_i64..1_000_000,
    ) {
        let posted_to = windows.last().map(|it| it.to_us);
        let lines = charges(&counts, &windows, price, per);
        prop_assert_eq!(check_counts(&counts, (price, per), &windows, &lines, posted_to), Ok(()));
        if lines.is_empty() {
            return Ok(());
        }
        let (line, count) = (at.index(lines.len()), at.index(counts.len()));
        let (mut changed, mut edited, mut price) = (lines.clone(), counts.clone(), price);
        match fault {
            0 => { changed.remove(line); }
            1 => changed.insert(line, lines[line]),
            2 => changed[line].amount += by,
            3 => changed[line].number += i64::try_from(windows.len()).unwrap(),
            4 => edited[count].quantity += by,
            5 => edited[count].amount += by,
            // A stored price that is more: some total must cost more, as all of them cost something.
            _ => price *= 2,
        }
        prop_assert!(check_counts(&edited, (price, per), &windows, &changed, posted_to).is_err());
    }

    #[test]
    fn check_of_any_interval_never_panics(start_us: i64, end_us: Option<i64>, micros_per_hour: i64, from_us: i64, to_us: i64, amount: i64) {
        let interval = Interval { start_us, end_us, micros_per_hour, currency: Currency::USD };
        let _ = check_interval(&interval, &[Window { number: 1, from_us, to_us }], &[Charged { number: 1, amount }], Some(to_us));
    }
}

#[test]
fn a_price_is_the_one_that_was_in_force() {
    let price = |version, micros, effective_us| Price {
        id: uuid::Uuid::from_u128(u128::try_from(version).unwrap()),
        version,
        price_micros: micros,
        per_units: 1,
        effective_us,
    };
    let all = [price(1, 100, 0), price(2, 200, 10 * HOUR)];
    let frozen = |price: Option<u128>, price_micros| Frozen {
        price: price.map(uuid::Uuid::from_u128),
        price_micros,
        per_units: 1,
    };
    let check = |version: u128, at, micros| check_price(&all, frozen(Some(version), micros), at);
    assert_eq!(check(1, 5 * HOUR, 100), Ok(()));
    assert_eq!(check(2, 10 * HOUR, 200), Ok(()));
    assert!(check(1, 5 * HOUR, 101).unwrap_err().contains("its price is 100 per 1"));
    assert!(check_price(&all, Frozen { per_units: 2, ..frozen(Some(1), 100) }, 0).is_err());
    assert!(check(2, 5 * HOUR, 200).unwrap_err().contains("not in effect yet"));
    assert!(check(1, 11 * HOUR, 100).unwrap_err().contains("already in effect"));
    assert!(check(3, 11 * HOUR, 100).unwrap_err().contains("not belong to its SKU"));
    assert!(check_price(&all, frozen(None, 0), 5 * HOUR).unwrap_err().contains("already in effect"));
    assert!(check_price(&[], frozen(None, 7), 5 * HOUR).unwrap_err().contains("without a price"));
    // To the microsecond: nothing that starts with a change has a choice of prices.
    assert!(check(1, 10 * HOUR, 100).unwrap_err().contains("already in effect"));
    assert_eq!(check(1, 10 * HOUR - 1, 100), Ok(()));
}

#[test]
fn refund_is_what_an_interval_came_to_after_its_host_was_last_seen() {
    let run = Interval { start_us: HOUR, end_us: Some(3 * HOUR), micros_per_hour: 1_000_001, currency: Currency::USD };
    assert_eq!(check_refund(&run, 2 * HOUR, 1_000_001), Ok(()));
    assert_eq!(check_refund(&run, 0, 2_000_002), Ok(()), "all of one whose host was silent when it began");
    assert!(check_refund(&run, 2 * HOUR, 1_000_000).unwrap_err().contains("comes to 1000001"));
    assert!(check_refund(&run, 4 * HOUR, 1).unwrap_err().contains("comes to 0"));
    assert!(check_refund(&Interval { end_us: None, ..run }, HOUR, 1).is_err());
}
