//! What the driver notices about its GPUs: XID and ECC events, and GPUs that stop
//! or start to answer.

use super::read;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::event::EventData;
use nvml_wrapper::{EventSet, Nvml};
use protocol::limits::MAX_HEALTH_PER_POLL;
use protocol::{HealthEvent, HealthKind};
use std::collections::HashMap;

/// XIDs after which a GPU must not get new work before it was reset or replaced:
/// memory, link, bus and firmware. Others come from the programs that run on it.
const FATAL_XIDS: &[u64] = &[48, 62, 64, 74, 79, 95, 119, 120, 136, 140, 143, 154];

pub fn is_fatal_xid(code: u64) -> bool {
    FATAL_XIDS.contains(&code)
}

struct GpuHealth {
    index: u32,
    is_lost: bool,
    uncorrected: u64,
}

pub(super) struct Watch {
    events: Option<EventSet<'static>>,
    seen: HashMap<String, GpuHealth>,
}

impl Watch {
    pub fn new(library: &'static Nvml) -> Self {
        let mut seen = HashMap::new();
        let mut events = library.create_event_set().ok();
        for index in 0..library.device_count().unwrap_or(0) {
            let Ok(device) = library.device_by_index(index) else {
                continue;
            };
            if let Ok(uuid) = device.uuid() {
                let uncorrected = read::uncorrected(&device).unwrap_or(0);
                seen.insert(uuid, GpuHealth { index, is_lost: false, uncorrected });
            }
            let wanted = EventTypes::CRITICAL_XID_ERROR | EventTypes::DOUBLE_BIT_ECC_ERROR;
            let wanted = device.supported_event_types().unwrap_or(EventTypes::empty()) & wanted;
            // A set that could not take a device is gone with the attempt.
            events = events
                .and_then(|set| if wanted.is_empty() { Some(set) } else { device.register_events(wanted, set).ok() });
        }
        Self { events, seen }
    }

    /// Everything since the last look; never waits.
    pub fn look(&mut self, library: &'static Nvml) -> Vec<HealthEvent> {
        let mut found = Vec::new();
        if let Some(events) = &self.events {
            while found.len() < MAX_HEALTH_PER_POLL
                && let Ok(event) = events.wait(0)
            {
                found.extend(told(&event));
            }
        }
        for (uuid, seen) in &mut self.seen {
            found.extend(seen.compare(library, uuid));
        }
        found
    }
}

impl GpuHealth {
    fn compare(&mut self, library: &'static Nvml, uuid: &str) -> Option<HealthEvent> {
        let event =
            |kind, detail: String, fatal| HealthEvent { gpu: Some(uuid.into()), kind, code: None, detail, fatal };
        let device = match library.device_by_uuid(uuid) {
            Ok(device) => device,
            Err(error) if self.is_lost || !is_loss(&error) => return None,
            Err(error) => {
                self.is_lost = true;
                let detail = format!("GPU {} does not respond: {error}", self.index);
                return Some(event(HealthKind::GpuLost, detail, true));
            }
        };
        if std::mem::take(&mut self.is_lost) {
            return Some(event(HealthKind::Recovered, format!("GPU {} responds again", self.index), false));
        }
        let uncorrected = read::uncorrected(&device).unwrap_or(self.uncorrected);
        let before = std::mem::replace(&mut self.uncorrected, uncorrected);
        let detail = || format!("{} uncorrected memory errors since the driver was loaded", uncorrected);
        (uncorrected > before).then(|| event(HealthKind::Ecc, detail(), true))
    }
}

fn is_loss(error: &NvmlError) -> bool {
    matches!(error, NvmlError::GpuLost | NvmlError::NotFound | NvmlError::Unknown | NvmlError::InsufficientPower)
}

fn told(event: &EventData<'static>) -> Option<HealthEvent> {
    let gpu = event.device.uuid().ok();
    if event.event_type.contains(EventTypes::CRITICAL_XID_ERROR) {
        let code = match event.event_data {
            Some(XidError::Value(code)) => Some(code),
            _ => None,
        };
        let fatal = code.is_some_and(is_fatal_xid);
        let detail = code.map_or("XID with an unknown number".to_owned(), |code| format!("XID {code}"));
        let code = code.and_then(|code| i64::try_from(code).ok());
        return Some(HealthEvent { gpu, kind: HealthKind::Xid, code, detail, fatal });
    }
    let is_ecc = event.event_type.contains(EventTypes::DOUBLE_BIT_ECC_ERROR);
    let detail = "uncorrectable memory error".to_owned();
    is_ecc.then_some(HealthEvent { gpu, kind: HealthKind::Ecc, code: None, detail, fatal: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_own_faults_do_not_condemn_a_gpu() {
        assert!([13, 31, 43, 45].iter().all(|code| !is_fatal_xid(*code)));
        assert!([48, 79, 95].iter().all(|code| is_fatal_xid(*code)));
    }
}
