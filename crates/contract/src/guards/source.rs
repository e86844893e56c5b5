//! What is declared is listed. The list is what mounts, documents and sweeps,
//! so a declaration that is missing from it would be forgotten by all of them.

use std::{collections::BTreeSet, fs, path::Path};

/// The names declared with `macro!` in the crate's sources, whatever stands above them.
fn declared(macro_name: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|it| it != "rs") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        for block in text.split(&format!("\n{macro_name}! {{\n")).skip(1) {
            let declaration = block.lines().find(|it| !it.trim_start().starts_with("///"));
            let (name, _) = declaration.unwrap().split_once('=').unwrap();
            names.insert(name.trim().to_owned());
        }
    }
    names
}

macro_rules! names {
    ($($path:path),* $(,)?) => {
        BTreeSet::from([$(stringify!($path).rsplit("::").next().unwrap().trim().to_owned()),*])
    };
}

#[test]
fn every_endpoint_is_listed() {
    assert_eq!(declared("endpoint"), crate::for_each_endpoint!(names));
}

#[test]
fn every_channel_is_listed() {
    assert_eq!(declared("channel"), crate::for_each_channel!(names));
}

#[test]
fn every_event_is_listed() {
    let mut events = declared("event");
    events.extend(declared("moved_event"));
    assert_eq!(events, crate::for_each_event!(names));
}
