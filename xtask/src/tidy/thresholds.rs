//! A number that an operator may want to change is a policy key, not a literal.
//! What must stay a literal says why in a `// bound:` comment.

use super::source::{Source, is_word};
use super::{File, Problem};

const CALLS: &[&str] = &[
    "Duration::from_secs(",
    "Duration::from_millis(",
    "Duration::from_micros(",
    "Duration::from_mins(",
    "Duration::from_hours(",
    "Duration::from_days(",
    "Duration::from_secs_f64(",
    "Duration::new(",
    "SignedDuration::from_secs(",
    "SignedDuration::from_millis(",
    "SignedDuration::from_mins(",
    "SignedDuration::from_hours(",
];
const NAMES: &[&str] =
    &["LIMIT", "LIMITS", "MAX", "SECONDS", "MINUTES", "HOURS", "DAYS", "TTL", "TIMEOUT", "ATTEMPTS", "RETRIES"];
const INTEGERS: &[&str] = &["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];
const ADVICE: &str = "add a policy key in crates/control/src/policies/keys.rs and read it, or say \
                      `// bound: <why this is not a policy>`";

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let judged = |file: &&File| {
        file.is_rust()
            && file.path.starts_with("crates/control/src/")
            && !file.path.starts_with("crates/control/src/policies/")
            // A private cluster on a laptop has no operator who would set policies.
            && !file.path.starts_with("crates/control/src/dev/")
            && !file.is_test()
    };
    for file in files.iter().filter(judged) {
        let source = Source::of(file);
        let mut places: Vec<usize> = CALLS
            .iter()
            .flat_map(|call| source.find(call))
            .filter(|at| has_literal_argument(source.code_from(*at)))
            .chain(constants(&source))
            .filter(|at| !source.in_tests(*at))
            .map(|at| source.line_of(at))
            .filter(|line| !source.explained(*line, "bound:"))
            .collect();
        places.sort_unstable();
        places.dedup();
        problems.extend(places.into_iter().map(|line| Problem::new(file, line, ADVICE)));
    }
    problems
}

fn has_literal_argument(call: &str) -> bool {
    let argument = call.split_once('(').map_or("", |(_, rest)| rest);
    argument.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

/// Constants that are durations, or integers named like a threshold.
fn constants(source: &Source) -> Vec<usize> {
    let lifetime = |at: &usize| source.code_from(at.saturating_sub(1)).starts_with('\'');
    let statics = source.find("static").into_iter().filter(|at| !lifetime(at));
    let keywords = source.find("const").into_iter().chain(statics);
    keywords.filter(|at| is_threshold(source.code_from(*at))).collect()
}

fn is_threshold(item: &str) -> bool {
    let item = item.split_once('=').map_or("", |(head, _)| head);
    let Some((head, kind)) = item.split_once(':') else {
        return false;
    };
    let name = head.split_whitespace().last().unwrap_or_default();
    let kind = kind.trim().trim_start_matches(['&', '[', '(']);
    let kind = kind.trim_end_matches(|c: char| !c.is_ascii() || !is_word(c as u8));
    let is_duration = kind.ends_with("Duration");
    let is_named = name.split('_').any(|part| NAMES.contains(&part));
    is_duration || (is_named && INTEGERS.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let problems = check(&[File::new(path, text)]);
        problems.into_iter().map(|problem| problem.line).collect()
    }

    const ROUTES: &str = "crates/control/src/keys/routes.rs";

    #[test]
    fn literal_thresholds_are_found() {
        assert_eq!(lines(ROUTES, "sleep(Duration::from_secs(30));"), [1]);
        assert_eq!(lines(ROUTES, "sleep(Duration::from_millis(\n    1_500,\n));"), [1]);
        assert_eq!(lines(ROUTES, "const GRACE: Duration = A;"), [1]);
        assert_eq!(lines(ROUTES, "pub const MAX_KEYS: usize = 10;"), [1]);
        assert_eq!(lines(ROUTES, "const KEY_TTL_SECONDS: i64 =\n    600;"), [1]);
        assert_eq!(lines(ROUTES, "// bound:\nconst KEY_LIMIT: u32 = 1;"), [2]);
    }

    #[test]
    fn explained_bounds_and_policies_pass() {
        let above = "// bound: the protocol fixes it\nconst MAX_FRAME: usize = 1;";
        assert!(lines(ROUTES, above).is_empty());
        assert!(lines(ROUTES, "f(Duration::from_secs(5)); // bound: poll").is_empty());
        assert!(lines(ROUTES, "f(Duration::from_secs(policy.seconds));").is_empty());
        assert!(lines(ROUTES, "const NAME: &str = \"x\"; const MAX: f64 = 1.0;").is_empty());
        assert!(lines(ROUTES, "const fn max_of(a: u32) -> u32 { let b = a; b }").is_empty());
        assert!(lines("crates/control/src/policies/keys.rs", "const MAX_A: u32 = 1;").is_empty());
    }
}
