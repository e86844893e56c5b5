//! A handler works in the transaction that the gates opened. One that takes a
//! second connection waits for it while it holds the first, and as many of them
//! as the pool is large wait for each other.

use super::source::Source;
use super::{File, Problem};

const ADVICE: &str =
    "a handler has `call.tx` and no other connection; enter another scope with it, or read before the transaction";

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let code = |file: &&File| file.is_rust() && file.is_of_the_control_plane() && !file.is_test();
    for file in files.iter().filter(code) {
        let source = Source::of(file);
        if source.find("impl Handle<").is_empty() {
            continue;
        }
        let begun = ["Tx::system(", "Tx::begin("].iter().flat_map(|it| source.find(it));
        // The clock and the epoch are memory.
        let passed = source.find("self.db").into_iter().filter(|at| {
            let rest = &source.code_from(*at)["self.db".len()..];
            let rest = rest.trim_start();
            !rest.starts_with(".clock") && !rest.starts_with(".epoch") && !rest.starts_with(char::is_alphanumeric)
        });
        let mut lines: Vec<usize> =
            begun.chain(passed).filter(|at| !source.in_tests(*at)).map(|at| source.line_of(at)).collect();
        lines.sort_unstable();
        lines.dedup();
        problems.extend(lines.into_iter().map(|line| Problem::new(file, line, ADVICE)));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let problems = check(&[File::new("crates/people/src/projects/routes.rs", text)]);
        problems.into_iter().map(|it| it.line).collect()
    }

    #[test]
    fn second_connections_in_handlers_are_found() {
        let handler = |inner: &str| format!("impl Handle<GetProject> for PeopleArea {{\n  {inner}\n}}");
        assert_eq!(lines(&handler("let tx = Tx::system(&self.db, \"x\", Access::Read).await?;")), [2]);
        assert_eq!(lines(&handler("let tx = kernel::Tx::begin(db, scope).await?;")), [2]);
        assert_eq!(lines(&handler("explain(&mut call.tx, &self.db).await")), [2]);
        assert!(lines(&handler("self.db.clock.estimate(); self.database()")).is_empty());
        assert!(lines("fn sweep() { Tx::system(db, \"x\", Access::Write) }").is_empty(), "no handler");
    }
}
