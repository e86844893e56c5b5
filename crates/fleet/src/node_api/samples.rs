//! What hosts measured, kept in memory until it is taken, the newest first in
//! line to stay.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use contract::{Timestamp, id::NodeId};
use jiff::SignedDuration;
use protocol::Sample;

/// A sample, when it was taken by our clock, and of which node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    pub node: NodeId,
    pub at: Timestamp,
    pub sample: Sample,
}

#[derive(Clone, Default)]
pub struct Samples(Arc<Mutex<VecDeque<Measured>>>);

// bound: about 20 MiB; a fleet of 5,000 nodes fills it in 20 s when nobody takes them
const MAX_KEPT: usize = 10_000;

impl Samples {
    pub fn put(&self, node: NodeId, now: Timestamp, samples: Vec<Sample>) {
        if samples.is_empty() {
            return;
        }
        let mut kept = self.0.lock().expect("no code panics while it holds this lock");
        for sample in samples {
            if kept.len() >= MAX_KEPT {
                kept.pop_front();
                metrics::counter!("gpuaas_node_samples_dropped_total").increment(1);
            }
            let at = now - SignedDuration::from_millis(i64::from(sample.at_ms_ago));
            kept.push_back(Measured { node, at, sample });
        }
    }

    /// Puts back what was taken and could not be written, as far as there is room.
    pub fn put_back(&self, taken: Vec<Measured>) {
        let mut kept = self.0.lock().expect("no code panics while it holds this lock");
        let room = MAX_KEPT.saturating_sub(kept.len());
        let lost = taken.len().saturating_sub(room);
        metrics::counter!("gpuaas_node_samples_dropped_total").increment(lost as u64);
        taken.into_iter().skip(lost).rev().for_each(|it| kept.push_front(it));
    }

    /// Everything since the last call, oldest first.
    pub fn take(&self) -> Vec<Measured> {
        std::mem::take(&mut *self.0.lock().expect("no code panics while it holds this lock")).into()
    }
}

#[cfg(test)]
mod tests {
    use protocol::HostSample;

    use super::*;

    #[test]
    fn the_newest_samples_stay_and_are_collected_once() {
        let samples = Samples::default();
        let node = NodeId::generate();
        let now = Timestamp::from_second(1_000).unwrap();
        let one = |cpu_percent| Sample {
            at_ms_ago: 1_500,
            host: HostSample { cpu_percent, memory_used_bytes: 0 },
            gpus: vec![],
        };
        samples.put(node, now, (0..u32::try_from(MAX_KEPT).unwrap() + 1).map(one).collect());
        let taken = samples.take();
        assert_eq!((taken.len(), taken[0].sample.host.cpu_percent), (MAX_KEPT, 1));
        assert_eq!(taken[0].at, Timestamp::from_millisecond(998_500).unwrap());
        assert!(samples.take().is_empty());
        samples.put(node, now, vec![one(7)]);
        samples.put_back(taken);
        let again = samples.take();
        assert_eq!((again.len(), again[0].sample.host.cpu_percent), (MAX_KEPT, 2), "the oldest had no room");
        assert_eq!(again.last().unwrap().sample.host.cpu_percent, 7);
    }
}
