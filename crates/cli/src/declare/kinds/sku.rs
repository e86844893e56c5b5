//! `kind: sku`, for platform staff. Nothing of a SKU changes, and its name is
//! never given to another.

use contract::{
    Label, Nothing, Within,
    skus::{self, CreateSku, GpuModel, RetireSku, Shape, SkuLimitsSpec, SkuPath, SkuSpec},
};

use super::{joined, or_none, said};
use crate::{
    declare::{
        fields::{Fields, Read, flag, list, number, text, word},
        kind::{Creation, Kind, Lookup, Removal},
        thing::Reference,
        tree::{Mistake, Node},
        world::World,
    },
    exact,
    failure::Failure,
};

#[derive(Debug)]
pub struct Sku {
    name: Label,
    shape: Shape,
    gpu_model: Option<GpuModel>,
    gpu_counts: Vec<u16>,
    numa_bound: Option<bool>,
    limits: Option<SkuLimitsSpec>,
}

impl Sku {
    pub fn read(fields: &mut Fields) -> Option<Self> {
        let name = fields.required("name", text);
        let shape = fields.required("shape", word);
        let gpu_model = fields.optional("gpu_model", text);
        let gpu_counts = fields.required("gpu_counts", list(number::<Within<1, 64>>));
        let numa_bound = fields.optional("numa_bound", flag);
        let limits = fields.optional("limits", limits);
        let mut gpu_counts: Vec<u16> = gpu_counts?.into_iter().map(Within::to).collect();
        gpu_counts.sort_unstable();
        Some(Self { name: name?, shape: shape?, gpu_model, gpu_counts, numa_bound, limits })
    }

    pub fn name(&self) -> String {
        self.name.to_string()
    }

    pub fn references(&self) -> Vec<Reference<'_>> {
        Vec::new()
    }
}

impl Kind for Sku {
    type Handle = SkuPath;

    async fn look(&self, world: &World<'_>) -> Result<Lookup<SkuPath>, Failure> {
        let Some(there) = world.sku(&self.name).await? else { return Ok(Lookup::absent()) };
        if there.retired_at.is_some() {
            return Ok(Lookup::InTheWay("is permanently retired; choose another name".into()));
        }
        let differences = [
            said("shape", there.shape.as_str(), Some(&self.shape.to_string()), false),
            said("gpu_model", or_none(there.gpu_model.as_ref()), self.gpu_model.as_ref(), false),
            said("gpu_counts", joined(&there.gpu_counts), Some(&joined(&self.gpu_counts)), false),
            said("numa_bound", there.numa_bound, self.numa_bound.as_ref(), false),
            said("limits", shown(&there.limits.into()), self.limits.as_ref().map(shown).as_ref(), false),
        ];
        let differences: Vec<_> = differences.into_iter().flatten().collect();
        // Its name would be lost with it, so a changed one cannot be replaced.
        let removal = if differences.is_empty() {
            Removal::Also("will be permanently retired; its allocations continue".into())
        } else {
            Removal::Never("SKUs cannot be changed; create one with another name")
        };
        Ok(Lookup::Present { handle: SkuPath { sku_id: there.id }, differences, note: None, removal })
    }

    async fn create(&self, world: &World<'_>, salt: &str) -> Result<Creation, Failure> {
        let spec = SkuSpec {
            name: self.name.clone(),
            shape: self.shape,
            gpu_model: self.gpu_model.clone(),
            gpu_counts: self.gpu_counts.clone(),
            numa_bound: self.numa_bound.unwrap_or_default(),
            limits: self.limits,
        };
        let made: skus::Sku = exact::read(&world.send_once::<CreateSku>(Nothing {}, spec, salt).await?)?;
        Ok(Creation { id: made.id.to_string(), secret: None })
    }

    async fn change(&self, _: &World<'_>, _: SkuPath) -> Result<(), Failure> {
        unreachable!("no field of a SKU can change in place")
    }

    async fn remove(&self, world: &World<'_>, path: SkuPath) -> Result<(), Failure> {
        world.context.ask::<RetireSku>(path).await?;
        Ok(())
    }
}

/// The limits as a map of their own.
fn limits(node: &Node) -> Read<SkuLimitsSpec> {
    let mut fields = Fields::of(node)?;
    let limits = SkuLimitsSpec {
        cpus_per_gpu: fields.optional("cpus_per_gpu", number),
        memory_gib_per_gpu: fields.optional("memory_gib_per_gpu", number),
        tasks_per_gpu: fields.optional("tasks_per_gpu", number),
        open_files: fields.optional("open_files", number),
    };
    match fields.finish().into_iter().next() {
        Some(mistake) => Err(Mistake { path: format!(".{}", mistake.path), ..mistake }),
        None => Ok(limits),
    }
}

/// The limits that are set, for people.
fn shown(limits: &SkuLimitsSpec) -> String {
    let said = [
        limits.cpus_per_gpu.map(|it| format!("{it} CPUs per GPU")),
        limits.memory_gib_per_gpu.map(|it| format!("{it} GiB per GPU")),
        limits.tasks_per_gpu.map(|it| format!("{it} tasks per GPU")),
        limits.open_files.map(|it| format!("{it} open files")),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    if said.is_empty() { "proportional share of the host".to_owned() } else { said.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::tree;

    #[test]
    fn limits_are_read_by_name_and_within_bounds() {
        let read = |text: &str| limits(&tree::read(text).unwrap()[0]);
        let good = read("cpus_per_gpu: 8\nmemory_gib_per_gpu: 96\n").unwrap();
        assert_eq!(shown(&good), "8 CPUs per GPU, 96 GiB per GPU");
        assert_eq!(read("cpu_per_gpu: 8\n").unwrap_err().path, ".cpu_per_gpu");
        assert!(read("tasks_per_gpu: 3\n").unwrap_err().what.contains("from 256 to 65536"));
    }
}
