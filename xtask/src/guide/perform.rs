//! The command: copies the tree, applies the blocks in order, checks the result.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::blocks::{Block, Step};
use super::{edits, touched};
use crate::tidy;

/// The copy and what cargo builds of it stay in one place, so that the next guide
/// compiles only what it changes.
const COPY: &str = "target/guides/tree";
const BUILD: &str = "build";

/// Performs the guide of this path and prints what it touched.
pub fn run(root: &Path, guide: &str) -> Result<(), String> {
    let start = Instant::now();
    let blocks = super::chain(guide, &|path| std::fs::read_to_string(root.join(path)).ok())?;
    if blocks.is_empty() {
        return Err(format!("{guide} marks no block for performing; CONTRIBUTING.md says how"));
    }
    let copy = root.join(COPY);
    copy_tree(root, &copy)?;
    let crates = perform(&blocks, &copy)?;
    tidy::judge_tree(&copy)?;
    shell(&format!("cargo fmt --all --check && cargo check --quiet --tests{crates}"), &copy)?;
    touched::print(&copy)?;
    println!("{guide}: {} blocks performed in {} s", blocks.len(), start.elapsed().as_secs());
    Ok(())
}

/// Makes the copy what is under version control here, and commits it, so that the change
/// can be told. Only what differs is written: cargo knows by the time of a file whether it
/// has to be built again, also where a guide before had changed it.
fn copy_tree(root: &Path, copy: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot copy the tree to {}: {error}", copy.display());
    let wanted = tidy::paths(root)?;
    std::fs::create_dir_all(copy).map_err(failed)?;
    // A repository of its own, or git would list that of the tree around it.
    git(copy, &["init", "--quiet"])?;
    for path in tidy::paths(copy)?.iter().filter(|it| !wanted.contains(it)) {
        std::fs::remove_file(copy.join(path)).map_err(failed)?;
    }
    for path in &wanted {
        copy_file(&root.join(path), &copy.join(path)).map_err(failed)?;
    }
    git(copy, &["add", "--all"])?;
    let author = ["-c", "user.name=guide", "-c", "user.email=guide@invalid"];
    git(copy, &[&author[..], &["commit", "--quiet", "--allow-empty", "--message", "before the guide"]].concat())?;
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    let text = std::fs::read(from)?;
    if std::fs::read(to).is_ok_and(|it| it == text) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::copy(from, to)?;
    Ok(())
}

/// Applies the blocks and runs those that are commands. Answers the crates that changed,
/// as cargo wants them named.
fn perform(blocks: &[(String, Block)], copy: &Path) -> Result<String, String> {
    let files = tidy::tracked(copy)?;
    let mut tree: BTreeMap<String, String> = files.into_iter().map(|file| (file.path, file.text)).collect();
    let mut crates = BTreeSet::new();
    for (guide, block) in blocks {
        if let Some(path) = edits::apply(block, guide, &mut tree)? {
            let target = copy.join(&path);
            let written = std::fs::create_dir_all(target.parent().unwrap_or(copy))
                .and_then(|()| std::fs::write(&target, &tree[&path]));
            written.map_err(|error| format!("{guide}:{}: cannot write {path}: {error}", block.line))?;
            crates.extend(path.strip_prefix("crates/").and_then(|it| it.split('/').next()).map(str::to_owned));
        }
        if block.step == Step::Run {
            println!("{guide}:{}: {}", block.line, block.text.trim_end());
            shell(&block.text, copy).map_err(|error| format!("{guide}:{}: {error}", block.line))?;
        }
    }
    Ok(crates.iter().map(|name| format!(" -p {name}")).collect())
}

fn shell(script: &str, copy: &Path) -> Result<(), String> {
    let build = copy.with_file_name(BUILD);
    let status = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", build)
        // Cargo sets it for us and would tell the copy's own xtask to work on our tree.
        .env_remove("CARGO_MANIFEST_DIR")
        .status()
        .map_err(|error| format!("cannot start bash: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed in {}", script.trim_end(), copy.display())) }
}

/// What git prints in a folder.
pub fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").current_dir(folder).args(arguments).output();
    let output = output.map_err(|error| format!("cannot start git: {error}; install git"))?;
    if !output.status.success() {
        return Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_is_made_again_without_what_a_guide_left_and_keeps_the_times_of_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let (root, copy) = (folder.path().join("root"), folder.path().join("copy"));
        std::fs::create_dir_all(root.join("src")).unwrap();
        for path in ["src/a.rs", "src/b.rs"] {
            std::fs::write(root.join(path), path).unwrap();
        }
        git(&root, &["init", "--quiet"]).unwrap();
        copy_tree(&root, &copy).unwrap();
        let time = |path: &str| copy.join(path).metadata().unwrap().modified().unwrap();
        let (first, long_ago) = (time("src/a.rs"), std::time::SystemTime::UNIX_EPOCH);
        // What a guide leaves: a file that is changed, with an old time, and another that is new.
        std::fs::write(copy.join("src/b.rs"), "changed").unwrap();
        std::fs::File::options().write(true).open(copy.join("src/b.rs")).unwrap().set_modified(long_ago).unwrap();
        std::fs::write(copy.join("src/c.rs"), "new").unwrap();
        copy_tree(&root, &copy).unwrap();
        assert_eq!(tidy::paths(&copy).unwrap(), ["src/a.rs", "src/b.rs"]);
        assert_eq!(std::fs::read_to_string(copy.join("src/b.rs")).unwrap(), "src/b.rs");
        assert!(time("src/a.rs") == first && time("src/b.rs") > long_ago);
    }
}
