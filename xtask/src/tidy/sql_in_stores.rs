//! SQL lives in a resource's `store.rs` (or `store/`), in the kernel and in tests,
//! so that whoever changes a table knows where all of its statements are.

use super::source::Source;
use super::sql::{self, Token};
use super::{File, Problem};

const CALLS: &[&str] = &["sqlx::query", "query_as", "query_scalar", "query_file", "raw_sql", "QueryBuilder"];

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| !may_hold_sql(file)) {
        if file.is_sql() {
            let advice = "move the statements into the store.rs of the resource that owns the tables";
            problems.push(Problem::new(file, 1, advice));
        } else if file.is_rust() {
            let mut lines = lines_with_sql(&Source::of(file));
            lines.sort_unstable();
            lines.dedup();
            let advice = "SQL outside a store; move it into the resource's store.rs and call that";
            problems.extend(lines.into_iter().map(|line| Problem::new(file, line, advice)));
        }
    }
    problems
}

fn may_hold_sql(file: &File) -> bool {
    let in_store = file.is_of_the_control_plane() && (file.name() == "store.rs" || file.path.contains("/store/"));
    // The runner of the schema's own steps.
    let migrates = file.path == "crates/gpuaasd/src/migrations.rs";
    !file.is_in_a_crate() || migrates || file.is_in("kernel") || file.is_test() || in_store
}

fn lines_with_sql(source: &Source) -> Vec<usize> {
    let calls = CALLS.iter().flat_map(|call| source.find(call));
    let statements = source.literals.iter().filter(|literal| is_statement(&literal.text)).map(|literal| literal.offset);
    calls.chain(statements).filter(|at| !source.in_tests(*at)).map(|at| source.line_of(at)).collect()
}

/// Whether a string is a statement and not a sentence: SQL here is written in
/// capitals; in small letters it must also have a statement's shape.
fn is_statement(text: &str) -> bool {
    let text = text.trim_start();
    let loud = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].iter().any(|verb| {
        let rest = text.strip_prefix(verb);
        rest.is_some_and(|rest| rest.starts_with(char::is_whitespace) && !rest.trim().is_empty())
    });
    loud || has_statement_shape(&sql::tokens(text))
}

fn has_statement_shape(tokens: &[Token]) -> bool {
    let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    match words.as_slice() {
        ["insert", "into", _, "(" | "select" | "values" | "default", ..] => true,
        ["update", _, "set", _, "=", ..] | ["update", _, _, "set", _, "=", ..] => true,
        ["delete", "from", _, "where" | "using" | ";", ..] | ["delete", "from", _] => true,
        ["with", _, "as", "(", ..] => true,
        ["select", ..] => words.windows(3).any(|window| {
            window[0] == "from" && matches!(window[2], "where" | "order" | "limit" | "join" | "for" | "group" | ";")
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let problems = check(&[File::new(path, text)]);
        problems.into_iter().map(|problem| problem.line).collect()
    }

    const ROUTES: &str = "crates/people/src/projects/routes.rs";

    #[test]
    fn queries_outside_a_store_are_found() {
        assert_eq!(lines(ROUTES, "fn f() {\n  sqlx::query(q)\n}"), [2]);
        assert_eq!(lines(ROUTES, "use sqlx::{query_as, Row};"), [1]);
        assert_eq!(lines(ROUTES, "let q = \"SELECT 1\";"), [1]);
        assert_eq!(lines(ROUTES, "let q = r#\"\n  WITH a AS (x)\"#;"), [1]);
        assert_eq!(lines(ROUTES, "let q = \"delete from projects where id = $1\";"), [1]);
        assert_eq!(lines("crates/people/src/projects/list.sql", "SELECT 1;"), [1]);
    }

    #[test]
    fn stores_kernel_and_tests_may_hold_sql() {
        let query = "fn f() { sqlx::query(\"SELECT 1\") }";
        for path in [
            "crates/people/src/projects/store.rs",
            "crates/people/src/projects/store/list.rs",
            "crates/people/src/projects/tests.rs",
            "crates/kernel/src/work.rs",
            "crates/testkit/src/world.rs",
        ] {
            assert_eq!(lines(path, query), [] as [usize; 0], "{path}");
        }
        assert!(lines(ROUTES, &format!("#[cfg(test)]\nmod t {{ {query} }}")).is_empty());
    }

    #[test]
    fn sentences_and_methods_are_not_sql() {
        let clean = "f(\"DELETE\", \"select one from the list\", \"Update the policy\", \"with care\");";
        assert!(lines(ROUTES, clean).is_empty());
        assert!(lines(ROUTES, "// SELECT 1 is in the store\nuse axum::extract::Query;").is_empty());
    }
}
