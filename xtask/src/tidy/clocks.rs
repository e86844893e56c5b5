//! One time authority: `app_now()` in SQL behind `kernel::clock`. A second clock
//! would let leases, expiry and billing disagree, and tests could not move it.
//! `app_clock()` is the same clock read after a lock was waited for.
//! `Instant` is free: it measures durations and never becomes a date.

use super::source::{Source, is_word};
use super::{File, Problem, sql};

const CALLS: &[&str] = &["Timestamp::now", "Zoned::now", "SystemTime::now", "Utc::now", "Local::now"];
const SQL_CALLS: &[&str] = &["now", "clock_timestamp", "statement_timestamp", "transaction_timestamp"];
const SQL_WORDS: &[&str] = &["current_timestamp", "localtimestamp", "current_date"];
const ADVICE: &str = "read the time through kernel::clock";
const SQL_ADVICE: &str = "use app_now(): it is the one clock, and tests can move it";

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| !may_read_clocks(file)) {
        if file.is_rust() && file.is_in_a_crate() {
            problems.extend(in_rust(file));
        } else if file.is_migration() || (file.is_sql() && file.is_in_a_crate()) {
            problems.extend(in_script(file));
        }
    }
    problems
}

fn may_read_clocks(file: &File) -> bool {
    file.path == "crates/kernel/src/clock.rs" || file.is_in("cli") || file.is_test()
}

fn in_rust(file: &File) -> Vec<Problem> {
    let source = Source::of(file);
    let calls = CALLS.iter().flat_map(|call| source.find(call));
    let mut problems: Vec<Problem> =
        calls.filter(|at| !source.in_tests(*at)).map(|at| Problem::new(file, source.line_of(at), ADVICE)).collect();
    for literal in source.literals.iter().filter(|l| !source.in_tests(l.offset)) {
        for at in sql_clocks(&literal.text) {
            let line = literal.line + sql::line_at(&literal.text, at) - 1;
            problems.push(Problem::new(file, line, SQL_ADVICE));
        }
    }
    problems
}

fn in_script(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for statement in sql::statements(&file.text) {
        let defines = |name| statement.starts(&["create"]) && statement.has(&["function", name, "("]);
        if defines("app_now") || defines("app_clock") {
            continue;
        }
        let tokens = &statement.tokens;
        for (at, token) in tokens.iter().enumerate() {
            let called = tokens.get(at + 1).is_some_and(|next| next.text == "(");
            let word = token.text.as_str();
            if SQL_WORDS.contains(&word) || (called && SQL_CALLS.contains(&word)) {
                let line = statement.line_of(&file.text, token);
                problems.push(Problem::new(file, line, SQL_ADVICE));
            }
        }
    }
    problems
}

/// Clocks in a string of a program, where SQL and prose cannot be told apart:
/// a call counts only with its empty parentheses.
fn sql_clocks(text: &str) -> Vec<usize> {
    let text = text.to_ascii_lowercase();
    let whole = |at: usize, end: usize| {
        let bytes = text.as_bytes();
        let before = at.checked_sub(1).map(|at| bytes[at]);
        !before.is_some_and(|b| is_word(b) || matches!(b, b':' | b'.')) && !bytes.get(end).copied().is_some_and(is_word)
    };
    let calls = SQL_CALLS.iter().map(|call| format!("{call}()"));
    let needles = calls.chain(SQL_WORDS.iter().map(|word| (*word).to_owned()));
    needles
        .flat_map(|needle| {
            let found = text.match_indices(&needle).map(|(at, n)| (at, at + n.len()));
            found.filter(|(at, end)| whole(*at, *end)).map(|(at, _)| at).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let problems = check(&[File::new(path, text)]);
        problems.into_iter().map(|problem| problem.line).collect()
    }

    const STORE: &str = "crates/people/src/keys/store.rs";

    #[test]
    fn other_clocks_are_found_in_code_and_in_sql() {
        assert_eq!(lines(STORE, "let a = jiff::Timestamp::now();"), [1]);
        assert_eq!(lines(STORE, "let a =\n    SystemTime::now();"), [2]);
        assert_eq!(lines(STORE, "q(r\"SELECT 1\n WHERE at < now()\");"), [2]);
        assert_eq!(lines(STORE, "q(\"DEFAULT CURRENT_TIMESTAMP\");"), [1]);
        assert_eq!(lines("migrations/1_a.up.sql", "CREATE TABLE a (\n b int DEFAULT now ());"), [2]);
    }

    #[test]
    fn the_one_clock_and_durations_pass() {
        let clean = "let a = Instant::now(); q(\"WHERE at < app_now()\"); // now()";
        assert!(lines(STORE, clean).is_empty());
        assert!(lines("crates/kernel/src/clock.rs", "SystemTime::now()").is_empty());
        assert!(lines("crates/cli/src/login.rs", "Timestamp::now()").is_empty());
        let definition = "CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz AS $$\n  SELECT coalesce(x, now());\n$$ LANGUAGE sql;";
        assert!(lines("migrations/1_a.up.sql", definition).is_empty());
    }

    #[test]
    fn defining_the_clock_excuses_nothing_else_in_the_file() {
        for clock in ["app_now", "app_clock"] {
            let script = format!("CREATE FUNCTION {clock}() AS $$ SELECT clock_timestamp() $$;\nSELECT now();");
            assert_eq!(lines("migrations/1_a.up.sql", &script), [2]);
        }
        let other = "CREATE FUNCTION my_clock() AS $$ SELECT clock_timestamp() $$;";
        assert_eq!(lines("migrations/1_a.up.sql", other), [1]);
    }
}
