//! `kind: price`, for platform staff: what a unit of a SKU costs from a time on.
//! A change is a new version; none is ever taken back.

use contract::{
    Label, Timestamp,
    prices::{self, CurrencyCode, ListPrices, PriceFilter, PriceKind, PriceSpec, PriceUnit, SetPrice},
    skus::SkuPath,
};

use crate::{
    declare::{
        fields::{Fields, amount, moment, number, text, word},
        kind::{Creation, Kind, Lookup, Removal},
        plan::Difference,
        thing::Reference,
        world::World,
    },
    exact,
    failure::Failure,
    table::money,
};

#[derive(Debug)]
pub struct Price {
    sku: Label,
    unit: PriceUnit,
    kind: PriceKind,
    currency: CurrencyCode,
    micros: i64,
    per_units: i64,
    effective_at: Option<Timestamp>,
}

impl Price {
    pub fn read(fields: &mut Fields) -> Option<Self> {
        let sku = fields.required("sku", text);
        let currency = fields.required("currency", text);
        let micros = fields.required("amount", amount);
        let unit = fields.optional("unit", word).unwrap_or(PriceUnit::GpuHour);
        let kind = fields.optional("price_kind", word).unwrap_or(PriceKind::OnDemand);
        let per_units = fields.optional("per_units", number).unwrap_or(1);
        let effective_at = fields.optional("effective_at", moment);
        Some(Self { sku: sku?, unit, kind, currency: currency?, micros: micros?, per_units, effective_at })
    }

    pub fn name(&self) -> String {
        match (self.unit, self.kind) {
            (PriceUnit::GpuHour, PriceKind::OnDemand) => format!("{}/{}", self.sku, self.currency),
            (unit, kind) => format!("{}/{unit}/{kind}/{}", self.sku, self.currency),
        }
    }

    pub fn references(&self) -> Vec<Reference<'_>> {
        vec![Reference::Sku(&self.sku)]
    }

    /// From when on, where that is still to come.
    fn later(&self) -> Option<Timestamp> {
        self.effective_at.filter(|it| *it > Timestamp::now())
    }

    async fn set(&self, world: &World<'_>, path: SkuPath, after: &str) -> Result<Creation, Failure> {
        let spec = PriceSpec {
            unit: Some(self.unit),
            kind: Some(self.kind),
            currency: self.currency.clone(),
            price_micros: self.micros,
            per_units: Some(self.per_units),
            effective_at: self.later(),
        };
        let made: prices::Price = exact::read(&world.send_once::<SetPrice>(path, spec, after).await?)?;
        Ok(Creation { id: made.id.to_string(), secret: None })
    }
}

/// The price that applies at a time, as the server chooses it.
fn in_force(all: &[prices::Price], at: Timestamp) -> Option<&prices::Price> {
    all.iter().filter(|it| it.effective_at <= at).max_by_key(|it| (it.effective_at, it.version))
}

impl Kind for Price {
    /// With the newest version that there is, which a new one follows.
    type Handle = (SkuPath, String);

    async fn look(&self, world: &World<'_>) -> Result<Lookup<Self::Handle>, Failure> {
        let Some(sku) = world.sku(&self.sku).await? else { return Ok(Lookup::absent()) };
        let path = SkuPath { sku_id: sku.id };
        let query = PriceFilter {
            currency: Some(self.currency.clone()),
            unit: Some(self.unit),
            kind: Some(self.kind),
            ..PriceFilter::default()
        };
        let all = world.context.all::<ListPrices>(path.clone(), query).await?;
        let newest = all.iter().max_by_key(|it| it.version).map(|it| it.id.to_string()).unwrap_or_default();
        let at = self.later().unwrap_or_else(Timestamp::now);
        let Some(price) = in_force(&all, at) else { return Ok(Lookup::Absent { after: newest }) };
        let amounts = Difference::between("amount", money(price.price_micros), money(self.micros), true);
        let units = Difference::between("per_units", price.per_units.to_string(), self.per_units.to_string(), true);
        let differences = amounts.into_iter().chain(units).collect();
        let removal = Removal::Never("prices cannot be deleted");
        Ok(Lookup::Present { handle: (path, newest), differences, note: None, removal })
    }

    async fn create(&self, world: &World<'_>, salt: &str) -> Result<Creation, Failure> {
        let sku_id = world.sku_needed(&self.sku).await?.id;
        self.set(world, SkuPath { sku_id }, salt).await
    }

    async fn change(&self, world: &World<'_>, (path, newest): Self::Handle) -> Result<(), Failure> {
        self.set(world, path, &newest).await?;
        Ok(())
    }

    async fn remove(&self, _: &World<'_>, _: Self::Handle) -> Result<(), Failure> {
        unreachable!("prices cannot be deleted")
    }
}

#[cfg(test)]
mod tests {
    use contract::id::{PriceId, SkuId};

    use super::*;

    #[test]
    fn the_price_that_took_effect_last_applies() {
        let price = |version, at: &str, micros| prices::Price {
            id: PriceId::generate(),
            sku_id: SkuId::generate(),
            version,
            currency: "USD".parse().unwrap(),
            unit: PriceUnit::GpuHour.into(),
            kind: PriceKind::OnDemand.into(),
            price_micros: micros,
            per_units: 1,
            effective_at: at.parse().unwrap(),
            created_at: at.parse().unwrap(),
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z");
        let all = [price(2, late, 20), price(1, early, 10), price(3, early, 30)];
        let at = |text: &str| in_force(&all, text.parse().unwrap()).map(|it| it.price_micros);
        assert_eq!(at("2025-12-31T00:00:00Z"), None);
        assert_eq!((at("2026-02-01T00:00:00Z"), at("2026-07-01T00:00:00Z")), (Some(30), Some(20)));
    }
}
