//! Every guard that is not a tidy rule is shown a planted violation, through the
//! same make target that CI runs, and must refuse it; and a clean neighbor, which
//! must pass. They need the guards' tools, so `make guards` runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MANIFEST: &str =
    "[package]\nname = \"planted\"\nversion = \"0.1.0\"\nedition = \"2024\"\nlicense = \"MIT\"\npublish = false\n";

/// A workspace of one crate in a folder of its own, removed at the end.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, extra_manifest: &str, code: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("guards-{name}-{}", std::process::id()));
        let tree = Self(folder);
        let lints = workspace_lints();
        let manifest = format!("{MANIFEST}{extra_manifest}\n[lints]\nworkspace = true\n[workspace]\n{lints}");
        tree.write("Cargo.toml", &manifest);
        tree.write("src/lib.rs", code);
        tree.write("clippy.toml", &read("clippy.toml"));
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        let folder = path.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(folder).expect("a writable temporary folder");
        std::fs::write(path, text).expect("a writable temporary folder");
    }

    /// Makes it a repository, so that tidy knows its files.
    fn init(&self) {
        let init = Command::new("git").current_dir(&self.0).args(["init", "--quiet"]).status();
        assert!(init.is_ok_and(|status| status.success()));
    }

    /// Our own files below some paths.
    fn copy(&self, paths: &[&str]) {
        let output = Command::new("git")
            .current_dir(root())
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .args(paths)
            .output()
            .expect("git starts");
        for path in String::from_utf8_lossy(&output.stdout).lines().filter(|it| root().join(it).is_file()) {
            self.write(path, &read(path));
        }
    }

    fn lock(&self) {
        let output = Command::new("cargo")
            .current_dir(&self.0)
            .args(["generate-lockfile", "--offline"])
            .output()
            .expect("cargo starts");
        assert!(output.status.success(), "{}", text(&output));
    }

    /// What a guard of the Makefile says about this tree.
    fn judged_by(&self, guard: &str) -> Output {
        Command::new("make")
            .current_dir(root())
            .args(["--no-print-directory", guard])
            .arg(format!("TREE={}", self.0.display()))
            .env("CARGO_TARGET_DIR", self.0.join("target"))
            .output()
            .expect("make starts")
    }

    #[track_caller]
    fn passes(&self, guard: &str) {
        let output = self.judged_by(guard);
        assert!(output.status.success(), "{}", text(&output));
    }

    #[track_caller]
    fn is_refused(&self, guard: &str, because: &str) {
        let output = self.judged_by(guard);
        assert!(!output.status.success(), "{guard} let it pass");
        assert!(text(&output).contains(because), "{}", text(&output));
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // Left-overs in the temporary folder are not worth failing a test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.expect("xtask is a folder of the workspace root")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("a file of the workspace root")
}

/// Our own lints, so that the planted crate is judged as ours are.
fn workspace_lints() -> String {
    let manifest: toml::Table = read("Cargo.toml").parse().expect("our manifest is valid");
    let mut lints = toml::Table::new();
    lints.insert("lints".to_owned(), manifest["workspace"]["lints"].clone());
    let mut workspace = toml::Table::new();
    workspace.insert("workspace".to_owned(), lints.into());
    toml::to_string(&workspace).expect("a table that was just parsed")
}

fn text(output: &Output) -> String {
    let streams = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&streams).into_owned()
}

#[test]
#[ignore = "make guards"]
fn unformatted_code_is_refused() {
    Tree::new("format-clean", "", "pub fn f() {}\n").passes("format");
    Tree::new("format", "", "pub fn f(){}\n").is_refused("format", "Diff in");
}

#[test]
#[ignore = "make guards"]
fn an_unwrap_outside_tests_is_refused() {
    let in_test =
        "#[cfg(test)]\nmod tests {\n    #[test]\n    fn f() {\n        \"1\".parse::<u8>().unwrap();\n    }\n}\n";
    Tree::new("clippy-clean", "", in_test).passes("clippy");
    let code = "pub fn f(a: Option<u8>) -> u8 {\n    a.unwrap()\n}\n";
    Tree::new("clippy", "", code).is_refused("clippy", "unwrap");
}

#[test]
#[ignore = "make guards"]
fn an_unused_dependency_is_refused() {
    let dependency = "[dependencies]\nserde = \"1\"\n";
    Tree::new("unused-clean", dependency, "pub use serde::Serialize;\n").passes("unused");
    Tree::new("unused", dependency, "pub fn f() {}\n").is_refused("unused", "serde");
}

/// A tree whose only dependency is a crate of this name and license.
fn depending_on(folder: &str, name: &str, license: &str) -> Tree {
    let tree = Tree::new(folder, &format!("[dependencies]\n{name} = {{ path = \"{name}\" }}\n"), "");
    let manifest = MANIFEST.replace("planted", name).replace("MIT", license);
    tree.write(&format!("{name}/Cargo.toml"), &manifest);
    tree.write(&format!("{name}/src/lib.rs"), "");
    tree.lock();
    tree
}

