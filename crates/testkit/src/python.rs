//! Python tools of tests, each installed once per target folder in a virtual
//! environment of its own, from pinned requirements.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use nix::fcntl::{Flock, FlockArg};

/// The folder of a tool: its files, and `venv` with its requirements. One of
/// the files is `requirements.txt`.
pub fn tool(name: &str, files: &[(&str, &str)]) -> PathBuf {
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
    run(Command::new("python3").args(["-m", "venv", "venv"]), &folder, "install python3-venv, as `make test` does");
    let arguments = ["install", "--quiet", "--disable-pip-version-check", "--requirement", "requirements.txt"];
    run(Command::new(folder.join("venv/bin/pip")).args(arguments), &folder, "check the index that pip uses");
    std::fs::write(installed, wanted).unwrap();
    folder
}

fn run(command: &mut Command, folder: &Path, advice: &str) {
    let output = command.current_dir(folder).output().expect(advice);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{advice}: {said}");
}
