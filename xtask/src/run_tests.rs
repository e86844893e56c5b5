//! Runs the whole test suite: one disposable PostgreSQL for all of it, every
//! binary built before the tests that start them, then the API against its
//! own document, and the Python SDK and the console against the API.

use std::path::Path;
use std::process::{Command, Stdio};

use control::dev::postgres::{Cluster, ClusterOptions};

/// Where tests look for the cluster that they share: its socket folder.
const SHARED_CLUSTER: &str = "GPUAAS_TEST_CLUSTER";

/// Runs nextest, or `cargo test` where nextest is missing, over the workspace.
/// Arguments narrow the run, so that what is not a test of that runner is left out.
pub fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    // Tests start our daemons as processes, from beside their own binaries.
    // All targets, so that features are resolved as the test runner does.
    step(Command::new(&cargo).current_dir(root).args(["build", "--quiet", "--workspace", "--all-targets"]))?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("cannot start threads: {error}"))?;
    let options = ClusterOptions::disposable(std::env::temp_dir().join(format!("gpuaas-tests-{}", std::process::id())));
    let cluster = runtime.block_on(Cluster::start(options)).map_err(|error| error.to_string())?;
    let mut tests = Command::new(&cargo);
    tests.current_dir(root).args(runner(has_nextest(&cargo))).args(args);
    let tested = step(tests.env(SHARED_CLUSTER, cluster.socket_dir()));
    // Nextest leaves out the examples that must not compile.
    let tested = tested.and_then(|()| match args.is_empty() && has_nextest(&cargo) {
        true => {
            step(Command::new(&cargo).current_dir(root).args(["test", "--quiet", "--doc", "--package", "contract"]))
        }
        false => Ok(()),
    });
    let stopped = runtime.block_on(cluster.stop()).map_err(|error| error.to_string());
    tested?;
    stopped?;
    if args.is_empty() {
        step(
            Command::new(root.join("scripts/schemathesis.sh"))
                .current_dir(root)
                .arg(crate::binaries(root).join("gpuaasd")),
        )?;
        step(
            Command::new(root.join("scripts/python-sdk.sh"))
                .current_dir(root)
                .arg("test")
                .arg(crate::binaries(root).join("gpuaasd")),
        )?;
        let console = root.join("scripts/console.sh");
        step(Command::new(&console).current_dir(root).arg("test"))?;
        step(Command::new(&console).current_dir(root).arg("e2e").arg(crate::binaries(root).join("gpuaasd")))?;
    }
    Ok(())
}

fn step(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("cannot start {name}: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err("tests failed: the first failure above names what to run alone".to_owned())
}

fn runner(has_nextest: bool) -> &'static [&'static str] {
    if has_nextest { &["nextest", "run", "--workspace"] } else { &["test", "--workspace"] }
}

fn has_nextest(cargo: &str) -> bool {
    Command::new(cargo)
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_nextest_falls_back_to_cargo_test() {
        assert_eq!(runner(true)[0], "nextest");
        assert_eq!(runner(false), ["test", "--workspace"]);
    }
}
