//! Setting and listing prices.

use contract::{
    Code, Page, Timestamp, Word,
    id::SkuId,
    prices::{ListPrices, Price, PriceKind, PriceSet, PriceSpec, PriceUnit, SetPrice},
    skus::Sku,
};
use kernel::money::{Currency, Money};

use super::store;
use crate::{FleetArea, skus};
use platform::{
    events::emit,
    four_eyes::{CorrectionRequest, Proposal, second_person},
    http::{Call, Failure, Handle, ProblemBuilder, Request},
};

// bound: what the contract's schema says; a million of the currency
const MOST_MICROS: i64 = 1_000_000_000_000;
// bound: what the contract's schema says
const MOST_UNITS: i64 = 1_000_000_000;

impl Handle<SetPrice> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<SetPrice>) -> Result<Price, Failure> {
        let (sku_id, spec) = (request.path.sku_id, request.body);
        self.is_metered(&spec)?;
        let (sku, now) = locked(call, sku_id, &spec).await?;
        if spec.effective_at.is_some_and(|at| at < now) {
            let detail = format!(
                "a price cannot take effect in the past; the current time is {now:.0}, omit `effective_at` to use it"
            );
            return Err(ProblemBuilder::new(Code::InvalidValue, detail).at("effective_at").into());
        }
        call.note("sku_id", sku_id.to_string());
        let summary = summary(&sku, &spec);
        let proposal = Proposal::Price { sku_id, price: spec.clone() };
        second_person(self, call, CorrectionRequest { proposal, organization: None, summary, reason: "" }).await?;
        add(call, sku_id, &spec).await
    }
}

impl FleetArea {
    /// A price that no meter charges would be a promise that nobody keeps.
    fn is_metered(&self, spec: &PriceSpec) -> Result<(), Failure> {
        let (unit, kind) = (unit(spec), kind(spec));
        let of_unit: Vec<_> = self.meters.iter().filter(|it| it.unit == unit).collect();
        let wrong = |field, detail: String| Err(ProblemBuilder::new(Code::InvalidValue, detail).at(field).into());
        if of_unit.is_empty() {
            let mut units: Vec<&str> = self.meters.iter().map(|it| it.unit.as_str()).collect();
            units.dedup();
            return wrong("unit", format!("no meter has the unit {unit}; use {}", units.join(" or ")));
        }
        if !of_unit.iter().any(|it| it.kinds.contains(&kind)) {
            let kinds: Vec<&str> = of_unit.iter().flat_map(|it| it.kinds).map(|it| it.as_str()).collect();
            return wrong(
                "kind",
                format!("no usage with the unit {unit} has the kind {kind}; use {}", kinds.join(" or ")),
            );
        }
        Ok(())
    }
}

fn unit(spec: &PriceSpec) -> PriceUnit {
    spec.unit.unwrap_or(PriceUnit::GpuHour)
}

fn kind(spec: &PriceSpec) -> PriceKind {
    spec.kind.unwrap_or(PriceKind::OnDemand)
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
    let wrong = |field, detail: String| Err(ProblemBuilder::new(Code::InvalidValue, detail).at(field).into());
    if !(0..=MOST_MICROS).contains(&spec.price_micros) {
        return wrong(
            "price_micros",
            format!("a price must be between 0 and {MOST_MICROS} millionths of the currency"),
        );
    }
    match spec.per_units.unwrap_or(1) {
        1 => (),
        _ if unit(spec).is_rate() => {
            return wrong(
                "per_units",
                "a price per hour is for 1 unit; only counted units can be priced per thousand".into(),
            );
        }
        2..=MOST_UNITS => (),
        _ => return wrong("per_units", format!("a price must be for 1 to {MOST_UNITS} units")),
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
        unit: price.unit.clone(),
        kind: price.kind.clone(),
        currency: price.currency.clone(),
        price_micros: price.price_micros,
        per_units: price.per_units,
        effective_at: price.effective_at,
    };
    emit(&mut call.tx, None, price.id, &event);
    Ok(price)
}

fn summary(sku: &Sku, spec: &PriceSpec) -> String {
    let micros = spec.price_micros;
    let price = match spec.currency.as_str().parse::<Currency>() {
        Ok(currency) => Money::from_micros(micros, currency).to_string(),
        Err(_) => format!("{micros} millionths of {}", spec.currency),
    };
    let from = spec.effective_at.map_or_else(|| "once approved".to_owned(), |at| format!("from {at:.0}"));
    let units = match (spec.per_units.unwrap_or(1), unit(spec)) {
        (1, PriceUnit::GpuHour) => "GPU hour".to_owned(),
        (1, unit) => unit.as_str().replace('_', " "),
        (many, unit) => format!("{many} {}s", unit.as_str().replace('_', " ")),
    };
    let kind = match kind(spec) {
        PriceKind::OnDemand => String::new(),
        other => format!(", {other}"),
    };
    format!("`{}` costs {price} per {units}{kind} {from}", sku.name)
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
