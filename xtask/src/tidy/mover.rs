//! `kernel::lifecycle` is the only writer of a `state` column: a move made anywhere
//! else would leave out the version check, the event and the audit row.

use super::source::Source;
use super::sql::{self, Token};
use super::{File, Problem};

const MOVER: &str = "crates/kernel/src/lifecycle.rs";
const ADVICE: &str = "send an event through kernel::lifecycle instead of writing the state column";
const MIGRATION_ADVICE: &str = "a back-fill of states needs `-- tidy: backfill <why>` right above the statement";

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path != MOVER) {
        if file.is_rust() && file.is_in_a_crate() {
            problems.extend(in_rust(file));
        } else if file.is_sql() {
            problems.extend(in_script(file));
        }
    }
    problems
}

fn in_rust(file: &File) -> Vec<Problem> {
    let source = Source::of(file);
    let mut problems = Vec::new();
    for literal in &source.literals {
        let tokens = sql::tokens(&literal.text);
        for at in state_writes(&tokens) {
            let line = literal.line + sql::line_at(&literal.text, tokens[at].offset) - 1;
            let is_test = file.is_test() || source.in_tests(literal.offset);
            // A test of the database's own guard has to try the forbidden thing.
            let tries_guard = is_test && source.explained(literal.line, "tidy: planted");
            if !tries_guard {
                problems.push(Problem::new(file, line, ADVICE));
            }
        }
    }
    problems
}

fn in_script(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for statement in sql::statements(&file.text) {
        let marked = file.is_migration() && statement.explained("tidy: backfill");
        for at in state_writes(&statement.tokens) {
            if !marked {
                let line = statement.line_of(&file.text, &statement.tokens[at]);
                problems.push(Problem::new(file, line, MIGRATION_ADVICE));
            }
        }
    }
    problems
}

/// Where a `SET` list names the column `state`.
fn state_writes(tokens: &[Token]) -> Vec<usize> {
    let sets = (0..tokens.len()).filter(|at| tokens[*at].text == "set");
    sets.flat_map(|set| columns(tokens, set + 1)).filter(|at| tokens[*at].text == "state").collect()
}

/// The assigned columns of one `SET` list, `(a, b) = (…)` included.
fn columns(tokens: &[Token], start: usize) -> Vec<usize> {
    let (mut found, mut depth, mut at_target) = (Vec::new(), 0, true);
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.text.as_str() {
            "(" => depth += 1,
            ")" if depth == 0 => break,
            ")" => depth -= 1,
            "where" | "from" | "returning" | ";" if depth == 0 => break,
            "," if depth == 0 => at_target = true,
            "=" if depth == 0 => at_target = false,
            _ if at_target => found.push(at),
            _ => {}
        }
    }
    // "cannot set state of" is a sentence: a column is followed by a sign, or by
    // the end where the statement is put together from pieces.
    let is_column = |at: &usize| {
        let next = tokens.get(at + 1).map(|token| token.text.as_str());
        matches!(next, None | Some("=" | "," | ")"))
    };
    found.into_iter().filter(is_column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let problems = check(&[File::new(path, text)]);
        problems.into_iter().map(|problem| problem.line).collect()
    }

    const STORE: &str = "crates/people/src/projects/store.rs";

    #[test]
    fn writing_a_state_is_found_however_it_is_spelled() {
        for sql in [
            "UPDATE projects SET state = 'active'",
            "update projects set\\n  state='active'",
            "UPDATE projects SET name = lower($1), state = $2 WHERE id = $3",
            "UPDATE projects SET (version, \\\"state\\\") = ($1, $2)",
            "INSERT INTO a VALUES (1) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
        ] {
            assert_eq!(lines(STORE, &format!("q(\"{sql}\");")), [1], "{sql}");
        }
        assert_eq!(lines(STORE, "q(r\"UPDATE a\n  SET b = 1,\n  state = 2\");"), [3]);
    }

    #[test]
    fn reading_a_state_is_not_writing_it() {
        for sql in [
            "SELECT id FROM projects WHERE state = 'active'",
            "UPDATE projects SET name = $1 WHERE state = 'active'",
            "UPDATE projects SET state_reason = $1",
            "UPDATE projects SET name = f(x, state) FROM b WHERE true",
        ] {
            assert!(lines(STORE, &format!("q(\"{sql}\");")).is_empty(), "{sql}");
        }
        assert!(lines(STORE, "fail(\"cannot set state of a deleted project\");").is_empty());
        assert!(lines(MOVER, "q(\"UPDATE a SET state = $1\");").is_empty());
    }

    #[test]
    fn a_migration_must_mark_its_back_fill() {
        let up = "migrations/2_a.up.sql";
        assert_eq!(lines(up, "SELECT 1;\nUPDATE a SET state = 'x';"), [2]);
        assert!(lines(up, "-- tidy: backfill new word\nUPDATE a SET state = 'x';").is_empty());
    }

    #[test]
    fn a_test_must_say_that_it_tries_the_guard() {
        let path = "crates/kernel/tests/guard.rs";
        let query = "q(\"UPDATE a SET state = 'x'\");";
        assert_eq!(lines(path, query), [1]);
        let marked = format!("// tidy: planted, the trigger must refuse it\n{query}");
        assert!(lines(path, &marked).is_empty());
    }
}
