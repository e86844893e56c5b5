//! Payloads: strict in requests, open in answers, secrets where they are sealed.

use serde_json::{Value, json};

use super::endpoints;
use crate::{Idempotency, walk::walk};

/// Where a schema contains something, for the message of a failing rule.
fn places(schema: &Value, matches: impl Fn(&serde_json::Map<String, Value>) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    walk(schema, "#", &mut |place, object| {
        // The keys of this object are names of fields, not keywords.
        if !place.ends_with("/properties") && matches(object) {
            found.push(place.to_owned());
        }
    });
    found
}

#[test]
fn requests_refuse_unknown_fields() {
    for entry in endpoints() {
        for schema in [&entry.query, &entry.body] {
            let open = places(schema, |it| {
                let more = it.get("additionalProperties");
                // Names that callers choose, as tags have, with a rule for their values and a bound.
                let is_map = more.is_some_and(|it| it.is_object()) && it.contains_key("maxProperties");
                it.get("type") == Some(&json!("object")) && more != Some(&json!(false)) && !is_map
            });
            assert!(open.is_empty(), "{}: add deny_unknown_fields at {open:?}", entry.info.operation);
        }
    }
}

/// The server refuses NUL in every text, so a document that promises to take
/// any text is wrong.
#[test]
fn every_text_in_a_body_has_a_rule() {
    for entry in endpoints() {
        let unruled = places(&entry.body, |it| {
            let is_text =
                it.get("type").is_some_and(|kind| *kind == json!("string") || *kind == json!(["string", "null"]));
            let has_form = it.get("format").is_some_and(|form| *form == json!("uuid") || *form == json!("date-time"));
            is_text && !has_form && !it.contains_key("pattern") && !it.contains_key("enum") && !it.contains_key("const")
        });
        assert!(
            unruled.is_empty(),
            "{}: give it a pattern, at least `^[^\\x00]*$`, at {unruled:?}",
            entry.info.operation
        );
    }
}

#[test]
fn answers_accept_words_that_are_new() {
    for entry in endpoints() {
        let closed = places(&entry.response, |it| {
            it.get("enum").is_some_and(|words| *words != json!([null])) || it.contains_key("const")
        });
        assert!(closed.is_empty(), "{}: wrap the words in Open at {closed:?}", entry.info.operation);
    }
}

#[test]
fn words_that_are_chosen_from_occur_in_requests_only() {
    for entry in endpoints() {
        let strict = places(&entry.response, |it| {
            let target = it.get("$ref").and_then(Value::as_str);
            target.is_some_and(|it| it.ends_with("Choice"))
        });
        assert!(strict.is_empty(), "{}: {strict:?}", entry.info.operation);
    }
}

#[test]
fn an_answer_with_a_secret_is_stored_sealed_or_not_at_all() {
    for entry in endpoints() {
        let shows_secret = !places(&entry.response, |it| it.get("format") == Some(&json!("password"))).is_empty();
        let (may, must) = match entry.info.policy.idempotency {
            Idempotency::KeyRequiredSealed => (true, true),
            Idempotency::Exempt { .. } => (true, false),
            Idempotency::Natural | Idempotency::KeyRequired => (false, false),
        };
        assert!(may || !shows_secret, "{} keeps a secret in clear", entry.info.operation);
        assert!(!must || shows_secret, "{} seals an answer without a secret", entry.info.operation);
    }
}

#[test]
fn a_secret_does_not_travel_in_an_address() {
    for entry in endpoints() {
        for schema in [&entry.path, &entry.query] {
            let secrets = places(schema, |it| it.get("format") == Some(&json!("password")));
            assert!(secrets.is_empty(), "{}: {secrets:?}", entry.info.operation);
        }
    }
}

#[test]
fn a_list_takes_a_cursor_and_a_limit_and_nothing_else_does() {
    for entry in endpoints() {
        let takes = |name: &str| entry.query["properties"].get(name).is_some();
        assert_eq!(takes("cursor"), entry.answers_with_page, "{}", entry.info.operation);
        assert!(takes("limit") || !entry.answers_with_page, "{}", entry.info.operation);
    }
}

#[test]
fn a_read_takes_no_body() {
    for entry in endpoints().iter().filter(|it| it.info.verb == crate::Verb::GET) {
        assert!(entry.body["properties"].is_null(), "{}", entry.info.operation);
    }
}
