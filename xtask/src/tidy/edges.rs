//! Which of our crates may depend on which: the arrows of ARCHITECTURE.md.

use super::{File, Problem};

/// What every area stands on.
const BASE: &[&str] = &["contract", "kernel", "listen", "protocol"];
/// What the program connects: every area, and the gateway.
const CONTROL_PLANE: &[&str] = &[
    "contract", "kernel", "listen", "protocol", "planner", "trust", "gateway", "platform", "people", "fleet", "money",
    "compute", "access",
];
const EVERYTHING: &[&str] = &[
    "contract", "kernel", "listen", "protocol", "trust", "gateway", "platform", "people", "fleet", "money", "compute",
    "access", "gpuaasd", "client", "agent",
];

/// A crate and what it may use. Everybody's tests may use `testkit`.
const ALLOWED: &[(&str, &[&str])] = &[
    // One word list that contract, planner and protocol agree on, so that nobody maps shapes by hand.
    ("shapes", &[]),
    ("contract", &["shapes"]),
    ("kernel", &[]),
    ("protocol", &["shapes"]),
    ("planner", &["shapes"]),
    ("trust", &["protocol"]),
    ("listen", &[]),
    ("gateway", &["listen", "protocol", "trust"]),
    ("client", &["contract", "protocol"]),
    ("cli", &["client", "contract", "protocol"]),
    ("platform", BASE),
    ("people", &["contract", "kernel", "listen", "protocol", "platform"]),
    ("fleet", &["contract", "kernel", "listen", "protocol", "platform", "people"]),
    ("money", &["contract", "kernel", "listen", "protocol", "platform", "people", "fleet"]),
    ("compute", &["contract", "kernel", "listen", "protocol", "planner", "platform", "people", "fleet", "money"]),
    ("access", &["contract", "kernel", "listen", "protocol", "platform", "people", "fleet", "money", "compute"]),
    ("gpuaasd", CONTROL_PLANE),
    ("agent", &["protocol", "trust"]),
    ("testkit", EVERYTHING),
    ("xtask", &["contract", "kernel", "protocol", "gateway", "client", "platform", "gpuaasd", "testkit"]),
];

pub fn check(files: &[File]) -> Vec<Problem> {
    let manifests: Vec<(&str, &File)> = files.iter().filter_map(|file| Some((crate_of(&file.path)?, file))).collect();
    let ours: Vec<&str> = manifests.iter().map(|(name, _)| *name).collect();
    let mut problems = Vec::new();
    for (krate, file) in &manifests {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| name == krate) else {
            let advice = format!("{krate} has no row in xtask/src/tidy/edges.rs; add what it may use");
            problems.push(Problem::new(file, 1, advice));
            continue;
        };
        match file.text.parse::<toml::Table>() {
            Ok(manifest) => problems.extend(broken(file, krate, &manifest, allowed, &ours)),
            Err(error) => problems.push(Problem::new(file, 1, format!("cannot be read: {error}"))),
        }
    }
    problems
}

pub fn crate_of(path: &str) -> Option<&str> {
    if path == "xtask/Cargo.toml" {
        return Some("xtask");
    }
    let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    (!name.contains('/')).then_some(name)
}

/// What a crate uses of ours, what more it may, and what it may not.
pub struct CrateEdges {
    pub krate: String,
    pub used: Vec<String>,
    pub unused: Vec<String>,
    pub forbidden: Vec<String>,
}

/// The edges between our crates, tests' aside, against the table.
pub fn crate_edges(files: &[File]) -> Vec<CrateEdges> {
    let manifests: Vec<(&str, &File)> = files.iter().filter_map(|file| Some((crate_of(&file.path)?, file))).collect();
    let is_ours = |name: &str| manifests.iter().any(|(krate, _)| *krate == name);
    let row = |krate: &str| ALLOWED.iter().find(|(name, _)| *name == krate).map_or(&[][..], |(_, allowed)| *allowed);
    let edges = |(krate, file): &(&str, &File)| {
        let manifest = file.text.parse::<toml::Table>().unwrap_or_default();
        let mut used: Vec<String> = dependencies(&manifest)
            .into_iter()
            .filter(|(kind, _, package)| kind != "dev-dependencies" && is_ours(package))
            .map(|(_, _, package)| package)
            .collect();
        used.sort_unstable();
        used.dedup();
        let allowed = row(krate);
        let unused = allowed.iter().map(|it| (*it).to_owned()).filter(|it| !used.contains(it)).collect();
        let forbidden = used.iter().filter(|it| !allowed.contains(&it.as_str())).cloned().collect();
        CrateEdges { krate: (*krate).to_owned(), used, unused, forbidden }
    };
    manifests.iter().map(edges).collect()
}

