//! The trace that a caller started.

use std::fmt;

/// `traceparent` of version 00: trace id, parent span id, flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    pub trace_id: u128,
    pub parent_id: u64,
    pub sampled: bool,
}

impl TraceParent {
    pub fn parse(text: &str) -> Option<TraceParent> {
        let mut parts = text.split('-');
        let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let plain =
            |text: &str, length| text.len() == length && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
        if !plain(version, 2) || version == "ff" || !plain(trace, 32) || !plain(parent, 16) || !plain(flags, 2) {
            return None;
        }
        let trace_id = u128::from_str_radix(trace, 16).ok()?;
        let parent_id = u64::from_str_radix(parent, 16).ok()?;
        let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        (trace_id != 0 && parent_id != 0).then_some(TraceParent { trace_id, parent_id, sampled })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.parent_id, u8::from(self.sampled))
    }
}
