//! Programs of the npm registry that tests run, installed once from their lock file.

use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

/// Puts the files of a tool into a folder of its own below the target folder and
/// installs what its lock file names; the folder. Fast when nothing changed.
pub fn install(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let here = std::env::current_exe().expect("a test knows its own path");
    let target = here.ancestors().nth(3).expect("tests live in target/…/deps");
    let folder = target.join("test-tools").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let lock = std::fs::File::create(folder.with_extension("lock")).unwrap();
    let _alone = Flock::lock(lock, FlockArg::LockExclusive).expect("the lock can be waited for");
    let wanted: String = files.iter().map(|(_, text)| *text).collect();
    let installed = folder.join("installed");
    if std::fs::read_to_string(&installed).is_ok_and(|it| it == wanted) {
        return folder;
    }
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    npm_ci(&folder);
    std::fs::write(installed, wanted).unwrap();
    folder
}

fn npm_ci(folder: &Path) {
    let output = std::process::Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(folder)
        .output()
        .expect("tests need npm: `make test` installs it");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`npm ci` failed; check the registry that npm uses: {said}");
}
