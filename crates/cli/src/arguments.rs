//! Arguments that several commands share, and how their values are read.

use std::{fmt::Display, str::FromStr};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use contract::{Limit, Timestamp, Word};
use jiff::{SignedDuration, SpanRelativeTo, ToSpan};

use crate::output::Format;

/// Flags of every command. They win over the environment, which wins over the context.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Flags {
    /// Server URL, such as https://gpu.example.com [env: GPUAAS_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// Organization to use, by ID or name [env: GPUAAS_ORGANIZATION]
    #[arg(long, global = true, value_name = "ID|NAME")]
    pub organization: Option<String>,
    /// Project to use, by ID or name [env: GPUAAS_PROJECT]
    #[arg(long, global = true, value_name = "ID|NAME")]
    pub project: Option<String>,
    /// Context to use instead of the current one
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Output format [default: table]
    #[arg(short, long, global = true, value_enum, hide_possible_values = true, value_name = "table|json|yaml")]
    pub output: Option<Format>,
    /// Print only IDs or the main value, without hints
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, Args)]
pub struct Paging {
    /// Maximum number of results; prints a warning if there are more
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

impl Paging {
    pub fn rows(self) -> usize {
        self.limit as usize
    }

    /// The size of one page: one more than is shown tells whether there is more.
    pub fn page(self) -> Limit {
        let rows = self.limit.saturating_add(1).min(u32::from(Limit::MAX));
        u16::try_from(rows).ok().and_then(Limit::new).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Default, Args)]
pub struct Once {
    /// Idempotency key: retries with the same key take effect once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Clone, Copy, Args)]
pub struct Consent {
    /// Skip the confirmation prompt
    #[arg(short, long)]
    pub yes: bool,
}

/// Reads a text of the contract, whose own words say what is wrong with it.
pub fn text<T>(text: &str) -> Result<T, String>
where
    T: FromStr<Err: Display>,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// Reads one word of a closed set, which help and completion list.
pub fn word<W: Word>() -> impl TypedValueParser<Value = W> {
    PossibleValuesParser::new(W::ALL.iter().map(|it| it.as_str()))
        .map(|text| W::parse(&text).expect("only listed words pass"))
}

/// Reads a time, or a distance from now like `30d` or `12h`.
pub fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    distance(text).and_then(|it| Timestamp::now().checked_add(it).map_err(|error| error.to_string()))
}

/// Reads a time, or how long ago it was.
pub fn past(text: &str) -> Result<Timestamp, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    distance(text).and_then(|it| Timestamp::now().checked_sub(it).map_err(|error| error.to_string()))
}

fn distance(text: &str) -> Result<SignedDuration, String> {
    let otherwise =
        || "expected a timestamp such as 2026-12-31T00:00:00Z, or a duration such as 30d, 12h or 15m".to_owned();
    let span: jiff::Span = text.parse().map_err(|_| otherwise())?;
    let days = SpanRelativeTo::days_are_24_hours();
    if span.compare((0.seconds(), days)).is_ok_and(|it| it.is_lt()) {
        return Err(otherwise());
    }
    span.to_duration(days).map_err(|_| otherwise())
}

/// An amount as people write it, in millionths. Whole numbers only: a binary
/// fraction would not be what was written.
pub fn micros(text: &str) -> Result<i64, String> {
    const DECIMALS: usize = 6;
    let otherwise = || "expected an amount such as 2.50, with at most six decimals".to_owned();
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > DECIMALS {
        return Err(otherwise());
    }
    format!("{whole}{decimals:0<DECIMALS$}").parse().map_err(|_| otherwise())
}

/// The same, below zero too.
pub fn signed_micros(text: &str) -> Result<i64, String> {
    match text.strip_prefix('-') {
        Some(size) => micros(size).map(|it| -it),
        None => micros(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly() {
        for (text, expected) in [("2.5", 2_500_000), ("2.50", 2_500_000), ("0", 0), ("0.000001", 1), ("12", 12_000_000)]
        {
            assert_eq!(micros(text).unwrap(), expected, "{text}");
            assert_eq!(signed_micros(&format!("-{text}")).unwrap(), -expected, "{text}");
        }
        for bad in ["", ".5", "1.", "-1", "1e3", "1.0000001", "1,5", "99999999999999999999"] {
            assert!(micros(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn page_size_is_one_more_than_the_limit_up_to_the_servers_maximum() {
        let page = |limit| Paging { limit }.page().rows();
        assert_eq!((page(1), page(199), page(200), page(u32::MAX)), (2, 200, 200, 200));
    }

    #[test]
    fn times_are_absolute_or_from_now() {
        assert_eq!(moment("2026-12-31T00:00:00Z").unwrap().to_string(), "2026-12-31T00:00:00Z");
        let distance = moment("30d").unwrap().as_second() - Timestamp::now().as_second();
        assert!((30 * 86_400 - 5..=30 * 86_400).contains(&distance), "{distance}");
        let distance = Timestamp::now().as_second() - past("12h").unwrap().as_second();
        assert!((12 * 3_600..=12 * 3_600 + 5).contains(&distance), "{distance}");
        for bad in ["", "tomorrow", "1mo", "1y", "-3d", "3 days ago"] {
            assert!(moment(bad).unwrap_err().contains("30d"), "{bad}");
        }
    }
}
