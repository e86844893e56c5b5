//! Every table and every trigger function says what it is for, in the database and
//! on the page that is generated from the migrations.

use super::{File, Problem};
use crate::schema;

pub fn check(files: &[File]) -> Vec<Problem> {
    let schema = schema::read(files);
    let said = |purpose: &Option<String>| purpose.as_ref().is_some_and(|it| !it.trim().is_empty());
    let tables = schema.tables.into_iter().filter(|it| !said(&it.purpose)).map(|it| Problem {
        advice: format!("say what the table is for: COMMENT ON TABLE {} IS '…'", it.name),
        path: it.path,
        line: it.line,
    });
    let functions = schema.trigger_functions.into_iter().filter(|it| !said(&it.purpose)).map(|it| Problem {
        advice: format!("say what the trigger function does: COMMENT ON FUNCTION {}() IS '…'", it.name),
        path: it.path,
        line: it.line,
    });
    tables.chain(functions).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(up: &str) -> Vec<usize> {
        let files = [File::new("migrations/1_a.up.sql", up)];
        check(&files).into_iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn a_table_without_a_purpose_is_found() {
        assert_eq!(lines("CREATE TABLE a (id uuid);"), [1]);
        assert_eq!(lines("CREATE TABLE a (id uuid);\nCOMMENT ON TABLE a IS ' ';"), [1]);
        assert_eq!(lines("\nCREATE TABLE a (id uuid);\nCOMMENT ON TABLE b IS 'Rows of B.';"), [2]);
        assert!(lines("CREATE TABLE a (id uuid);\nCOMMENT ON TABLE a IS 'Rows of A.';").is_empty());
    }

    #[test]
    fn a_trigger_function_without_a_purpose_is_found() {
        let function = "CREATE FUNCTION f() RETURNS trigger AS $$ SELECT 1; $$;";
        assert_eq!(lines(function), [1]);
        assert!(lines(&format!("{function}\nCOMMENT ON FUNCTION f() IS 'Does it.';")).is_empty());
        assert!(lines("CREATE FUNCTION g() RETURNS integer AS $$ SELECT 1; $$;").is_empty());
    }
}
