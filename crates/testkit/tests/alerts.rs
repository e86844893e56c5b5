//! Alert rules watch metrics that exist and lead to pages that explain them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn words(text: &str) -> BTreeSet<&str> {
    let parts = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    parts.filter(|it| it.starts_with("gpuaas_")).collect()
}

fn sources(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|it| it == "rs") {
            into.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_alert_watches_a_metric_that_is_measured() {
    let mut code = String::new();
    sources(&root().join("crates/kernel/src"), &mut code);
    sources(&root().join("crates/control/src"), &mut code);
    let rules = fs::read_to_string(root().join("deploy/alerts.yml")).unwrap();
    let watched: Vec<&str> = rules.lines().filter(|it| it.contains("expr:")).flat_map(words).collect();
    assert!(watched.len() >= 8, "{watched:?}");
    for metric in watched {
        assert!(code.contains(&format!("gauge!(\"{metric}\"")), "nothing measures {metric}");
    }
}

#[test]
fn every_alert_has_a_page_that_names_it() {
    let rules = fs::read_to_string(root().join("deploy/alerts.yml")).unwrap();
    let alerts: Vec<&str> = rules.split("- alert: ").skip(1).collect();
    assert!(alerts.len() >= 8);
    for alert in alerts {
        let name = alert.lines().next().unwrap().trim();
        let page = alert.lines().find_map(|it| it.trim().strip_prefix("runbook: ")).expect("an alert names its page");
        let text = fs::read_to_string(root().join(page)).unwrap_or_else(|_| panic!("{page} is missing"));
        assert!(text.contains(&format!("`{name}`")), "{page} does not mention {name}");
        for part in ["**What it means.**", "**How to look.**", "**What to do.**"] {
            assert!(text.contains(part), "{page} lacks {part}");
        }
    }
}
