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
  gpuaas prices set h200-slice 2.75 --currency USD --effective-at 2027-01-01T00:00:00Z";

/// Manage the hourly GPU prices of SKUs
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Prices {
    /// Set the price of a SKU (platform staff)
    Set {
        /// ID or name of the SKU
        sku: String,
        /// Price per GPU-hour, with at most six decimals
        #[arg(value_name = "AMOUNT", value_parser = arguments::micros)]
        price: i64,
        /// ISO 4217 currency code, such as USD
        #[arg(long, value_parser = arguments::text::<CurrencyCode>)]
        currency: CurrencyCode,
        /// Effective date: a timestamp, or a duration from now such as 30d [default: now]
        #[arg(long, value_name = "WHEN", value_parser = arguments::moment)]
        effective_at: Option<Timestamp>,
        #[command(flatten)]
        once: Once,
    },
    /// List all price versions of a SKU, newest first
    List {
        /// ID or name of the SKU
        sku: String,
        /// Filter by currency
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