fn broken(file: &File, krate: &str, manifest: &toml::Table, allowed: &[&str], ours: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (kind, key, package) in dependencies(manifest) {
        let for_tests = kind == "dev-dependencies" && package == "testkit";
        let is_ours = ours.contains(&package.as_str());
        if is_ours && package != krate && !allowed.contains(&package.as_str()) && !for_tests {
            let advice = format!(
                "{krate} may not use {package}; it may use {}, so move the shared part there or pass it in",
                if allowed.is_empty() { "none of ours".to_owned() } else { allowed.join(", ") }
            );
            problems.push(Problem::new(file, line_of(&file.text, &key), advice));
        }
    }
    problems
}

/// Every dependency as (table, key, package name), platform tables included.
fn dependencies(manifest: &toml::Table) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (name, value) in manifest {
        let Some(table) = value.as_table() else {
            continue;
        };
        if name == "target" {
            let platforms = table.values().filter_map(toml::Value::as_table);
            found.extend(platforms.flat_map(dependencies));
        } else if name.ends_with("dependencies") {
            for (key, wanted) in table {
                let package = wanted.get("package").and_then(toml::Value::as_str);
                found.push((name.clone(), key.clone(), package.unwrap_or(key).to_owned()));
            }
        }
    }
    found
}

fn line_of(manifest: &str, key: &str) -> usize {
    let names_it = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
            || line.trim_end().ends_with(&format!("dependencies.{key}]"))
    };
    manifest.lines().position(names_it).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(krate: &str, dependencies: &str) -> Vec<File> {
        let mut files: Vec<File> = ["contract", "kernel", "people", "money", "client", "testkit"]
            .iter()
            .filter(|name| **name != krate)
            .map(|name| File::new(format!("crates/{name}/Cargo.toml"), ""))
            .collect();
        files.push(File::new(format!("crates/{krate}/Cargo.toml"), dependencies));
        files
    }

    #[test]
    fn a_forbidden_edge_is_found_at_its_line() {
        let problems = check(&workspace("cli", "[dependencies]\nmoney.workspace = true\n"));
        assert_eq!(problems.len(), 1);
        assert_eq!((problems[0].path.as_str(), problems[0].line), ("crates/cli/Cargo.toml", 2));
    }

    #[test]
    fn edge_from_a_lower_area_to_a_higher_one_is_found() {
        assert_eq!(check(&workspace("people", "[dependencies]\nmoney.workspace = true\n")).len(), 1);
        assert_eq!(check(&workspace("money", "[dependencies]\npeople.workspace = true\n")), []);
    }

    #[test]
    fn a_renamed_or_platform_dependency_does_not_hide() {
        let renamed = "[dependencies]\nplane = { path = \"../money\", package = \"money\" }\n";
        assert_eq!(check(&workspace("client", renamed)).len(), 1);
        let platform = "[target.'cfg(unix)'.dependencies]\nkernel.workspace = true\n";
        assert_eq!(check(&workspace("contract", platform)).len(), 1);
    }

    #[test]
    fn allowed_edges_and_other_crates_pass() {
        let clean = "[dependencies]\ncontract.workspace = true\nserde.workspace = true\n";
        assert_eq!(check(&workspace("client", clean)), []);
        let tests = "[dev-dependencies]\ntestkit.workspace = true\n";
        assert_eq!(check(&workspace("kernel", tests)), []);
    }

    #[test]
    fn a_crate_without_a_row_is_asked_for_one() {
        assert_eq!(check(&workspace("helpers", "")).len(), 1);
    }
}
