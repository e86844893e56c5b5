//! What developers and CI run besides cargo itself: the repository's own rules
//! (`tidy`), its generated files (`generate`), its promises to clients (`compat`),
//! its coverage floors (`coverage`), its tests (`test` and parts of it, `soak`,
//! `smoke`) and its speed (`bench`).

mod bench;
mod compat;
mod coverage;
mod generate;
mod graph;
mod guide;
mod python;
mod reach;
mod run_tests;
mod schema;
mod smoke;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  tidy               check the rules in docs/guards.md; exit 1 with what to do instead
  generate [--check] write the generated files, or only say which are stale
  graph              print the folders of every crate, who uses whom, and the largest cycle
  guide <file>       perform a guide of docs/guides on a copy of the tree, and check the result
  compat             compare the API with that of the last release
  test [args...]     run every test; arguments go to the test runner
  root-test          run the tests that need root, alone
  core-test          run the tests that meet the database most closely, alone
  soak [args...]     run the tests with their loops at full size; print a table of them
  smoke <gpuaasd> <script>  run a release's smoke test on this tree's schema
  coverage <file>    compare an llvm-cov JSON summary with coverage.toml
  bench [args...]    measure the release build beside bare pgbench, print and record the figures;
                     with --short any build, against floors of its own, recording nothing";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => tidy::run(&root()),
        ["generate"] => generate::run(false),
        ["generate", "--check"] => generate::run(true),
        ["graph"] => graph::run(&root()),
        ["guide", path] => guide::run(&root(), path),
        ["compat"] => compat::run(&root()),
        ["smoke", server, script] => smoke::run(&root(), Path::new(server), Path::new(script)),
        ["test", ..] => run_tests::run(&root(), &args[1..]),
        ["root-test"] => run_tests::root_test(&root()),
        ["core-test"] => run_tests::core_test(&root()),
        ["soak", ..] => run_tests::soak(&root(), &args[1..]),
        ["bench", ..] => bench::run(&root(), &args[1..]),
        ["coverage", report] => coverage::run(&root(), Path::new(report)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace root, wherever the command was started from. Cargo names it when
/// it runs us, which is also how a test points us at another tree.
fn root() -> PathBuf {
    let manifest = std::env::var("CARGO_MANIFEST_DIR");
    let folder = manifest.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&folder).parent().expect("xtask is a folder of the workspace root").to_path_buf()
}

/// Where cargo puts programs; coverage has a target folder of its own.
fn binaries(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join("debug")
}
