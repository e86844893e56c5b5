//! Compares what the tests covered with the floors in `coverage.toml`.

use serde_json::Value;
use std::path::Path;

/// Reads an `llvm-cov export` summary and fails when a floor is not reached.
pub fn run(root: &Path, report: &Path) -> Result<(), String> {
    let floors = read(&root.join("coverage.toml"))?;
    let report = read(report)?;
    let lines = judge(&floors, &report, &root.to_string_lossy())?;
    let (mut text, mut missed) = (String::new(), false);
    for line in lines {
        missed |= line.missed;
        text += &line.text;
        text.push('\n');
    }
    if missed {
        return Err(format!(
            "{text}coverage is below a floor: test the uncovered lines, or argue for another floor in coverage.toml"
        ));
    }
    print!("{text}");
    Ok(())
}

#[derive(Debug, PartialEq)]
struct Verdict {
    text: String,
    missed: bool,
}

fn judge(floors: &str, report: &str, root: &str) -> Result<Vec<Verdict>, String> {
    let floors: toml::Table = floors.parse().map_err(|error| format!("coverage.toml: {error}"))?;
    let report: Value = serde_json::from_str(report).map_err(|error| format!("coverage report: {error}"))?;
    let Some(floors) = floors.get("floor").and_then(toml::Value::as_array) else {
        return Err("coverage.toml names no [[floor]]".to_owned());
    };
    floors.iter().map(|floor| one(floor, &report, root)).collect()
}

fn one(floor: &toml::Value, report: &Value, root: &str) -> Result<Verdict, String> {
    let text = |key: &str| floor.get(key).and_then(toml::Value::as_str);
    let percent = floor.get("lines").and_then(toml::Value::as_integer);
    let (Some(name), Some(path), Some(wanted)) = (text("name"), text("path"), percent) else {
        return Err("coverage.toml: every [[floor]] has name, path and lines (percent)".to_owned());
    };
    let prefix = format!("{}/{path}", root.trim_end_matches('/'));
    let (mut count, mut covered) = (0, 0);
    for file in report["data"][0]["files"].as_array().into_iter().flatten() {
        if file["filename"].as_str().is_some_and(|f| f.starts_with(&prefix)) {
            let lines = &file["summary"]["lines"];
            count += lines["count"].as_u64().unwrap_or(0);
            covered += lines["covered"].as_u64().unwrap_or(0);
        }
    }
    // A path that matches nothing would otherwise pass for ever after a rename.
    let reached = (covered * 100).checked_div(count);
    Ok(Verdict {
        text: match reached {
            Some(reached) => {
                format!("{name}: {reached} % of {count} lines in {path} (floor {wanted} %)")
            }
            None => format!("{name}: no lines found in {path}; correct the path"),
        },
        missed: reached.is_none_or(|reached| i64::try_from(reached).is_ok_and(|r| r < wanted)),
    })
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"data":[{"files":[
        {"filename":"/repo/crates/kernel/src/a.rs","summary":{"lines":{"count":60,"covered":60}}},
        {"filename":"/repo/crates/kernel/src/b.rs","summary":{"lines":{"count":40,"covered":19}}},
        {"filename":"/repo/crates/other/src/b.rs","summary":{"lines":{"count":900,"covered":0}}}
    ]}]}"#;

    fn missed(path: &str, lines: u8) -> bool {
        let floors = format!("[[floor]]\nname = \"kernel\"\npath = \"{path}\"\nlines = {lines}\n");
        judge(&floors, REPORT, "/repo").unwrap()[0].missed
    }

    #[test]
    fn a_floor_counts_only_its_own_files() {
        assert!(!missed("crates/kernel/src/", 79));
        assert!(missed("crates/kernel/src/", 80));
    }

    #[test]
    fn a_path_that_matches_nothing_fails() {
        assert!(missed("crates/renamed/src/", 1));
    }

    #[test]
    fn a_floor_without_a_percentage_is_refused() {
        assert!(judge("[[floor]]\nname = \"kernel\"", REPORT, "/repo").is_err());
    }
}
