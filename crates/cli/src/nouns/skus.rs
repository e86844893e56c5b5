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

/// SKUs: the shapes of capacity on offer
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Skus {
    /// Put a SKU on offer (platform staff)
    Create {
        /// What to call it; it cannot be changed
        #[arg(value_parser = arguments::text::<Label>)]
        name: Label,
        /// What an allocation gets of a host
        #[arg(long, value_parser = arguments::word::<Shape>())]
        shape: Shape,
        /// How many GPUs per node may be asked for; repeat it, or separate with commas
        #[arg(long = "gpus", value_name = "COUNT", required = true, value_delimiter = ',')]
        gpu_counts: Vec<u16>,
        /// The GPU model that it needs, as hosts report it; any when absent
        #[arg(long, value_parser = arguments::text::<GpuModel>)]
        model: Option<GpuModel>,
        /// The GPUs of one node must hang on one NUMA node
        #[arg(long)]
        numa_bound: bool,
        /// CPUs for each GPU, as a weight where CPUs are short; the part of the host that its GPUs are when absent
        #[arg(long, value_name = "COUNT")]
        cpus_per_gpu: Option<Within<1, 1024>>,
        /// GiB of memory for each GPU; the part of the host that its GPUs are when absent
        #[arg(long, value_name = "GIB")]
        memory_gib_per_gpu: Option<Within<1, 16_384>>,
        /// Processes and threads for each GPU; the part of the host that its GPUs are when absent
        #[arg(long, value_name = "COUNT")]
        tasks_per_gpu: Option<Within<256, 65_536>>,
        /// Files that one process may have open; 131072 when absent
        #[arg(long, value_name = "COUNT")]
        open_files: Option<Within<1024, 1_048_576>>,
        #[command(flatten)]
        once: Once,
    },
    /// List the SKUs on offer
    List {
        /// Also those that were taken off offer
        #[arg(long)]
        retired: bool,
        /// Only the one with this name
        #[arg(long, value_parser = arguments::text::<Label>)]
        name: Option<Label>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Take a SKU off offer for good; allocations of it go on (platform staff)
    Retire {
        /// Id or name
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
                context.output.hint("\nIt is sold as soon as it has a price: `gpuaas prices set`.");
                Ok(())
            }
            Skus::List { retired, name, paging } => {
                let retired = retired.then_some(true);
                let query = SkuFilter { retired, name, limit: paging.page(), ..SkuFilter::default() };
                context.list::<ListSkus>(Nothing {}, query, paging, COLUMNS).await
            }
            Skus::Retire { sku, consent } => {
                let path = context.sku_named(&sku).await?;
                prompt::confirm(consent, &format!("takes the SKU `{sku}` off offer for good"), &sku).await?;
                context.output.item(&context.ask::<RetireSku>(path).await?)
            }
        }
    }
}
