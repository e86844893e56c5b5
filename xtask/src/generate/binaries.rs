//! The page about the programs: their commands and roles, where they listen, and what
//! they read from the environment, all from their own declarations.

use std::collections::BTreeSet;

use platform::config::VARIABLES;

use super::commands::{self, Variant};
use crate::tidy::{File, Source};

pub const PAGE: &str = "docs/generated/binaries.md";

/// A program: its name, its crate, and where its arguments and its commands are declared.
struct Program {
    name: &'static str,
    krate: &'static str,
    arguments: (&'static str, &'static str),
    commands: (&'static str, &'static str),
}

const PROGRAMS: [Program; 3] = [
    Program {
        name: "gpuaasd",
        krate: "gpuaasd",
        arguments: ("crates/gpuaasd/src/main.rs", "struct Arguments"),
        commands: ("crates/gpuaasd/src/main.rs", "enum Command {"),
    },
    Program {
        name: "gpuaas-node",
        krate: "agent",
        arguments: ("crates/agent/src/commands/mod.rs", "pub struct Arguments"),
        commands: ("crates/agent/src/commands/mod.rs", "enum Command {"),
    },
    Program {
        name: "gpuaas",
        krate: "cli",
        arguments: ("crates/cli/src/main.rs", "pub struct Cli"),
        commands: ("crates/cli/src/nouns/mod.rs", "nouns! {"),
    },
];

const ROLES: (&str, &str) = ("crates/gpuaasd/src/roles.rs", "pub enum Role {");

/// The programs that the tree has; fails where a declaration of one is not where it was.
pub fn document(files: &[File]) -> Result<String, String> {
    let mut out =
        "# Binaries\n\nWritten from the declarations of each program by `make generate`; do not edit.\n".to_owned();
    let main = |it: &&Program| format!("crates/{}/src/main.rs", it.krate);
    for program in PROGRAMS.iter().filter(|it| files.iter().any(|file| file.path == main(it))) {
        out += &section(program, files)?;
    }
    Ok(out)
}

fn section(program: &Program, files: &[File]) -> Result<String, String> {
    let Program { name, krate, arguments, commands } = program;
    let about = commands::about(file(files, arguments.0)?, arguments.1)
        .ok_or_else(|| format!("{} has no `{}`", arguments.0, arguments.1))?;
    let mut out =
        format!("\n## {name}\n\n{about} Built from `crates/{krate}`; starts in `crates/{krate}/src/main.rs`.\n");
    let rows = listed(files, *commands)?.into_iter().map(|it| {
        let about = if it.about.is_empty() { about_of(files, commands.0, &it) } else { it.about };
        format!("| `{name} {}` | {about} |\n", kebab(&it.name))
    });
    out += &format!("\n| Command | What it does |\n|---|---|\n{}", rows.collect::<String>());
    let settings: &[(&str, &str)] = if *krate == "gpuaasd" { VARIABLES } else { &[] };
    if !settings.is_empty() {
        let rows = listed(files, ROLES)?.into_iter().map(|it| format!("| `{}` | {} |\n", kebab(&it.name), it.about));
        out += &format!("\n| Role of `serve` | What it does |\n|---|---|\n{}", rows.collect::<String>());
        let listeners = settings.iter().filter(|(_, setting)| setting.ends_with("listen"));
        let rows = listeners.map(|(variable, setting)| format!("| `{setting}` | `{variable}` |\n"));
        out += &format!("\n| Listens at | Variable |\n|---|---|\n{}", rows.collect::<String>());
    }
    let known: BTreeSet<&str> = settings.iter().map(|(variable, _)| *variable).collect();
    let others = read_by(krate, files).into_iter().filter(|it| !known.contains(it.as_str()));
    let rows = settings.iter().map(|(variable, setting)| format!("| `{variable}` | `{setting}` |\n"));
    let rows = rows.chain(others.map(|variable| format!("| `{variable}` | |\n")));
    out += &format!("\n| Variable | Setting |\n|---|---|\n{}", rows.collect::<String>());
    Ok(out)
}

fn file<'a>(files: &'a [File], path: &str) -> Result<&'a File, String> {
    files.iter().find(|it| it.path == path).ok_or_else(|| format!("{path} does not exist"))
}

fn listed(files: &[File], (path, opening): (&str, &str)) -> Result<Vec<Variant>, String> {
    let found = commands::variants(file(files, path)?, opening);
    if found.is_empty() { Err(format!("{path} declares nothing in `{opening}`")) } else { Ok(found) }
}

/// What is written above the type that a command holds, in the module beside the list.
fn about_of(files: &[File], list: &str, command: &Variant) -> String {
    let folder = list.trim_end_matches("mod.rs");
    let held = command.holds.as_deref().and_then(|it| it.split_once("::"));
    let found = held.and_then(|(module, kind)| {
        let paths = [format!("{folder}{module}.rs"), format!("{folder}{module}/mod.rs")];
        let file = files.iter().find(|it| paths.contains(&it.path))?;
        ["enum", "struct"].iter().find_map(|it| commands::about(file, &format!("pub {it} {kind}")))
    });
    found.unwrap_or_default()
}

/// The variables whose names the code of a crate holds. Those that it sets for its own
/// children, and reads while it is built, are its own business.
fn read_by(krate: &str, files: &[File]) -> BTreeSet<String> {
    let code = files.iter().filter(|it| it.is_in(krate) && it.is_rust() && !it.is_test() && it.name() != "build.rs");
    let mut found = BTreeSet::new();
    for file in code {
        let source = Source::of(file);
        for literal in source.literals.iter().filter(|it| !source.in_tests(it.offset)) {
            let before = source.code_from(0)[..literal.offset].trim_end();
            let reads = ["env =", "var(", "var_os(", "given(", "try_from_env("].iter().any(|it| before.ends_with(it));
            let name = literal.text.trim();
            found.extend((reads && name.starts_with("GPUAAS_")).then(|| name.to_owned()));
        }
    }
    found
}

fn kebab(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_read_are_found_and_those_that_are_set_are_not() {
        let code = "#[arg(long, env = \"GPUAAS_URL\")]\nfn a() { var(\"GPUAAS_TOKEN\"); command.env(\"GPUAAS_LEADER\", 1); }\n\
                    #[cfg(test)]\nmod tests { fn b() { var(\"GPUAAS_TEST\"); } }\n";
        let files = [File::new("crates/cli/src/a.rs", code), File::new("crates/agent/src/a.rs", "var(\"GPUAAS_LOG\")")];
        assert_eq!(read_by("cli", &files).into_iter().collect::<Vec<_>>(), ["GPUAAS_TOKEN", "GPUAAS_URL"]);
    }

    #[test]
    fn program_whose_commands_are_elsewhere_is_an_error() {
        let error = document(&[File::new("crates/gpuaasd/src/main.rs", "/// Run.\nstruct Arguments;\n")]).unwrap_err();
        assert!(error.contains("declares nothing in `enum Command {`"), "{error}");
    }
}
