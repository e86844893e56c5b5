//! `gpuaas prices`: what a unit of a SKU costs.

use clap::Subcommand;
use contract::{
    Timestamp,
    prices::{CurrencyCode, ListPrices, Price, PriceFilter, PriceKind, PriceSpec, PriceUnit, SetPrice},
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

/// Manage the prices of SKUs
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Prices {
    /// Set the price of a SKU (platform staff)
    Set {
        /// ID or name of the SKU
        sku: String,
        /// Price per unit, with at most six decimals
        #[arg(value_name = "AMOUNT", value_parser = arguments::micros)]
        price: i64,
        /// ISO 4217 currency code, such as USD
        #[arg(long, value_parser = arguments::text::<CurrencyCode>)]
        currency: CurrencyCode,
        /// Unit that the price is for [default: gpu_hour]
        #[arg(long, value_parser = arguments::word::<PriceUnit>())]
        unit: Option<PriceUnit>,
        /// Usage that the price is for [default: on_demand]
        #[arg(long, value_parser = arguments::word::<PriceKind>())]
        kind: Option<PriceKind>,
        /// Number of units that the price is for, such as 1000000 tokens [default: 1]
        #[arg(long, value_name = "UNITS")]
        per: Option<i64>,
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
        /// Filter by unit
        #[arg(long, value_parser = arguments::word::<PriceUnit>())]
        unit: Option<PriceUnit>,
        /// Filter by kind
        #[arg(long, value_parser = arguments::word::<PriceKind>())]
        kind: Option<PriceKind>,
        #[command(flatten)]
        paging: Paging,
    },
}

const COLUMNS: Columns =
    columns!(Price: id, version, unit, kind, currency, price_micros, per_units, effective_at, created_at);

impl Prices {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Prices::Set { sku, price, currency, unit, kind, per, effective_at, once } => {
                let path = context.sku_named(&sku).await?;
                let spec = PriceSpec { unit, kind, currency, price_micros: price, per_units: per, effective_at };
                context.output.item(&context.create::<SetPrice>(&once, path, spec).await?)
            }
            Prices::List { sku, currency, unit, kind, paging } => {
                let path = context.sku_named(&sku).await?;
                let query = PriceFilter { currency, unit, kind, limit: paging.page(), ..PriceFilter::default() };
                context.list::<ListPrices>(path, query, paging, COLUMNS).await
            }
        }
    }
}
