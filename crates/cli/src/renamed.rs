//! Commands, flags and `apply` fields that have another name now. An old name
//! is refused with an error that names the new one.

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue},
};

/// The beginning of the commands that had the flag, its old name and its new one.
const FLAGS: &[(&str, &str, &str)] = &[
    ("allocations create", "--apart", "--spread-group"),
    ("audit verify", "--roots", "--roots-file"),
    ("billing-profile", "--of", "--for-organization"),
    ("budgets list", "--of", "--for-project"),
    ("corrections list", "--of", "--for-organization"),
    ("demo", "--patience", "--timeout"),
    ("forward", "--local", "--local-port"),
    ("gateways create", "--app-domain", "--web-domain"),
    ("invoices download", "--to", "--output-file"),
    ("invoices list", "--of", "--for-organization"),
    ("ledger", "--of", "--for-organization"),
    ("payments list", "--of", "--for-organization"),
    ("policies list", "--set-here", "--explicit"),
    ("pools create", "--isolates-vms", "--vm-isolation"),
    ("prices set", "--from", "--effective-at"),
    ("quotas list", "--of", "--for-organization"),
    ("recordings download", "--to", "--output-file"),
    ("recordings play", "--idle", "--idle-time-limit"),
    ("usage", "--of", "--for-organization"),
    ("webhooks change", "--to", "--endpoint-url"),
];

/// Old and new names of commands.
const COMMANDS: &[(&str, &str)] =
    &[("enrol", "enroll"), ("enrolment-tokens", "enrollment-tokens"), ("utilisation", "utilization")];

/// Old and new names of fields of `apply` files.
const FIELDS: &[(&str, &str)] = &[("apart", "spread_group"), ("per_gpu_hour", "amount")];

/// The new name of a field of an `apply` file.
pub fn field(name: &str) -> Option<&'static str> {
    FIELDS.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
}

/// Names the new word in an error about an old one; other errors stay as they are.
pub fn explain(error: Error, command: &Command) -> Error {
    let Some((kind, old, new)) = renaming(&error) else { return error };
    // A new error: clap's own guesses cannot be taken out of the one that it made.
    let mut explained = Error::new(error.kind()).with_cmd(command);
    for kept in [kind, ContextKind::Usage] {
        if let Some(value) = error.get(kept) {
            explained.insert(kept, value.clone());
        }
    }
    let tip = format!("'{old}' was renamed to '{new}'");
    explained.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    explained
}

fn renaming(error: &Error) -> Option<(ContextKind, &'static str, &'static str)> {
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.as_str()),
        _ => None,
    };
    if let Some(command) = named(ContextKind::InvalidSubcommand) {
        let (old, new) = COMMANDS.iter().find(|(old, _)| *old == command)?;
        return Some((ContextKind::InvalidSubcommand, old, new));
    }
    let flag = named(ContextKind::InvalidArg)?;
    let usage = error.get(ContextKind::Usage)?.to_string();
    let has_it = |command: &str| usage.contains(&format!("gpuaas {command}"));
    let (_, old, new) = FLAGS.iter().find(|(command, old, _)| *old == flag && has_it(command))?;
    Some((ContextKind::InvalidArg, old, new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command;

    fn error(words: &[&str]) -> String {
        let words = ["gpuaas"].iter().chain(words).copied();
        let command = command();
        explain(command.clone().try_get_matches_from(words).unwrap_err(), &command).to_string()
    }

    #[test]
    fn every_renamed_flag_is_refused_with_its_new_name() {
        for (commands, old, new) in FLAGS {
            let words: Vec<&str> = commands.split(' ').chain([*old, "x"]).collect();
            let words = match *commands {
                "billing-profile" => vec!["billing-profile", "get", old, "x"],
                "ledger" => vec!["ledger", "balance", old, "x"],
                _ => words,
            };
            let text = error(&words);
            assert!(text.contains(&format!("unexpected argument '{old}'")), "{text}");
            assert!(text.contains(&format!("'{old}' was renamed to '{new}'")), "{text}");
            assert!(!text.contains("similar"), "{text}");
        }
    }

    #[test]
    fn every_new_flag_exists() {
        for (commands, _, new) in FLAGS {
            let mut command = command();
            for word in commands.split(' ') {
                command = command.find_subcommand(word).unwrap_or_else(|| panic!("{word}")).clone();
            }
            let has = |it: &clap::Command| it.get_arguments().any(|it| it.get_long() == new.strip_prefix("--"));
            assert!(has(&command) || command.get_subcommands().any(has), "{commands} {new}");
        }
    }

    #[test]
    fn renamed_commands_are_refused_with_their_new_name() {
        let renamed = [
            (vec!["utilisation"], "'utilisation' was renamed to 'utilization'"),
            (vec!["enrolment-tokens", "list"], "'enrolment-tokens' was renamed to 'enrollment-tokens'"),
            (vec!["me", "mfa", "enrol"], "'enrol' was renamed to 'enroll'"),
        ];
        for (words, tip) in renamed {
            let text = error(&words);
            assert!(text.contains(tip), "{text}");
        }
    }

    #[test]
    fn an_unknown_flag_that_never_existed_keeps_the_usual_error() {
        let text = error(&["projects", "list", "--apart", "x"]);
        assert!(text.contains("unexpected argument '--apart'") && !text.contains("renamed"), "{text}");
    }
}
