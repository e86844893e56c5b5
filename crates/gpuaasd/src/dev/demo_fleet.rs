//! The demo fleet: a region, a pool of simulated nodes, what is on offer there
//! and what it costs. Seeding again changes nothing that is there.

use contract::{
    Label,
    id::{PoolId, RegionId},
    pools::{Isolation, PoolFilter, PoolProvider, PoolSpec},
    prices::PriceSpec,
    skus::{GpuModel, Shape, SkuSpec},
};
use kernel::Tx;

use fleet::{pools, prices, regions, skus};

const REGION: &str = "local";
const POOL: &str = "sim";
const MODEL: &str = "NVIDIA H200";
const CURRENCY: &str = "USD";

/// What the demo sells: its name, its shape, how many GPUs, and millionths of a dollar for one and an hour.
const OFFER: &[(&str, Shape, &[u16], i64)] =
    &[("h200-slice", Shape::GpuSlice, &[1, 2, 4, 8], 3_500_000), ("h200-node", Shape::Baremetal, &[8], 3_200_000)];

/// The pool that simulated nodes join.
pub async fn seed(tx: &mut Tx) -> sqlx::Result<PoolId> {
    let pool = pool(tx).await?;
    for (name, shape, counts, price) in OFFER {
        let name = label(name);
        if skus::by_name(tx, &name).await?.is_some() {
            continue;
        }
        let spec = SkuSpec {
            name,
            shape: *shape,
            gpu_model: Some(MODEL.parse::<GpuModel>().expect("a literal above")),
            gpu_counts: counts.to_vec(),
            numa_bound: false,
            limits: Default::default(),
        };
        if let Some(sku) = skus::add(tx, &spec).await? {
            let price = PriceSpec {
                currency: CURRENCY.parse().expect("a literal above"),
                price_micros: *price,
                unit: None,
                kind: None,
                per_units: None,
                effective_at: None,
            };
            prices::add(tx, sku.id, &price).await?;
        }
    }
    Ok(pool)
}

/// The region of the demo.
pub async fn region(tx: &mut Tx) -> sqlx::Result<RegionId> {
    let region = match regions::by_name(tx, &label(REGION)).await? {
        Some(region) => region,
        None => regions::add(tx, &label(REGION)).await?.ok_or(sqlx::Error::RowNotFound)?,
    };
    Ok(region.id)
}

async fn pool(tx: &mut Tx) -> sqlx::Result<PoolId> {
    let filter = PoolFilter { name: Some(label(POOL)), ..PoolFilter::default() };
    if let Some(known) = pools::list(tx, &filter).await?.pop() {
        return Ok(known.id);
    }
    let spec = PoolSpec {
        name: label(POOL),
        region_id: region(tx).await?,
        provider: PoolProvider::Sim,
        isolation: Isolation::UserRevoke,
        isolates_vms: true,
    };
    match pools::add(tx, &spec).await? {
        pools::InsertOutcome::Pool(pool) => Ok(pool.id),
        pools::InsertOutcome::NameTaken | pools::InsertOutcome::NoSuchRegion => Err(sqlx::Error::RowNotFound),
    }
}

fn label(text: &str) -> Label {
    text.parse().expect("a literal above")
}
