//! NVIDIA GPUs through the driver's own library, loaded when the agent runs. A host
//! without it has no such GPUs, which is no error.

mod health;
mod read;
mod topology;

pub use health::is_fatal_xid;

use nvml_wrapper::{Device, Nvml};
use protocol::{Gpu, GpuRef, GpuSample, HealthEvent};
use std::ffi::OsStr;
use std::sync::{Mutex, OnceLock};

/// The library stays loaded for the life of the process, as its events need it to.
static LIBRARY: OnceLock<Result<Nvml, String>> = OnceLock::new();

pub struct Nvidia {
    library: &'static Nvml,
    watch: Mutex<health::Watch>,
}

impl Nvidia {
    /// The driver, or why there is none.
    pub fn load() -> Result<Self, String> {
        let loaded = LIBRARY.get_or_init(|| {
            // Hosts without the development files have only the versioned name.
            let names = ["libnvidia-ml.so.1", "libnvidia-ml.so"];
            let mut last = String::new();
            for name in names {
                match Nvml::builder().lib_path(OsStr::new(name)).init() {
                    Ok(nvml) => return Ok(nvml),
                    Err(error) => last = error.to_string(),
                }
            }
            Err(last)
        });
        let library = loaded.as_ref().map_err(Clone::clone)?;
        Ok(Self { library, watch: Mutex::new(health::Watch::new(library)) })
    }

    pub fn driver_version(&self) -> Option<String> {
        self.library.sys_driver_version().ok()
    }

    fn devices(&self) -> impl Iterator<Item = Device<'static>> {
        let library = self.library;
        let count = library.device_count().unwrap_or(0);
        (0..count).filter_map(move |index| library.device_by_index(index).ok())
    }

    pub fn list(&self) -> Vec<Gpu> {
        let version = self.driver_version();
        self.devices().filter_map(|device| read::gpu(&device, version.clone())).collect()
    }

    pub fn sample(&self) -> Vec<GpuSample> {
        self.devices().filter_map(|device| read::sample(&device)).collect()
    }

    pub fn health(&self) -> Vec<HealthEvent> {
        crate::locked(&self.watch).look(self.library)
    }

    /// Whether the GPU is there, at its place, and answers; or why not.
    pub fn test(&self, wanted: &GpuRef) -> Result<(), String> {
        let device = self.library.device_by_uuid(wanted.uuid.as_str()).map_err(|error| error.to_string())?;
        read::test(&device)
    }

    /// How many processes use the GPU.
    pub fn processes_on(&self, uuid: &str) -> u32 {
        let Ok(device) = self.library.device_by_uuid(uuid) else {
            return 0;
        };
        let compute = device.running_compute_processes().map_or(0, |list| list.len());
        let graphics = device.running_graphics_processes().map_or(0, |list| list.len());
        (compute + graphics).try_into().unwrap_or(u32::MAX)
    }

    /// The number in the name of the GPU's device file.
    pub fn minor_number(&self, uuid: &str) -> Option<u32> {
        self.library.device_by_uuid(uuid).ok()?.minor_number().ok()
    }
}