#[test]
#[ignore = "make guards"]
fn a_license_that_is_not_allowed_is_refused() {
    depending_on("license-clean", "harmless", "MIT").passes("deny");
    depending_on("license", "harmless", "AGPL-3.0-only").is_refused("deny", "AGPL-3.0");
}

#[test]
#[ignore = "make guards"]
fn a_banned_crate_is_refused() {
    for name in ["ring", "openssl-sys"] {
        depending_on(&format!("ban-{name}"), name, "MIT").is_refused("deny", "banned");
    }
}

#[test]
#[ignore = "make guards"]
fn a_source_other_than_the_registry_is_refused() {
    let origin = Tree::new("source-origin", "", "");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(&origin.0).args(["-c", "user.name=planted", "-c", "user.email=planted@invalid"]);
        let output = command.args(args).output().expect("git starts");
        assert!(output.status.success(), "{}", text(&output));
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "planted"]);
    let dependency =
        format!("[dependencies]\nother = {{ git = \"file://{}\", package = \"planted\" }}\n", origin.0.display());
    let tree = Tree::new("source", &dependency, "");
    tree.write("Cargo.toml", &read_tree(&tree).replacen("planted", "consumer", 1));
    let output = Command::new("cargo")
        .current_dir(&tree.0)
        .arg("generate-lockfile")
        .env("CARGO_NET_GIT_FETCH_WITH_CLI", "true")
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", text(&output));
    tree.is_refused("deny", "source-not-allowed");
}

fn read_tree(tree: &Tree) -> String {
    std::fs::read_to_string(tree.0.join("Cargo.toml")).expect("written above")
}

/// A lock file that names one crate of the public registry.
fn locking(folder: &str, name: &str, version: &str) -> Tree {
    let tree = Tree::new(folder, "", "");
    let source = "registry+https://github.com/rust-lang/crates.io-index";
    tree.write(
        "Cargo.lock",
        &format!("version = 4\n\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{source}\"\n"),
    );
    tree
}

#[test]
#[ignore = "make guards"]
fn a_vulnerable_crate_is_refused() {
    locking("audit-clean", "serde", "1.0.228").passes("audit");
    locking("audit", "rsa", "0.9.6").is_refused("audit", "RUSTSEC-2023-0071");
}

#[test]
#[ignore = "make guards"]
fn an_unmaintained_crate_is_refused() {
    locking("unmaintained", "paste", "1.0.15").is_refused("audit", "RUSTSEC-2024-0436");
}

#[test]
#[ignore = "make guards"]
fn a_document_that_generators_stumble_over_is_refused() {
    let tree = Tree::new("contract-tools", "", "");
    let documents = ["api/openapi.json", "api/asyncapi.json"];
    for document in documents {
        tree.write(document, &read(document));
    }
    tree.passes("contract-tools");
    for document in documents {
        let planted = read(document).replacen("\"#/components/schemas/", "\"#/components/schemas/Planted", 1);
        tree.write(document, &planted);
        tree.is_refused("contract-tools", "is not content with the document");
        tree.write(document, &read(document));
    }
}

#[test]
#[ignore = "make guards"]
fn a_console_that_polls_or_does_not_type_is_refused() {
    let tree = Tree::new("console", "", "");
    let settings = "{ \"compilerOptions\": { \"strict\": true, \"types\": [] }, \"include\": [\"src\"] }\n";
    tree.write("console/tsconfig.json", settings);
    tree.write("console/src/clean.ts", "export const clean = 1;\n");
    tree.passes("console");
    for (planted, because) in [
        ("export const planted: number = 'one';\n", "the types do not fit"),
        ("export const planted = { refetchInterval: 5 };\n", "eslint is not content"),
        ("export const planted   = 1;\n", "prettier would change them"),
    ] {
        tree.write("console/src/planted.ts", planted);
        tree.is_refused("console", because);
    }
}

#[test]
#[ignore = "make guards"]
fn untyped_or_unformatted_python_is_refused() {
    let tree = Tree::new("python", "", "");
    let folders = ["src", "tests", "examples"];
    for folder in folders {
        tree.write(&format!("sdk/python/{folder}/clean_{folder}.py"), "\"\"\"Nothing yet.\"\"\"\n");
    }
    tree.write("sdk/python/pyproject.toml", &read("sdk/python/pyproject.toml"));
    tree.passes("python");
    // One that only mypy sees, one for the linter, one for the formatter.
    let untyped = "def twice(it):\n    \"\"\"Doubles.\"\"\"\n    return it * 2\n";
    for planted in [untyped, "import os\n", "x   = 1\n"] {
        tree.write("sdk/python/src/planted.py", &format!("\"\"\"Planted.\"\"\"\n\n{planted}"));
        tree.is_refused("python", "is not content with the Python SDK");
    }
}

/// What `xtask` says about a tree that is not ours.
fn xtask(tree: &Tree, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(args)
        .env("CARGO_MANIFEST_DIR", tree.0.join("xtask"))
        .output()
        .expect("xtask starts")
}

