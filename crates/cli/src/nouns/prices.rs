//! `gpuaas prices`: what a GPU of a SKU costs.

use clap::Subcommand;
use contract::{
    Timestamp,
    prices::{CurrencyCode, ListPrices, Price, PriceFilter, PriceSpec, SetPrice},
};

use crate::{
    arguments::{self, Once, Paging},
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas prices list h200-slice
  gpuaas prices list h200-slice --currency USD

For platform staff:
  gpuaas prices set h200-slice 2.50 --currency USD
  gpuaas prices set h200-slice 2.75 --currency USD --from 2027-01-01T00:00:00Z";

/// Prices: what a GPU of a SKU costs per hour
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Prices {
    /// Set what a GPU of a SKU costs from a time on (platform staff)
    Set {
        /// Id or name of the SKU
        sku: String,
        /// For one GPU and hour, with at most six decimals
        #[arg(value_name = "AMOUNT", value_parser = micros)]
        price: i64,
        /// Three capital letters, like USD
        #[arg(long, value_parser = arguments::text::<CurrencyCode>)]
        currency: CurrencyCode,
        /// From when on: a time, or a distance like 30d; now when absent
        #[arg(long = "from", value_name = "WHEN", value_parser = arguments::moment)]
        effective_at: Option<Timestamp>,
        #[command(flatten)]
        once: Once,
    },
    /// List every version of the prices of a SKU, newest first
    List {
        /// Id or name of the SKU
        sku: String,
        /// Only prices in this currency
        #[arg(long, value_parser = arguments::text::<CurrencyCode>)]
        currency: Option<CurrencyCode>,
        #[command(flatten)]
        paging: Paging,
    },
}

const COLUMNS: Columns = columns!(Price: id, version, currency, price_micros_per_gpu_hour, effective_at, created_at);

impl Prices {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Prices::Set { sku, price, currency, effective_at, once } => {
                let path = context.sku_named(&sku).await?;
                let spec = PriceSpec { currency, price_micros_per_gpu_hour: price, effective_at };
                context.output.item(&context.create::<SetPrice>(&once, path, spec).await?)
            }
            Prices::List { sku, currency, paging } => {
                let path = context.sku_named(&sku).await?;
                let query = PriceFilter { currency, limit: paging.page(), ..PriceFilter::default() };
                context.list::<ListPrices>(path, query, paging, COLUMNS).await
            }
        }
    }
}

/// An amount as people write it, in millionths. Whole numbers only: a binary
/// fraction would not be what was written.
fn micros(text: &str) -> Result<i64, String> {
    const DECIMALS: usize = 6;
    let otherwise = || "write an amount like 2.50, with at most six decimals".to_owned();
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > DECIMALS {
        return Err(otherwise());
    }
    format!("{whole}{decimals:0<DECIMALS$}").parse().map_err(|_| otherwise())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly() {
        for (text, expected) in [("2.5", 2_500_000), ("2.50", 2_500_000), ("0", 0), ("0.000001", 1), ("12", 12_000_000)]
        {
            assert_eq!(micros(text).unwrap(), expected, "{text}");
        }
        for bad in ["", ".5", "1.", "-1", "1e3", "1.0000001", "1,5", "99999999999999999999"] {
            assert!(micros(bad).is_err(), "{bad}");
        }
    }
}
