//! The name of one request in logs, problems, events and audit entries, and
//! the W3C trace that it belongs to.

use std::{fmt, sync::Arc};

use http::HeaderMap;
use uuid::Uuid;

pub const HEADER: &str = "x-correlation-id";

/// Takes the caller's name for the request if it is a sane one.
pub fn correlation_id(headers: &HeaderMap) -> Arc<str> {
    let given = headers.get(HEADER).and_then(|it| it.to_str().ok()).filter(|it| is_sane(it));
    match given {
        Some(text) => text.into(),
        None => Uuid::now_v7().simple().to_string().into(),
    }
}

fn is_sane(text: &str) -> bool {
    (8..=64).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
}

/// `traceparent` of version 00: trace id, parent span id, flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    pub trace_id: u128,
    pub parent_id: u64,
    pub sampled: bool,
}

pub fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    TraceParent::parse(headers.get("traceparent")?.to_str().ok()?)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn a_sane_correlation_id_is_kept_and_another_replaced() {
        assert_eq!(&*correlation_id(&headers(HEADER, "abcd-1234")), "abcd-1234");
        for bad in ["short", "with space 1234", "quote'12345678", &"x".repeat(65)] {
            assert_ne!(&*correlation_id(&headers(HEADER, bad)), bad);
        }
    }

    #[test]
    fn only_a_valid_trace_parent_is_followed() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parsed = trace_parent(&headers("traceparent", good)).unwrap();
        assert_eq!((parsed.parent_id, parsed.sampled), (0xb7ad_6b71_6920_3331, true));
        assert_eq!(parsed.to_string(), good);
        for bad in [
            "",
            "00-0-0-0",
            &good.replace("00-", "ff-"),
            &good.to_uppercase(),
            &good.replace("b7ad6b7169203331", "0000000000000000"),
        ] {
            assert_eq!(trace_parent(&headers("traceparent", bad)), None, "{bad}");
        }
    }
}
