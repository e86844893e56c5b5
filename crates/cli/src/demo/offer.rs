//! What the tour takes, and what that may cost: the cheapest that is free.

use contract::{
    Label, Nothing, Timestamp,
    capacity::{CapacityFilter, CapacityLine, CapacityUnit, ListCapacity},
    ledger::{Balances, GetBalance},
    organizations::OrganizationPath,
    policies::{GetOrganizationPolicy, OrganizationPolicyPath, Policy},
    prices::{ListPrices, Price, PriceFilter, PriceKind, PriceUnit},
    skus::{ListSkus, Sku, SkuFilter, SkuPath},
};

use super::LEASE_MINUTES;
use crate::{
    context::Context,
    exact,
    failure::{Class, Failure},
    table::money,
};

// bound: prices are asked for one SKU at a time
const MOST_SKUS: usize = 50;
const MINUTES_OF_AN_HOUR: i64 = 60;

pub struct Offer {
    pub sku: Label,
    /// On one node.
    pub gpus: u16,
    /// For one GPU and hour.
    price_micros: i64,
    currency: String,
    /// Whether the platform wants money before.
    is_held: bool,
    /// None where the organization never had any.
    available_micros: Option<i64>,
}

impl Offer {
    /// What the whole lease costs.
    fn cost_micros(&self) -> i64 {
        cost(self.price_micros, self.gpus)
    }

    pub fn at_most(&self) -> String {
        self.money(self.cost_micros())
    }

    pub fn price_text(&self) -> String {
        match self.price_micros {
            0 => "free".to_owned(),
            price => format!("{} per GPU-hour, charged only while active", self.money(price)),
        }
    }

    pub fn hold_text(&self) -> String {
        if !self.is_held {
            return format!("none required; the full lease would cost {}", self.at_most());
        }
        format!("{} until release, the cost of the full lease", self.at_most())
    }

    pub fn balance_text(&self) -> String {
        match self.available_micros {
            Some(available) => format!("{} available", self.money(available)),
            None => format!("no {} balance yet", self.currency),
        }
    }

    fn money(&self, micros: i64) -> String {
        format!("{} {}", money(micros), self.currency)
    }
}

pub async fn find(context: &Context, wanted: Option<&Label>) -> Result<Offer, Failure> {
    let organization = context.organization().await?;
    let currency = policy(context, &organization, "billing.currency").await?;
    let is_held = policy(context, &organization, "billing.required").await? == "true";
    let balances: Balances = exact::read(&context.ask::<GetBalance>(organization).await?)?;
    let wallet = balances.items.iter().find(|it| it.currency.as_str() == currency);
    let available_micros = wallet.map(|it| it.available_micros);

    let skus = context.all::<ListSkus>(Nothing {}, SkuFilter { name: wanted.cloned(), ..Default::default() }).await?;
    if let (Some(wanted), true) = (wanted, skus.is_empty()) {
        return Err(Failure::new(
            Class::NotFound,
            format!("SKU `{wanted}` not found, or no longer on offer"),
            "See `gpuaas skus list`.",
        ));
    }
    let capacity = context.all::<ListCapacity>(Nothing {}, CapacityFilter::default()).await?;
    let (mut offers, mut unpriced) = (Vec::new(), Vec::new());
    for (sku, gpus) in skus.iter().filter_map(|it| Some((it, fits(it, &capacity)?))).take(MOST_SKUS) {
        let query = PriceFilter {
            currency: currency.parse().ok(),
            unit: Some(PriceUnit::GpuHour),
            kind: Some(PriceKind::OnDemand),
            ..PriceFilter::default()
        };
        let prices = context.all::<ListPrices>(SkuPath { sku_id: sku.id }, query).await?;
        let Some(price_micros) = in_force(&prices, balances.at) else {
            unpriced.push(sku.name.to_string());
            continue;
        };
        let (sku, currency) = (sku.name.clone(), currency.clone());
        offers.push(Offer { sku, gpus, price_micros, currency, is_held, available_micros });
    }
    cheapest(offers).ok_or_else(|| {
        if !unpriced.is_empty() {
            return Failure::new(
                Class::Conflict,
                format!(
                    "the available SKUs have no price in {currency} and cannot be allocated: {}",
                    unpriced.join(", ")
                ),
                "Ask an operator to set a price with `gpuaas prices set`.",
            );
        }
        let what = wanted.map_or_else(|| "no capacity".to_owned(), |it| format!("no capacity of `{it}`"));
        Failure::new(
            Class::Conflict,
            format!("{what} is free right now, and the tour does not wait in the queue"),
            "Check `gpuaas capacity list` and try again later.",
        )
    })
}

