//! SKUs: the shapes of capacity on offer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use shapes::Shape;

use crate::{Label, Open, Page, Timestamp, Within, Word, endpoint, event, id::SkuId, list_query};

endpoint! {
    /// Create a SKU.
    CreateSku = POST "/v1/platform/skus" {
        body: SkuSpec,
        returns: 201 Sku,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("sku.create"),
        problems: [InvalidValue, NameTaken],
    }
}

endpoint! {
    /// List the available SKUs.
    ListSkus = GET "/v1/skus" {
        query: SkuFilter,
        returns: 200 Page<Sku>,
        auth: SignedIn,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Retire a SKU; its allocations continue.
    RetireSku = DELETE "/v1/platform/skus/{sku_id}" {
        path: SkuPath,
        returns: 200 Sku,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("sku.retire"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SkuPath {
    pub sku_id: SkuId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkuSpec {
    pub name: Label,
    pub shape: Shape,
    /// The required GPU model, as hosts report it. Default: any model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_model: Option<GpuModel>,
    /// The allowed numbers of GPUs per node, each between 1 and 64.
    #[schemars(length(min = 1, max = 16))]
    pub gpu_counts: Vec<u16>,
    /// Whether the GPUs of one node must share one NUMA node.
    #[serde(default)]
    pub numa_bound: bool,
    /// What a login may use of a host besides GPUs. Default: its GPUs' share of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<SkuLimitsSpec>,
}

/// How much of a host a login of a SKU may use. Default: its GPUs' share of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkuLimitsSpec {
    /// CPUs per GPU: the share when CPUs are scarce. Idle CPUs are available to everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus_per_gpu: Option<Within<1, 1024>>,
    /// GiB of memory per GPU. Only a login that exceeds it is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_gib_per_gpu: Option<Within<1, 16_384>>,
    /// Processes and threads per GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_per_gpu: Option<Within<256, 65_536>>,
    /// Open files per process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<Within<1024, 1_048_576>>,
}

/// How much of a host a login of a SKU may use. Default: its GPUs' share of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkuLimits {
    /// CPUs per GPU: the share when CPUs are scarce. Idle CPUs are available to everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus_per_gpu: Option<Within<1, 1024>>,
    /// GiB of memory per GPU. Only a login that exceeds it is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_gib_per_gpu: Option<Within<1, 16_384>>,
    /// Processes and threads per GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_per_gpu: Option<Within<256, 65_536>>,
    /// Open files per process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<Within<1024, 1_048_576>>,
}

impl From<SkuLimits> for SkuLimitsSpec {
    fn from(limits: SkuLimits) -> Self {
        let SkuLimits { cpus_per_gpu, memory_gib_per_gpu, tasks_per_gpu, open_files } = limits;
        Self { cpus_per_gpu, memory_gib_per_gpu, tasks_per_gpu, open_files }
    }
}

text! {
    /// A GPU model as hosts report it, such as `NVIDIA H200`.
    GpuModel {
        schema: { "type": "string", "minLength": 1, "maxLength": 64, "pattern": r"^[A-Za-z0-9][A-Za-z0-9 ._/-]*$" },
        rule: |text| (1..=64).contains(&text.len())
            && text.starts_with(|it: char| it.is_ascii_alphanumeric())
            && text.chars().all(|it| it.is_ascii_alphanumeric() || " ._/-".contains(it)),
        otherwise: "a GPU model has 1 to 64 letters, digits, spaces, `.`, `_`, `/` or `-`",
    }
}

list_query! {
    SkuFilter {
        /// Only the SKU with this name.
        name: Label,
        /// Include retired SKUs.
        retired: bool,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sku {
    pub id: SkuId,
    pub name: Label,
    pub shape: Open<Shape>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_model: Option<GpuModel>,
    pub gpu_counts: Vec<u16>,
    pub numa_bound: bool,
    pub limits: SkuLimits,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<Timestamp>,
}

impl Word for Shape {
    const NAME: &'static str = "Shape";
    const ALL: &'static [Self] = Self::ALL;

    fn as_str(self) -> &'static str {
        self.as_str()
    }
}

event! {
    /// A SKU was created.
    SkuCreated = "sku.created", staff: PlatformFleetRead { id: SkuId, name: Label }
}
event! {
    /// A SKU was retired.
    SkuRetired = "sku.retired", staff: PlatformFleetRead { id: SkuId }
}
