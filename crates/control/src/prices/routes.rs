//! Setting and listing prices.

use contract::{
    Code, Page,
    prices::{ListPrices, Price, PriceSet, SetPrice},
};
use kernel::clock;

use super::store;
use crate::{
    app::App,
    events::emit,
    http::{Call, Failure, Handle, Request, Trouble},
    skus,
};

// bound: what the contract's schema says; a million of the currency per GPU and hour
const MOST_MICROS: i64 = 1_000_000_000_000;

impl Handle<SetPrice> for App {
    async fn handle(&self, call: &mut Call, request: Request<SetPrice>) -> Result<Price, Failure> {
        let (sku_id, spec) = (request.path.sku_id, request.body);
        if !(0..=MOST_MICROS).contains(&spec.price_micros_per_gpu_hour) {
            let detail = format!("a price lies between 0 and {MOST_MICROS} millionths of the currency");
            return Err(Trouble::new(Code::InvalidValue, detail).at("price_micros_per_gpu_hour").into());
        }
        if !skus::lock(&mut call.tx, sku_id).await? {
            return Err(Failure::not_found("SKU"));
        }
        let now = clock::now(&mut call.tx).await?;
        if spec.effective_at.is_some_and(|at| at < now) {
            let detail = format!("a price cannot take effect in the past; it is {now:.0}, leave it out to mean now");
            return Err(Trouble::new(Code::InvalidValue, detail).at("effective_at").into());
        }
        let price = store::insert(&mut call.tx, sku_id, &spec).await?;
        call.about(price.id);
        call.note("sku_id", sku_id.to_string());
        let event = PriceSet {
            id: price.id,
            sku_id,
            currency: price.currency.clone(),
            price_micros_per_gpu_hour: price.price_micros_per_gpu_hour,
            effective_at: price.effective_at,
        };
        emit(&mut call.tx, None, price.id, &event);
        Ok(price)
    }
}

impl Handle<ListPrices> for App {
    async fn handle(&self, call: &mut Call, request: Request<ListPrices>) -> Result<Page<Price>, Failure> {
        let sku = request.path.sku_id;
        let rows = store::list(&mut call.tx, sku, &request.query).await?;
        if rows.is_empty() && skus::get(&mut call.tx, sku).await?.is_none() {
            return Err(Failure::not_found("SKU"));
        }
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}
