//! Setting and listing prices.

use contract::{
    Code, Page, Timestamp,
    id::SkuId,
    prices::{ListPrices, Price, PriceSet, PriceSpec, SetPrice},
    skus::Sku,
};
use kernel::money::{Currency, Money};

use super::store;
use crate::{FleetArea, skus};
use platform::{
    events::emit,
    four_eyes::{Asked, Proposal, second_person},
    http::{Call, Failure, Handle, Request, Trouble},
};

// bound: what the contract's schema says; a million of the currency per GPU and hour
const MOST_MICROS: i64 = 1_000_000_000_000;

impl Handle<SetPrice> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<SetPrice>) -> Result<Price, Failure> {
        let (sku_id, spec) = (request.path.sku_id, request.body);
        let (sku, now) = locked(call, sku_id, &spec).await?;
        if spec.effective_at.is_some_and(|at| at < now) {
            let detail = format!("a price cannot take effect in the past; it is {now:.0}, omit it for now");
            return Err(Trouble::new(Code::InvalidValue, detail).at("effective_at").into());
        }
        call.note("sku_id", sku_id.to_string());
        let summary = summary(&sku, &spec);
        let proposal = Proposal::Price { sku_id, price: spec.clone() };
        second_person(self, call, Asked { proposal, organization: None, summary, reason: "" }).await?;
        add(call, sku_id, &spec).await
    }
}

/// Sets a price that waited for a second person: what would have begun
/// meanwhile begins now.
pub async fn set_late(call: &mut Call, sku_id: SkuId, mut spec: PriceSpec) -> Result<Price, Failure> {
    let (_, now) = locked(call, sku_id, &spec).await?;
    spec.effective_at = spec.effective_at.filter(|at| *at >= now);
    add(call, sku_id, &spec).await
}

/// The SKU, whose prices nobody else sets now, and the first moment at which one can take effect.
async fn locked(call: &mut Call, sku_id: SkuId, spec: &PriceSpec) -> Result<(Sku, Timestamp), Failure> {
    if !(0..=MOST_MICROS).contains(&spec.price_micros_per_gpu_hour) {
        let detail = format!("a price must be between 0 and {MOST_MICROS} millionths of the currency");
        return Err(Trouble::new(Code::InvalidValue, detail).at("price_micros_per_gpu_hour").into());
    }
    if !skus::lock(&mut call.tx, sku_id).await? {
        return Err(Failure::not_found("SKU"));
    }
    let sku = skus::get(&mut call.tx, sku_id).await?.ok_or_else(|| Failure::not_found("SKU"))?;
    Ok((sku, store::first_moment(&mut call.tx, sku_id).await?))
}

async fn add(call: &mut Call, sku_id: SkuId, spec: &PriceSpec) -> Result<Price, Failure> {
    let price = store::insert(&mut call.tx, sku_id, spec).await?;
    call.about(price.id);
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

fn summary(sku: &Sku, spec: &PriceSpec) -> String {
    let micros = spec.price_micros_per_gpu_hour;
    let price = match spec.currency.as_str().parse::<Currency>() {
        Ok(currency) => Money::from_micros(micros, currency).to_string(),
        Err(_) => format!("{micros} millionths of {}", spec.currency),
    };
    let from = spec.effective_at.map_or_else(|| "from its approval on".to_owned(), |at| format!("from {at:.0} on"));
    format!("a GPU of `{}` costs {price} an hour {from}", sku.name)
}

impl Handle<ListPrices> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ListPrices>) -> Result<Page<Price>, Failure> {
        let sku = request.path.sku_id;
        let rows = store::list(&mut call.tx, sku, &request.query).await?;
        if rows.is_empty() && skus::get(&mut call.tx, sku).await?.is_none() {
            return Err(Failure::not_found("SKU"));
        }
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}