async fn policy(context: &Context, organization: &OrganizationPath, key: &str) -> Result<String, Failure> {
    let path = OrganizationPolicyPath { organization_id: organization.organization_id, key: key.to_owned() };
    let policy: Policy = exact::read(&context.ask::<GetOrganizationPolicy>(path).await?)?;
    Ok(policy.value)
}

/// The fewest GPUs of a SKU, if so many are free in one region.
fn fits(sku: &Sku, capacity: &[CapacityLine]) -> Option<u16> {
    let fewest = *sku.gpu_counts.iter().min()?;
    let has_room = |it: &&CapacityLine| {
        let wanted = if it.unit == CapacityUnit::Node { 1 } else { u64::from(fewest) };
        it.sku_id == sku.id && it.free >= wanted
    };
    capacity.iter().find(has_room).map(|_| fewest)
}

/// The newest price that has begun.
fn in_force(prices: &[Price], now: Timestamp) -> Option<i64> {
    let begun = prices.iter().filter(|it| it.effective_at <= now);
    begun.max_by_key(|it| (it.effective_at, it.version)).map(|it| it.price_micros)
}

fn cheapest(offers: Vec<Offer>) -> Option<Offer> {
    offers.into_iter().min_by_key(|it| (it.cost_micros(), it.gpus, it.sku.to_string()))
}

/// Rounded up: nobody pays more than was said.
fn cost(price_micros: i64, gpus: u16) -> i64 {
    let product = i128::from(price_micros) * i128::from(gpus) * i128::from(LEASE_MINUTES);
    let hours = i128::from(MINUTES_OF_AN_HOUR);
    i64::try_from((product + hours - 1) / hours).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use contract::{
        Open,
        id::{PriceId, RegionId, SkuId},
        skus::Shape,
    };

    use super::*;

    fn offer(sku: &str, gpus: u16, price_micros: i64) -> Offer {
        let sku = sku.parse().unwrap();
        Offer { sku, gpus, price_micros, currency: "USD".into(), is_held: true, available_micros: None }
    }

    #[test]
    fn the_offer_with_the_lowest_total_is_chosen_not_the_cheapest_gpu() {
        let offers = vec![offer("node", 8, 3_200_000), offer("slice", 1, 3_500_000)];
        assert_eq!(cheapest(offers).unwrap().sku.as_str(), "slice");
        let offers = vec![offer("slice", 1, 1), offer("gift", 8, 0)];
        assert_eq!(cheapest(offers).unwrap().sku.as_str(), "gift");
        assert!(cheapest(Vec::new()).is_none());
    }

    #[test]
    fn hold_covers_the_lease_and_is_rounded_up() {
        assert_eq!(offer("slice", 1, 3_500_000).at_most(), "0.875 USD");
        assert_eq!(cost(1, 1), 1);
        assert_eq!(cost(i64::MAX, 64), i64::MAX);
    }

    #[test]
    fn the_price_is_the_newest_one_in_effect() {
        let now = Timestamp::now();
        let hour = std::time::Duration::from_secs(3600);
        let price = |version, at, micros| Price {
            id: PriceId::generate(),
            sku_id: SkuId::generate(),
            version,
            currency: "USD".parse().unwrap(),
            unit: PriceUnit::GpuHour.into(),
            kind: PriceKind::OnDemand.into(),
            price_micros: micros,
            per_units: 1,
            effective_at: at,
            created_at: at,
        };
        let prices = [price(3, now + hour, 30), price(2, now, 20), price(1, now - hour, 10)];
        assert_eq!(in_force(&prices, now), Some(20));
        assert_eq!(in_force(&prices[..1], now), None);
    }

    #[test]
    fn only_free_capacity_is_offered() {
        let sku = Sku {
            id: SkuId::generate(),
            name: "slice".parse().unwrap(),
            shape: Open::Known(Shape::GpuSlice),
            gpu_model: None,
            gpu_counts: vec![4, 2],
            numa_bound: false,
            limits: Default::default(),
            created_at: Timestamp::UNIX_EPOCH,
            retired_at: None,
        };
        let line = |unit, free| CapacityLine {
            sku_id: sku.id,
            sku: sku.name.clone(),
            region_id: RegionId::generate(),
            region: "here".parse().unwrap(),
            unit: Open::Known(unit),
            free,
            held: 0,
            used: 0,
            broken: 0,
        };
        assert_eq!(fits(&sku, &[line(CapacityUnit::Gpu, 1)]), None);
        assert_eq!(fits(&sku, &[line(CapacityUnit::Gpu, 1), line(CapacityUnit::Gpu, 2)]), Some(2));
        assert_eq!(fits(&sku, &[line(CapacityUnit::Node, 1)]), Some(2));
    }
}
