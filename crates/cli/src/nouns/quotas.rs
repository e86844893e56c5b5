//! `gpuaas quotas`: how many GPUs of a SKU an organization may hold at once.

use clap::Subcommand;
use contract::{
    Label,
    quotas::{ListAnyQuotas, ListQuotas, Quota, QuotaFilter, QuotaPath, QuotaSpec, SetQuota, UnsetQuota},
};

use crate::{
    arguments::{self, Paging},
    context::Context,
    failure::{Done, Failure},
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas quotas list
  gpuaas quotas list --sku h200-slice

For platform staff:
  gpuaas quotas list --of acme
  gpuaas quotas set acme h200-slice 64
  gpuaas quotas unset acme h200-slice

Beside quotas, the policy `allocations.max_gpus` bounds what an organization or
a project holds of all SKUs together: `gpuaas policies explain allocations.max_gpus`.";

/// Quotas: how many GPUs of a SKU an organization may hold at once
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Quotas {
    /// Set the quota of an organization for a SKU (platform staff)
    Set {
        /// Id or name of the organization
        #[arg(value_name = "ORGANIZATION")]
        holder: String,
        /// Id or name of the SKU
        sku: String,
        /// How many GPUs at once
        gpus: u32,
    },
    /// Remove a quota, so that policy alone applies (platform staff)
    Unset {
        /// Id or name of the organization
        #[arg(value_name = "ORGANIZATION")]
        holder: String,
        /// Id or name of the SKU
        sku: String,
    },
    /// List the quotas of the organization and how much of each is taken
    List {
        /// Only the quota for this SKU
        #[arg(long, value_parser = arguments::text::<Label>)]
        sku: Option<Label>,
        /// Another organization, by id or name (platform staff)
        #[arg(long, value_name = "ORGANIZATION")]
        of: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
}

const COLUMNS: Columns = columns!(Quota: id, sku, gpus, used, set_at);

impl Quotas {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Quotas::Set { holder, sku, gpus } => {
                let path = named(context, &holder, &sku).await?;
                context.output.item(&context.send::<SetQuota>(path, QuotaSpec { gpus }).await?)
            }
            Quotas::Unset { holder, sku } => {
                let path = named(context, &holder, &sku).await?;
                let answer = context.ask::<UnsetQuota>(path).await?;
                context.output.done(&answer, format!("`{holder}` has no quota for `{sku}`; policy alone applies."))
            }
            Quotas::List { sku, of, paging } => {
                let query = QuotaFilter { sku, limit: paging.page(), ..QuotaFilter::default() };
                match of {
                    None => context.list::<ListQuotas>(context.organization().await?, query, paging, COLUMNS).await,
                    Some(of) => {
                        let path = context.any_organization_named(&of).await?;
                        context.list::<ListAnyQuotas>(path, query, paging, COLUMNS).await
                    }
                }
            }
        }
    }
}

async fn named(context: &Context, holder: &str, sku: &str) -> Result<QuotaPath, Failure> {
    let organization_id = context.any_organization_named(holder).await?.organization_id;
    Ok(QuotaPath { organization_id, sku_id: context.sku_named(sku).await?.sku_id })
}
