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
  gpuaas quotas list --for-organization acme
  gpuaas quotas set acme h200-slice 64
  gpuaas quotas unset acme h200-slice

The policy `allocations.max_gpus` also limits the GPUs of all SKUs that an
organization or project can use: `gpuaas policies explain allocations.max_gpus`.";

/// Manage quotas: how many GPUs of a SKU an organization can use at the same time
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Quotas {
    /// Set the quota of an organization for a SKU (platform staff)
    Set {
        /// ID or name of the organization
        #[arg(value_name = "ORGANIZATION")]
        holder: String,
        /// ID or name of the SKU
        sku: String,
        /// Maximum number of GPUs in use at the same time
        gpus: u32,
    },
    /// Remove a quota, leaving only policy limits (platform staff)
    Unset {
        /// ID or name of the organization
        #[arg(value_name = "ORGANIZATION")]
        holder: String,
        /// ID or name of the SKU
        sku: String,
    },
    /// List quotas and how much of each is in use
    List {
        /// Filter by SKU
        #[arg(long, value_parser = arguments::text::<Label>)]
        sku: Option<Label>,
        /// Act on another organization, by ID or name (platform staff)
        #[arg(long, value_name = "ORGANIZATION")]
        for_organization: Option<String>,
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
                context
                    .output
                    .done(&answer, format!("Removed the quota of `{holder}` for `{sku}`. Only policy limits apply."))
            }
            Quotas::List { sku, for_organization, paging } => {
                let query = QuotaFilter { sku, limit: paging.page(), ..QuotaFilter::default() };
                match for_organization {
                    None => context.list::<ListQuotas>(context.organization().await?, query, paging, COLUMNS).await,
                    Some(name) => {
                        let path = context.any_organization_named(&name).await?;
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
