//! One GPU's answers in the words of the protocol. What a GPU does not support is
//! unknown, not wrong.

use super::topology;
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{EccCounter, MemoryError, TemperatureSensor};
use protocol::{Gpu, GpuSample};

pub(super) fn gpu(device: &Device<'_>, driver_version: Option<String>) -> Option<Gpu> {
    let pci = device.pci_info().ok()?.bus_id;
    let place = topology::TreePosition::of(&pci);
    Some(Gpu {
        index: device.index().ok()?,
        uuid: device.uuid().ok()?,
        model: device.name().unwrap_or_else(|_| "unknown".into()),
        memory_bytes: device.memory_info().map_or(0, |memory| memory.total),
        numa: place.numa(),
        fabric: place.closest("/sys/class/infiniband").into_iter().next(),
        nvme: place.closest("/sys/class/nvme"),
        driver_version,
        ecc: device.is_ecc_enabled().ok().map(|mode| mode.currently_enabled),
        mig: device.mig_mode().ok().map(|mode| mode.current == 1),
        pci,
    })
}

pub(super) fn sample(device: &Device<'_>) -> Option<GpuSample> {
    Some(GpuSample {
        uuid: device.uuid().ok()?,
        utilization_percent: device.utilization_rates().map_or(0, |rates| rates.gpu),
        memory_used_bytes: device.memory_info().map_or(0, |memory| memory.used),
        temperature_c: temperature(device).and_then(|degrees| degrees.try_into().ok()).unwrap_or(0),
        power_mw: device.power_usage().unwrap_or(0),
    })
}

fn temperature(device: &Device<'_>) -> Option<u32> {
    device.temperature(TemperatureSensor::Gpu).ok()
}

/// Uncorrected memory errors since the driver was loaded; none where not counted.
pub(super) fn uncorrected(device: &Device<'_>) -> Option<u64> {
    device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile).ok()
}

/// The driver answers for it, and its memory is sound.
pub(super) fn test(device: &Device<'_>) -> Result<(), String> {
    let memory = device.memory_info().map_err(|error| format!("its memory cannot be read: {error}"))?;
    if memory.total == 0 {
        return Err("it has no memory".into());
    }
    temperature(device).ok_or("its sensors cannot be read")?;
    match uncorrected(device) {
        Some(count) if count > 0 => Err(format!("{count} uncorrected memory errors; reset it or reboot the host")),
        _ => Ok(()),
    }
}
