//! A cloud whose SKU has a price, and statements about what is left.

use contract::{
    Nothing,
    id::{NodeId, OrganizationId},
    ledger::{Balance, GetBalance, Proof, ProofRange, ProveBooks},
    organizations::OrganizationPath,
};
use protocol::Inventory;
use testkit::{Cloud, Tenant, cloud::set_price, world::set_policy};

/// One GPU and hour costs so much.
pub const PRICE: i64 = 3_500_000;

pub async fn cloud(nodes: usize, gpus: u32) -> Cloud {
    let cloud = Cloud::new(nodes, gpus).await;
    set_price(&cloud.fleet.operator, cloud.sku.id, PRICE).await;
    for lane in ["address", "default", "launch", "financial", "admin"] {
        set_policy(&cloud.fleet.operator, &format!("rate_limit.{lane}_per_minute"), "1000000").await;
    }
    refresh(&cloud).await;
    cloud
}

/// Platform policies that were set apply from here on.
pub async fn refresh(cloud: &Cloud) {
    let control_plane = &cloud.world().server.control_plane;
    control_plane.policies.refresh(&control_plane.db).await.unwrap();
}

/// A number that a statement answers.
pub async fn count(cloud: &Cloud, statement: &str) -> i64 {
    let mut above = cloud.world().server.database.superuser().await;
    sqlx::query_scalar(sqlx::AssertSqlSafe(statement.to_owned())).fetch_one(&mut above).await.unwrap()
}

/// What a host last said it is made of.
pub async fn inventory(cloud: &Cloud, node: NodeId) -> Inventory {
    let mut above = cloud.world().server.database.superuser().await;
    let said: sqlx::types::Json<Inventory> = sqlx::query_scalar("SELECT inventory FROM nodes WHERE id = $1")
        .bind(node.uuid())
        .fetch_one(&mut above)
        .await
        .unwrap();
    said.0
}

/// How many allocations hold or want something, intervals of usage are open, slots are held.
pub async fn left(cloud: &Cloud) -> (i64, i64, i64) {
    (
        count(cloud, "SELECT count(*) FROM allocations WHERE state NOT IN ('released', 'failed')").await,
        count(cloud, "SELECT count(*) FROM open_intervals").await,
        count(cloud, "SELECT count(*) FROM slots WHERE held_by IS NOT NULL").await,
    )
}

pub async fn balance(tenant: &Tenant) -> Option<Balance> {
    let path = OrganizationPath { organization_id: tenant.organization };
    tenant.client.call::<GetBalance>(path, Nothing {}, Nothing {}).await.unwrap().items.into_iter().next()
}

/// What runs costs so much an hour.
pub async fn burn(tenant: &Tenant) -> i64 {
    balance(tenant).await.map_or(0, |it| it.burn_micros_per_hour)
}

pub async fn prove(tenant: &Tenant) -> Proof {
    let path = OrganizationPath { organization_id: tenant.organization };
    tenant.client.call::<ProveBooks>(path, ProofRange::default(), Nothing {}).await.unwrap()
}

/// Posts what was used up to now.
pub async fn post(cloud: &Cloud, organization: OrganizationId) {
    let mut tx = cloud.fleet.tx().await;
    money::books::close(&mut tx, organization).await.unwrap().expect("it has books");
    tx.commit().await.unwrap();
}
