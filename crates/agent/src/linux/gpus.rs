//! A host's GPUs: those that NVML finds, those that its operator pretends, or none.
//! Handing them over is a matter of device files and the user's environment.

use super::keys::set_environment;
use super::users::User;
use crate::config::Config;
use crate::driver::{Failure, Result};
use crate::nvidia::Nvidia;
use protocol::agent_binary::sha256_hex;
use protocol::{Gpu, GpuRef, GpuSample, HealthEvent, SelfTest, Shape};
use std::os::unix::fs::{PermissionsExt, chown};

const PRETENDED_MEMORY: u64 = 16 << 30; // bound: of a pretended GPU
const ONLY_ITS_GROUP: u32 = 0o660;
const EVERYBODY: u32 = 0o666; // what the driver makes by default

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
    pub(super) fn require(&self, wanted: &[GpuRef]) -> Result<()> {
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

    pub(super) fn self_test(&self, wanted: &[GpuRef], is_wanted: bool) -> Result<SelfTest> {
        let count = wanted.len();
        let Self::Nvidia(nvidia) = self else {
            return Ok(SelfTest { passed: true, detail: format!("{count} GPUs, none of them real") });
        };
        if !is_wanted {
            return Ok(SelfTest { passed: true, detail: "not asked for".into() });
        }
        for gpu in wanted {
            let tested = nvidia.test(gpu);
            tested.map_err(|reason| Failure::lasting("self_test", format!("{}: {reason}", gpu.uuid)))?;
        }
        Ok(SelfTest { passed: true, detail: format!("{count} GPUs answer, without uncorrected memory errors") })
    }

    /// A slice sees its own GPUs only; a whole machine sees them all.
    pub(super) async fn assign(&self, user: &User, shape: Shape, gpus: &[GpuRef]) -> Result<()> {
        let uuids: Vec<&str> = gpus.iter().map(|gpu| gpu.uuid.as_str()).collect();
        let text = match shape {
            Shape::GpuSlice => format!("export CUDA_VISIBLE_DEVICES={}\n", uuids.join(",")),
            _ => String::new(),
        };
        set_environment(user, &text).await?;
        if shape == Shape::GpuSlice {
            let mut files = gpus.iter().filter_map(|gpu| self.device_file(gpu));
            let failed = files.find_map(|path| hand(&path, user.gid, ONLY_ITS_GROUP).err());
            if let Some(error) = failed {
                return Err(Failure::passing("gpu_access", error.to_string()));
            }
        }
        Ok(())
    }

    /// Back to how the driver makes device files.
    pub(super) fn free(&self, gpus: &[GpuRef]) {
        for path in gpus.iter().filter_map(|gpu| self.device_file(gpu)) {
            if let Err(error) = hand(&path, 0, EVERYBODY) {
                tracing::warn!(%error, path, "a device file could not be given back");
            }
        }
    }

    fn device_file(&self, gpu: &GpuRef) -> Option<String> {
        match self {
            Self::Nvidia(nvidia) => Some(format!("/dev/nvidia{}", nvidia.minor_number(&gpu.uuid)?)),
            Self::Pretended(_) | Self::None(_) => None,
        }
    }

    pub(super) fn processes_on(&self, gpus: &[GpuRef]) -> u32 {
        match self {
            Self::Nvidia(nvidia) => gpus.iter().map(|gpu| nvidia.processes_on(&gpu.uuid)).sum(),
            Self::Pretended(_) | Self::None(_) => 0,
        }
    }

    pub(super) fn processes_on_all(&self) -> u32 {
        match self {
            Self::Nvidia(nvidia) => nvidia.list().iter().map(|gpu| nvidia.processes_on(&gpu.uuid)).sum(),
            Self::Pretended(_) | Self::None(_) => 0,
        }
    }
}

fn hand(path: &str, group: u32, mode: u32) -> std::io::Result<()> {
    chown(path, Some(0), Some(group))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

fn pretended(config: &Config, index: u32) -> Gpu {
    let host = super::host::hostname();
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
