//! `gpuaas skus`: the shapes of capacity on offer.

use clap::Subcommand;
use contract::{
    Label, Nothing, Within,
    skus::{CreateSku, GpuModel, ListSkus, RetireSku, Shape, Sku, SkuFilter, SkuLimitsSpec, SkuSpec},
};

use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas skus list

For platform staff:
  gpuaas skus create h200-slice --shape gpu_slice --model \"NVIDIA H200\" --gpus 1,2,4,8 --numa-bound
  gpuaas skus create h200-small --shape gpu_slice --gpus 1 --cpus-per-gpu 8 --memory-gib-per-gpu 96
  gpuaas skus list --retired
  gpuaas skus retire h200-slice --yes";

/// Manage SKUs, the GPU configurations on offer
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Skus {
    /// Create a SKU (platform staff)
    Create {
        /// Name of the SKU; cannot be changed later
        #[arg(value_parser = arguments::text::<Label>)]
        name: Label,
        /// Shape of an allocation: which part of a host it gets
        #[arg(long, value_parser = arguments::word::<Shape>())]
        shape: Shape,
        /// Allowed number of GPUs per node; repeatable or comma-separated
        #[arg(long = "gpus", value_name = "COUNT", required = true, value_delimiter = ',')]
        gpu_counts: Vec<u16>,
        /// Required GPU model, as reported by hosts [default: any]
        #[arg(long, value_parser = arguments::text::<GpuModel>)]
        model: Option<GpuModel>,
        /// Require all GPUs of a node's share to be on one NUMA node
        #[arg(long)]
        numa_bound: bool,
        /// CPU weight per GPU under contention [default: proportional share of the host]
        #[arg(long, value_name = "COUNT")]
        cpus_per_gpu: Option<Within<1, 1024>>,
        /// Memory per GPU, in GiB [default: proportional share of the host]
        #[arg(long, value_name = "GIB")]
        memory_gib_per_gpu: Option<Within<1, 16_384>>,
        /// Process and thread limit per GPU [default: proportional share of the host]
        #[arg(long, value_name = "COUNT")]
        tasks_per_gpu: Option<Within<256, 65_536>>,
        /// Open file limit per process [default: 131072]
        #[arg(long, value_name = "COUNT")]
        open_files: Option<Within<1024, 1_048_576>>,
        #[command(flatten)]
        once: Once,
    },
    /// List SKUs on offer
    List {
        /// Include retired SKUs
        #[arg(long)]
        retired: bool,
        /// Filter by name
        #[arg(long, value_parser = arguments::text::<Label>)]
        name: Option<Label>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Retire a SKU permanently; its allocations continue (platform staff)
    Retire {
        /// ID or name of the SKU
        sku: String,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns = columns!(Sku: id, name, shape, gpu_model, gpu_counts, numa_bound, created_at, retired_at);

impl Skus {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Skus::Create {
                name,
                shape,
                gpu_counts,
                model,
                numa_bound,
                cpus_per_gpu,
                memory_gib_per_gpu,
                tasks_per_gpu,
                open_files,
                once,
            } => {
                let limits = Some(SkuLimitsSpec { cpus_per_gpu, memory_gib_per_gpu, tasks_per_gpu, open_files });
                let spec = SkuSpec { name, shape, gpu_model: model, gpu_counts, numa_bound, limits };
                let answer = context.create::<CreateSku>(&once, Nothing {}, spec).await?;
                context.output.item(&answer)?;
                context.output.hint("\nNext, set a price to put it on sale: `gpuaas prices set`.");
                Ok(())
            }
            Skus::List { retired, name, paging } => {
                let retired = retired.then_some(true);
                let query = SkuFilter { retired, name, limit: paging.page(), ..SkuFilter::default() };
                context.list::<ListSkus>(Nothing {}, query, paging, COLUMNS).await
            }
            Skus::Retire { sku, consent } => {
                let path = context.sku_named(&sku).await?;
                prompt::confirm(consent, &format!("permanently retires the SKU `{sku}`"), &sku).await?;
                context.output.item(&context.ask::<RetireSku>(path).await?)
            }
        }
    }
}
