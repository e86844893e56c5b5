//! The name of one request in logs, problems, events and audit entries, and
//! the W3C trace that it belongs to.

use std::sync::Arc;

use http::HeaderMap;
use uuid::Uuid;

use crate::telemetry::TraceParent;

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

pub fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    TraceParent::parse(headers.get("traceparent")?.to_str().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn a_sane_correlation_id_is_passed_on_and_another_replaced() {
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
