//! The GPUs of a host together with their device files: which exist, what runs on
//! them, and who may open them. Each workload says which groups hold which GPUs.

use super::devices::{Devices, Holders, openers};
use super::gpus::GpuSource;
use crate::config::Config;
use crate::locked;
use crate::steps::{Failure, Result};
use protocol::GpuRef;
use std::path::PathBuf;
use std::sync::Mutex;

/// The group of those who hold a GPU.
pub(crate) const HOLDERS: &str = "gpuaas-gpus";
const ORDINARY: u32 = 1000; // bound: ids below it are the host's own services

/// GPUs, and the group that may open them.
pub(crate) struct DeviceGroup {
    pub gpus: Vec<GpuRef>,
    pub group: u32,
}

type Source = Box<dyn Fn() -> Result<Vec<DeviceGroup>> + Send + Sync>;

pub(crate) struct Cards {
    pub gpus: GpuSource,
    devices: Devices,
    sources: Mutex<Vec<Source>>,
}

impl Cards {
    pub fn find(config: &Config) -> Self {
        let devices = Devices::below(&config.device_root);
        Self { gpus: GpuSource::find(config), devices, sources: Mutex::default() }
    }

    /// From now on the GPUs that the source names are open to their groups.
    pub fn add_holders(&self, source: impl Fn() -> Result<Vec<DeviceGroup>> + Send + Sync + 'static) {
        locked(&self.sources).push(Box::new(source));
    }

    /// What a workload with these GPUs may open, for a device policy.
    pub fn allowed(&self, gpus: &[GpuRef]) -> Vec<PathBuf> {
        self.devices.allowed(&self.gpus.device_files(&self.devices, gpus))
    }

    /// Processes on the GPUs, as their driver counts them, and those of ordinary
    /// users that merely have one open.
    pub fn processes_on(&self, gpus: &[GpuRef]) -> u32 {
        let files = self.gpus.device_files(&self.devices, gpus);
        let open: usize = files.iter().map(|path| openers(path, ORDINARY).len()).sum();
        self.gpus.processes_on(gpus).max(open.try_into().unwrap_or(u32::MAX))
    }

    /// The same for every GPU of the host.
    pub fn processes_on_all(&self) -> u32 {
        let all = self.gpus.list().into_iter().map(|gpu| GpuRef { uuid: gpu.uuid, pci: gpu.pci });
        self.processes_on(&all.collect::<Vec<_>>())
    }

    /// Device files are open to those who hold their GPU and to nobody else.
    pub fn enforce(&self) -> Result<usize> {
        let failed = |error: std::io::Error| Failure::passing("gpu_access", format!("device files: {error}"));
        self.devices.enforce(&self.holders()?, holders_group()).map_err(failed)
    }

    /// Programs of the driver may reset what they find; see the doctor.
    pub fn enforce_and_log(&self) {
        match self.enforce() {
            Ok(0) => {}
            Ok(changed) => tracing::warn!(
                changed,
                "device files of GPUs were open to other users and were closed again; set NVreg_ModifyDeviceFiles=0"
            ),
            Err(failure) => tracing::error!(detail = failure.detail, "device files of GPUs could not be closed"),
        }
    }

    fn holders(&self) -> Result<Holders> {
        let mut holders = Holders::new();
        for source in locked(&self.sources).iter() {
            for held in source()? {
                let files = self.gpus.device_files(&self.devices, &held.gpus);
                holders.extend(files.into_iter().map(|path| (path, held.group)));
            }
        }
        Ok(holders)
    }
}

/// The number of the group of those who hold a GPU, once there is one.
fn holders_group() -> Option<u32> {
    nix::unistd::Group::from_name(HOLDERS).ok().flatten().map(|group| group.gid.as_raw())
}
