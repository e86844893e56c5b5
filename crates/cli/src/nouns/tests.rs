//! What holds for every command.

use std::collections::BTreeSet;

use clap::{Command, FromArgMatches, error::ErrorKind};

use crate::{Cli, command};

/// Splits a line as a shell does, up to a pipe or a redirection.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for it in line.chars() {
        match it {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '|' | '<' | '>' if !quoted => break,
            ' ' if !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

fn examples(text: &str) -> Vec<&str> {
    // Beside prompts, lines without one are what was printed.
    let has_prompts = text.lines().any(|it| it.trim_start().starts_with("$ "));
    let prompt = if has_prompts { "$ " } else { "" };
    let lines = text.lines().filter_map(|it| it.trim().strip_prefix(prompt));
    lines.filter(|it| it.starts_with("gpuaas ")).collect()
}

fn assert_parses(line: &str) {
    let parsed = command().try_get_matches_from(words(line));
    match parsed.and_then(|it| Cli::from_arg_matches(&it)) {
        Err(error) if error.kind() != ErrorKind::DisplayHelp => panic!("{line}\n{error}"),
        _ => (),
    }
}

fn leaves(command: &Command) -> Vec<&Command> {
    let mut subcommands = command.get_subcommands().peekable();
    if subcommands.peek().is_none() {
        return vec![command];
    }
    subcommands.flat_map(leaves).collect()
}

#[test]
fn the_command_line_is_sound() {
    command().debug_assert();
}

#[test]
fn every_noun_shows_examples_and_they_parse() {
    for noun in command().get_subcommands() {
        let name = noun.get_name();
        let help = noun.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{name} has no examples");
        for example in examples {
            assert!(example.starts_with(&format!("gpuaas {name}")), "{name}: {example}");
            assert_parses(example);
        }
    }
}

#[test]
fn every_command_and_argument_has_help() {
    for verb in leaves(&command()) {
        assert!(verb.get_about().is_some(), "{}", verb.get_name());
        for argument in verb.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {}", verb.get_name(), argument.get_id());
        }
    }
}

#[test]
fn every_example_of_the_guides_parses() {
    for guide in [
        include_str!("../../../../README.md"),
        include_str!("../../../../docs/guides/member.md"),
        include_str!("../../../../docs/guides/operator.md"),
        include_str!("../../../../docs/guides/cli.md"),
        include_str!("../../../../docs/guides/declare.md"),
        include_str!("../../../../docs/guides/allocations.md"),
        include_str!("../../../../docs/guides/maintenance.md"),
        include_str!("../../../../docs/guides/mfa.md"),
        include_str!("../../../../docs/guides/ssh.md"),
        include_str!("../../../../docs/guides/telemetry.md"),
        include_str!("../../../../docs/guides/terminals.md"),
    ] {
        let examples = examples(guide);
        assert!(examples.len() > 4);
        examples.into_iter().for_each(assert_parses);
    }
}

#[test]
fn every_command_that_the_console_teaches_parses() {
    let strings = [
        include_str!("../../../../console/src/strings/access.ts"),
        include_str!("../../../../console/src/strings/compute.ts"),
        include_str!("../../../../console/src/strings/mfa.ts"),
        include_str!("../../../../console/src/strings/money.ts"),
        include_str!("../../../../console/src/strings/operations.ts"),
        include_str!("../../../../console/src/strings/people.ts"),
        include_str!("../../../../console/src/strings/platform.ts"),
    ];
    let filled = [
        ("${id}", "webhook-01k9z8y7x6w5v4t3s2r1q0p9n8"),
        ("${payment}", "payment-01k9z8y7x6w5v4t3s2r1q0p9n8"),
        ("${journal}", "journal-01k9z8y7x6w5v4t3s2r1q0p9n8"),
        ("${organization}", "acme"),
        ("${name}", "ci"),
        ("${month}", "2026-11"),
        ("${port}", "8888"),
    ];
    let literals = strings.iter().flat_map(|it| it.split(['\'', '`']));
    let taught: Vec<String> = literals
        .filter(|it| it.starts_with("gpuaas "))
        .map(|it| filled.iter().fold(it.to_owned(), |line, (hole, value)| line.replace(hole, value)))
        .collect();
    assert!(taught.len() > 30, "{taught:?}");
    // What is added only sometimes is left out.
    taught.iter().filter_map(|it| it.split("${").next()).for_each(assert_parses);
}

#[test]
fn a_number_out_of_range_is_refused_with_the_range() {
    for (line, bounds) in [
        ("gpuaas allocations create --sku x --gpus 0", "from 1 to 64"),
        ("gpuaas allocations create --sku x --gpus -2", "from 1 to 64"),
        ("gpuaas allocations create --sku x --nodes -1", "from 1 to 256"),
        ("gpuaas allocations create --sku x --lease-minutes -5", "from 1 to 525600"),
        ("gpuaas nodes drain gpu-01 --deadline -1 --reason x", "from 0 to 2592000"),
    ] {
        let error = command().try_get_matches_from(words(line)).unwrap_err().to_string();
        assert!(error.contains(bounds), "{line}\n{error}");
    }
}

#[test]
fn the_guide_lists_every_exit_code_as_it_is() {
    let guide = include_str!("../../../../docs/guides/cli.md");
    for class in crate::Class::ALL {
        let line = format!("| {} | {} |", class.code(), class.meaning());
        assert!(guide.contains(&line), "{line}");
    }
}

#[test]
fn every_command_that_the_table_of_endpoints_names_exists() {
    let table = include_str!("../../../../docs/generated/coverage.md");
    let named = table.split('`').filter_map(|it| it.strip_prefix("gpuaas "));
    let named: BTreeSet<&str> = named.collect();
    assert!(named.len() > 150, "{} commands", named.len());
    for line in named {
        let mut command = command();
        for word in line.split(' ') {
            let found = command.find_subcommand(word).cloned();
            command = found.unwrap_or_else(|| panic!("there is no `gpuaas {line}`"));
        }
        // Nouns that do something by themselves have verbs beside that.
        assert!(!command.is_subcommand_required_set(), "`gpuaas {line}` wants a verb");
    }
}

#[test]
fn secrets_are_never_arguments() {
    for verb in leaves(&command()) {
        for argument in verb.get_arguments().filter(|it| it.get_action().takes_values()) {
            let id = argument.get_id().as_str();
            assert!(!["password", "token", "secret"].contains(&id), "{} {id}", verb.get_name());
        }
    }
}
