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

/// Everything that counts and measures.
fn code() -> String {
    let mut code = String::new();
    let areas = ["platform", "people", "fleet", "money", "compute", "access", "gpuaasd"];
    for krate in ["kernel", "listen", "gateway"].into_iter().chain(areas) {
        sources(&root().join("crates").join(krate).join("src"), &mut code);
    }
    code
}

/// Whether it is counted or measured on the spot, or a gauge that a resource registers.
fn is_measured(code: &str, metric: &str) -> bool {
    ["gauge!", "counter!", "histogram!", "registry.gauge"].iter().any(|it| code.contains(&format!("{it}(\"{metric}\"")))
}

#[test]
fn every_alert_watches_a_metric_that_is_measured() {
    let code = code();
    let rules = fs::read_to_string(root().join("deploy/alerts.yml")).unwrap();
    let watched: Vec<&str> = rules.lines().filter(|it| it.contains("expr:")).flat_map(words).collect();
    assert!(watched.len() >= 8, "{watched:?}");
    for metric in watched {
        assert!(is_measured(&code, metric), "nothing measures {metric}");
    }
}

#[test]
fn every_panel_shows_a_metric_that_is_measured() {
    let code = code();
    for entry in fs::read_dir(root().join("deploy/grafana")).unwrap().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap();
        let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        assert!(panels.len() >= 4, "{:?}", entry.path());
        let targets = panels.iter().flat_map(|it| it["targets"].as_array().unwrap());
        let mut shown = 0;
        for metric in targets.flat_map(|it| words(it["expr"].as_str().unwrap())) {
            let name = metric.trim_end_matches("_bucket");
            assert!(is_measured(&code, name), "nothing measures {metric}");
            shown += 1;
        }
        assert!(shown >= panels.len());
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
        for part in ["**What it means.**", "**How to diagnose.**", "**What to do.**"] {
            assert!(text.contains(part), "{page} lacks {part}");
        }
    }
}
