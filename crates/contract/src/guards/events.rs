//! Events: subjects and payloads.

use serde_json::{Value, json};

use super::{answer, assert_unique, is_dotted};
use crate::{Event, EventInfo, Word, walk::walk};

fn events() -> Vec<(EventInfo, Value)> {
    let mut all = Vec::new();
    macro_rules! collect {
        ($($event:path),* $(,)?) => { $(all.push((<$event>::INFO, answer::<$event>()));)* };
    }
    crate::for_each_event!(collect);
    all
}

#[test]
fn an_event_has_a_subject_of_its_own() {
    assert_unique(events().iter().map(|(info, _)| info.subject));
    for (info, _) in events() {
        assert!(is_dotted(info.subject), "{}", info.subject);
    }
}

#[test]
fn an_event_contains_no_secret_and_closes_no_set_of_words() {
    for (info, schema) in events() {
        walk(&schema, "#", &mut |place, object| {
            assert_ne!(object.get("format"), Some(&json!("password")), "{} {place}", info.subject);
            let words = object.get("enum").filter(|it| **it != json!([null]));
            assert!(words.is_none(), "{} {place}: wrap the words in Open", info.subject);
        });
    }
}

#[test]
fn event_is_read_by_staff_with_a_permission_of_the_platform_to_read() {
    for (info, _) in events() {
        let name = info.staff.as_str();
        assert!(info.staff.is_platform() && name.ends_with(":read"), "{}: `{name}`", info.subject);
    }
}

#[test]
fn an_event_says_what_happened() {
    for (info, _) in events() {
        let summary = crate::wording::summary(info.about);
        assert!(summary.ends_with('.'), "{}: `{summary}`", info.subject);
    }
}
