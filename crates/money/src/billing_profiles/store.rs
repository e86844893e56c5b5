//! The rows of `billing_profiles`. The one without an organization is the seller's.

use contract::{
    billing_profiles::{BillingProfile, BillingProfileSpec, Party, Tax},
    id::OrganizationId,
};
use kernel::Tx;

#[derive(sqlx::FromRow)]
struct Row {
    legal_name: String,
    address: Vec<String>,
    tax_id: Option<String>,
    email: Option<String>,
    tax_name: Option<String>,
    tax_basis_points: Option<i32>,
    tax_note: Option<String>,
    set_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "legal_name, address, tax_id, email, tax_name, tax_basis_points, tax_note, set_at";

/// What is printed about who sells; nothing is sold before it is known.
pub async fn seller(tx: &mut Tx) -> sqlx::Result<Option<BillingProfile>> {
    read(tx, None).await
}

pub async fn of(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Option<BillingProfile>> {
    read(tx, Some(organization)).await
}

async fn read(tx: &mut Tx, organization: Option<OrganizationId>) -> sqlx::Result<Option<BillingProfile>> {
    let statement = format!("SELECT {COLUMNS} FROM billing_profiles WHERE organization_id IS NOT DISTINCT FROM $1");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.map(|it| it.uuid()))
        .fetch_optional(tx.conn())
        .await?;
    Ok(row.map(profile))
}

/// Sets all of it; with `keeps_tax` it is taxed as before.
pub async fn set(
    tx: &mut Tx,
    organization: Option<OrganizationId>,
    spec: &BillingProfileSpec,
    keeps_tax: bool,
) -> sqlx::Result<BillingProfile> {
    let statement = format!(
        "INSERT INTO billing_profiles (organization_id, legal_name, address, tax_id, email, tax_name, tax_basis_points, tax_note)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (organization_id) DO UPDATE SET legal_name = excluded.legal_name, address = excluded.address,
           tax_id = excluded.tax_id, email = excluded.email, set_at = app_now(),
           tax_name = CASE WHEN $9 THEN billing_profiles.tax_name ELSE excluded.tax_name END,
           tax_basis_points = CASE WHEN $9 THEN billing_profiles.tax_basis_points ELSE excluded.tax_basis_points END,
           tax_note = CASE WHEN $9 THEN billing_profiles.tax_note ELSE excluded.tax_note END
         RETURNING {COLUMNS}"
    );
    let tax = spec.tax.as_ref();
    let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.map(|it| it.uuid()))
        .bind(spec.legal_name.as_str())
        .bind(spec.address.iter().map(|it| it.as_str().to_owned()).collect::<Vec<_>>())
        .bind(spec.tax_id.as_ref().map(|it| it.as_str()))
        .bind(spec.email.as_ref().map(|it| it.as_str()))
        .bind(tax.map(|it| it.name.as_str()))
        .bind(tax.map(|it| it.basis_points.to::<i32>()))
        .bind(tax.and_then(|it| it.note.as_ref()).map(|it| it.as_str()))
        .bind(keeps_tax)
        .fetch_one(tx.conn())
        .await?;
    Ok(profile(row))
}

fn profile(row: Row) -> BillingProfile {
    let tax = row.tax_name.zip(row.tax_basis_points).map(|(name, basis_points)| Tax {
        name,
        basis_points: u16::try_from(basis_points).unwrap_or_default(),
        note: row.tax_note,
    });
    let party = Party { legal_name: row.legal_name, address: row.address, tax_id: row.tax_id, email: row.email };
    BillingProfile { party, tax, set_at: row.set_at.to_jiff() }
}
