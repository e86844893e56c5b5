//! A number that an operator may want to change is a policy key, not a literal.
//! What must stay a literal says why in a `// bound:` comment.

use super::source::{Literal, Source, is_word};
use super::sql::{self, Token};
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
const ADVICE: &str = "add a policy key in crates/platform/src/policies/settings.rs and read it, or say \
                      `// bound: <why this is not a policy>`";

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let judged = |file: &&File| {
        file.is_rust()
            && file.is_of_the_control_plane()
            && !file.path.starts_with("crates/platform/src/policies/")
            // A private cluster on a laptop has no operator who would set policies.
            && !file.path.starts_with("crates/gpuaasd/src/dev/")
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
            .chain(spans_in_sql(&source))
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

/// Lines of strings with a literal span of time in SQL. As no comment fits into
/// a string, the reason may stand above the string, too.
fn spans_in_sql(source: &Source) -> Vec<usize> {
    let literals = source.literals.iter().filter(|it| !source.in_tests(it.offset));
    literals
        .filter(|it| !source.explained(it.line, "bound:"))
        .flat_map(|it| spans(it).into_iter().map(|at| source.line_of(it.offset + at)))
        .filter(|line| !source.explained(*line, "bound:"))
        .collect()
}

fn spans(literal: &Literal) -> Vec<usize> {
    let tokens = sql::tokens(&literal.text);
    let words: Vec<&str> = tokens.iter().map(|it| it.text.as_str()).collect();
    let is_text = |word: &str| word.starts_with('\'');
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let is_span = |rest: &[&str]| match rest {
        ["interval", text, ..] => is_text(text),
        [text, ":", ":", "interval", ..] | [text, "as", "interval", ..] => is_text(text),
        ["make_interval", "(", number, ..] if is_number(number) => true,
        ["make_interval", "(", _, "=", ">", number, ..] => is_number(number),
        _ => false,
    };
    let at = |(nth, token): (usize, &Token)| is_span(&words[nth..]).then_some(token.offset);
    tokens.iter().enumerate().filter_map(at).collect()
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

    const ROUTES: &str = "crates/people/src/keys/routes.rs";

    #[test]
    fn literal_thresholds_are_found() {
        assert_eq!(lines(ROUTES, "sleep(Duration::from_secs(30));"), [1]);
        assert_eq!(lines(ROUTES, "sleep(Duration::from_millis(\n    1_500,\n));"), [1]);
        assert_eq!(lines(ROUTES, "const GRACE: Duration = A;"), [1]);
        assert_eq!(lines(ROUTES, "pub const MAX_KEYS: usize = 10;"), [1]);
        assert_eq!(lines(ROUTES, "const KEY_TTL_SECONDS: i64 =\n    600;"), [1]);
        assert_eq!(lines(ROUTES, "// bound:\nconst KEY_LIMIT: u32 = 1;"), [2]);
    }

    const STORE: &str = "crates/people/src/keys/store.rs";

    #[test]
    fn literal_spans_of_time_in_sql_are_found() {
        let query = |sql: &str| format!("sqlx::query(\n    \"DELETE FROM a\n     WHERE at < app_now() - {sql}\",\n)");
        for sql in ["interval '1 day'", "INTERVAL  '2h'", "'1 day'::interval", "CAST('1 day' AS interval)"] {
            assert_eq!(lines(STORE, &query(sql)), [3], "{sql}");
        }
        for sql in ["make_interval(secs => 30)", "make_interval(days => 1)", "make_interval(1)"] {
            assert_eq!(lines(STORE, &query(sql)), [3], "{sql}");
        }
        assert_eq!(lines(ROUTES, "f(\"app_now() - interval '1 day'\");"), [1]);
        assert!(lines(STORE, &query("make_interval(secs => $1)")).is_empty());
        assert!(lines(STORE, &query("$1::interval")).is_empty());
        assert!(lines(STORE, "f(\"the interval is too long\")").is_empty());
        let explained = query("interval '1 day'").replacen("    \"", "    // bound: a leap day\n    \"", 1);
        assert!(lines(STORE, &explained).is_empty());
    }

    #[test]
    fn explained_bounds_and_policies_pass() {
        let above = "// bound: the protocol fixes it\nconst MAX_FRAME: usize = 1;";
        assert!(lines(ROUTES, above).is_empty());
        assert!(lines(ROUTES, "f(Duration::from_secs(5)); // bound: poll").is_empty());
        assert!(lines(ROUTES, "f(Duration::from_secs(policy.seconds));").is_empty());
        assert!(lines(ROUTES, "const NAME: &str = \"x\"; const MAX: f64 = 1.0;").is_empty());
        assert!(lines(ROUTES, "const fn max_of(a: u32) -> u32 { let b = a; b }").is_empty());
        assert!(lines("crates/platform/src/policies/settings.rs", "const MAX_A: u32 = 1;").is_empty());
    }
}