#[test]
fn a_file_with_a_planted_secret_fails_tidy_before_it_is_committed() {
    let tree = Tree::new("secret", "", "");
    tree.init();
    let planted = concat!("AWS_KEY=AK", "IAIOSFODNN7", "EXAMPLE\n");
    tree.write("deploy/a.env", planted);
    let output = xtask(&tree, &["tidy"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("deploy/a.env:1: secrets: "), "{}", text(&output));
}

#[test]
fn a_test_that_passes_without_running_fails_tidy() {
    let tree = Tree::new("ignored", "", "");
    tree.init();
    tree.write("crates/agent/tests/a.rs", "#[test]\nfn a() {\n    if !is_root() {\n        return;\n    }\n}\n");
    tree.write("crates/agent/tests/b.rs", "#[test]\n#[ignore = \"later\"]\nfn b() {\n    sleep(LONG);\n}\n");
    tree.write("crates/agent/tests/c.rs", "#[test]\nfn what_is_left() {}\n");
    tree.write("console/e2e/d.spec.ts", "await page.waitForTimeout(3_000);\n");
    let output = xtask(&tree, &["tidy"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output);
    for place in ["a.rs:3: ignored-tests: ", "b.rs:2: ignored-tests: ", "b.rs:4: pauses: ", "c.rs:2: test-names: "] {
        assert!(said.contains(&format!("crates/agent/tests/{place}")), "{said}");
    }
    assert!(said.contains("console/e2e/d.spec.ts:1: pauses: "), "{said}");
}

/// What tidy says about how people reach endpoints in a tree.
fn said_of_reach(tree: &Tree) -> Vec<String> {
    let said = text(&xtask(tree, &["tidy"]));
    said.lines().filter(|it| it.contains(": endpoint-reach: ")).map(str::to_owned).collect()
}

#[test]
fn an_endpoint_that_nobody_reaches_for_no_reason_fails_tidy() {
    let tree = Tree::new("reach", "", "");
    tree.init();
    tree.copy(&["crates/cli/src", "console/src", "reach.toml"]);
    assert_eq!(said_of_reach(&tree), [""; 0]);

    let verbs = "crates/cli/src/nouns/nodes.rs";
    tree.write(verbs, &read(verbs).replace("::<CordonNode>", "::<UncordonNode>"));
    let page = "console/src/pages/platform/Node.tsx";
    tree.write(page, &read(page).replace("{node_id}/cordon'", "{node_id}/uncordon'"));
    let said = said_of_reach(&tree);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("reach.toml:1: endpoint-reach: no command reaches CordonNode (POST "), "{said:?}");
    assert!(said[1].contains("no page of the console reaches CordonNode (POST "), "{said:?}");

    // Reasons excuse them, until they are reached again.
    let reasons = format!("[command.planted]\nCordonNode = \"x\"\n{}", read("reach.toml"));
    let reasons = reasons.replace("[console.programs-only]\n", "[console.programs-only]\nCordonNode = \"x\"\n");
    tree.write("reach.toml", &reasons);
    assert_eq!(said_of_reach(&tree), [""; 0]);
    for path in [verbs, page] {
        tree.write(path, &read(path));
    }
    let said = said_of_reach(&tree);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("reach.toml:2: endpoint-reach: CordonNode is reached now: "), "{said:?}");
}

#[test]
fn coverage_below_a_floor_fails() {
    let tree = Tree::new("coverage", "", "");
    let source = tree.0.join("crates/kernel/src/a.rs");
    tree.write("coverage.toml", "[[floor]]\nname = \"kernel\"\npath = \"crates/kernel/src/\"\nlines = 80\n");
    let report = |covered: u8| {
        format!(
            r#"{{"data":[{{"files":[{{"filename":"{}","summary":{{"lines":{{"count":100,"covered":{covered}}}}}}}]}}]}}"#,
            source.display()
        )
    };
    for (covered, code) in [(80, 0), (79, 1)] {
        tree.write("summary.json", &report(covered));
        let summary = tree.0.join("summary.json");
        let output = xtask(&tree, &["coverage", &summary.to_string_lossy()]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
    }
}

#[test]
#[ignore = "make guards"]
fn a_server_that_fails_its_smoke_test_is_refused() {
    let tree = Tree::new("smoke", "", "");
    let script = |text: &str| {
        tree.write("smoke.py", text);
        let server = Path::new(env!("CARGO_BIN_EXE_xtask")).with_file_name("gpuaasd");
        let script = tree.0.join("smoke.py");
        let args = ["smoke", &server.to_string_lossy(), &script.to_string_lossy()];
        Command::new(env!("CARGO_BIN_EXE_xtask")).args(args).output().expect("xtask starts")
    };
    let output = script(&read("scripts/smoke.py"));
    assert!(output.status.success(), "{}", text(&output));
    let output = script("import sys\nsys.exit('planted')\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("the smoke test failed"), "{}", text(&output));
}
