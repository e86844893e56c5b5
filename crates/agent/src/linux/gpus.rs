//! A host's GPUs: those that NVML finds, those that its operator pretends, or none.
//! Their device files are another module's.

use super::devices::Devices;
use crate::config::Config;
use crate::nvidia::Nvidia;
use crate::steps::{Failure, Result};
use protocol::agent_binary::sha256_hex;
use protocol::{Gpu, GpuRef, GpuSample, HealthEvent, SelfTest, Shape};
use std::path::PathBuf;

const PRETENDED_MEMORY: u64 = 16 << 30; // bound: of a pretended GPU

pub enum GpuSource {
    Nvidia(Box<Nvidia>),
    Pretended(Vec<Gpu>),
    /// With the reason why.
    None(String),
}

impl GpuSource {
    pub fn find(config: &Config) -> Self {
        if config.simulated_gpus > 0 {
            return Self::Pretended((0..config.simulated_gpus).map(|index| pretended(config, index)).collect());
        }
        match Nvidia::load() {
            Ok(nvidia) => Self::Nvidia(Box::new(nvidia)),
            Err(reason) => Self::None(reason),
        }
    }

    pub fn list(&self) -> Vec<Gpu> {
        match self {
            Self::Nvidia(nvidia) => nvidia.list(),
            Self::Pretended(gpus) => gpus.clone(),
            Self::None(_) => Vec::new(),
        }
    }

    pub fn driver_version(&self) -> Option<String> {
        match self {
            Self::Nvidia(nvidia) => nvidia.driver_version(),
            Self::Pretended(_) | Self::None(_) => None,
        }
    }

    pub fn sample(&self) -> Vec<GpuSample> {
        match self {
            Self::Nvidia(nvidia) => nvidia.sample(),
            Self::Pretended(_) | Self::None(_) => Vec::new(),
        }
    }

    pub fn health(&self) -> Vec<HealthEvent> {
        match self {
            Self::Nvidia(nvidia) => nvidia.health(),
            Self::Pretended(_) | Self::None(_) => Vec::new(),
        }
    }

    /// Every wanted GPU is on this host, at its address.
    pub(crate) fn require(&self, wanted: &[GpuRef]) -> Result<()> {
        let there = self.list();
        for gpu in wanted {
            let found = there.iter().find(|other| other.uuid == gpu.uuid);
            let problem = match found {
                None => format!("{} is not on this host", gpu.uuid),
                Some(found) if !found.pci.eq_ignore_ascii_case(&gpu.pci) => {
                    format!("{} is at {}, not at {}", gpu.uuid, found.pci, gpu.pci)
                }
                Some(_) => continue,
            };
            return Err(Failure::lasting("missing_gpu", problem));
        }
        Ok(())
    }

    pub(crate) fn self_test(&self, wanted: &[GpuRef], is_wanted: bool) -> Result<SelfTest> {
        let count = wanted.len();
        let Self::Nvidia(nvidia) = self else {
            return Ok(SelfTest { passed: true, detail: format!("{count} simulated GPUs") });
        };
        if !is_wanted {
            return Ok(SelfTest { passed: true, detail: "not requested".into() });
        }
        for gpu in wanted {
            let tested = nvidia.test(gpu);
            tested.map_err(|reason| Failure::lasting("self_test", format!("{}: {reason}", gpu.uuid)))?;
        }
        Ok(SelfTest { passed: true, detail: format!("{count} GPUs respond, without uncorrected memory errors") })
    }

    /// A slice is told of its own GPUs only; a whole machine sees them all.
    pub(crate) fn environment(shape: Shape, gpus: &[GpuRef]) -> String {
        let uuids: Vec<&str> = gpus.iter().map(|gpu| gpu.uuid.as_str()).collect();
        match shape {
            Shape::GpuSlice => format!("export CUDA_VISIBLE_DEVICES={}\n", uuids.join(",")),
            _ => String::new(),
        }
    }

    /// The device files of those GPUs that have one.
    pub(crate) fn device_files(&self, devices: &Devices, gpus: &[GpuRef]) -> Vec<PathBuf> {
        gpus.iter().filter_map(|gpu| devices.card(self.minor_number(&gpu.uuid)?)).collect()
    }

    fn minor_number(&self, uuid: &str) -> Option<u32> {
        match self {
            Self::Nvidia(nvidia) => nvidia.minor_number(uuid),
            Self::Pretended(gpus) => gpus.iter().find(|gpu| gpu.uuid == uuid).map(|gpu| gpu.index),
            Self::None(_) => None,
        }
    }

    pub(crate) fn processes_on(&self, gpus: &[GpuRef]) -> u32 {
        match self {
            Self::Nvidia(nvidia) => gpus.iter().map(|gpu| nvidia.processes_on(&gpu.uuid)).sum(),
            Self::Pretended(_) | Self::None(_) => 0,
        }
    }
}

fn pretended(config: &Config, index: u32) -> Gpu {
    let host = super::machine::hostname();
    let hash = sha256_hex(format!("{host} pretended {index}").as_bytes());
    Gpu {
        index,
        uuid: format!("GPU-{}-{}-{}-{}-{}", &hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..32]),
        pci: format!("00000000:{:02x}:00.0", index + 16),
        model: config.simulated_model.clone(),
        memory_bytes: PRETENDED_MEMORY,
        numa: None,
        fabric: None,
        nvme: Vec::new(),
        driver_version: None,
        ecc: None,
        mig: None,
    }
}
