//! Tests do not sleep: a pause is too short on a busy machine and too long on any
//! other. They ask until something is so, move the clock, or drive the work. What
//! stays is a pause that is the point, as where nothing may happen; it says so.

use super::source::Source;
use super::{File, Problem};

const ADVICE: &str = "ask until it is so (`eventually`), move the clock or drive the work; where the pause is the \
                      point, say `// pause: <why>`";
const LOOPS: &[&str] = &["loop", "while", "for"];

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && file.is_in_a_crate()) {
        let source = Source::of(file);
        let calls = source.find("sleep(").into_iter().filter(|at| file.is_test() || source.in_tests(*at));
        let bare = calls.filter(|at| !asks_again(&source, *at)).map(|at| source.line_of(at));
        let bare = bare.filter(|line| !source.explained(*line, "pause:"));
        problems.extend(bare.map(|line| Problem::new(file, line, ADVICE)));
    }
    problems
}

/// Whether the place is in a loop of its function, which looks again after it.
fn asks_again(source: &Source, at: usize) -> bool {
    let code = &source.code_from(0).as_bytes()[..at];
    let mut depth = 0;
    for (place, byte) in code.iter().enumerate().rev() {
        match byte {
            b'}' => depth += 1,
            b'{' if depth > 0 => depth -= 1,
            b'{' => {
                let start = code[..place].iter().rposition(|it| b";{}".contains(it)).map_or(0, |it| it + 1);
                let head = String::from_utf8_lossy(&code[start..place]).into_owned();
                let words: Vec<&str> = head.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').collect();
                if words.contains(&"fn") || words.contains(&"impl") {
                    return false;
                }
                if words.iter().any(|it| LOOPS.contains(it)) {
                    return true;
                }
            }
            _ => (),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&[File::new(path, text)]).into_iter().map(|it| it.line).collect()
    }

    const TEST: &str = "crates/testkit/tests/work.rs";

    #[test]
    fn pauses_of_tests_are_found() {
        assert_eq!(lines(TEST, "async fn a() {\n    tokio::time::sleep(A).await;\n}"), [2]);
        assert_eq!(lines(TEST, "fn a() {\n    for it in all { f(it); }\n    sleep(A);\n}"), [3], "after a loop");
        assert_eq!(lines(TEST, "fn a() { while f() {\n  async fn b() { sleep(A) } } }"), [2], "another function");
        assert_eq!(lines(TEST, "fn a() {\n    // pause:\n    sleep(A);\n}"), [3], "no reason");
        let inside = "#[cfg(test)]\nmod tests { fn a() { sleep(A); } }";
        assert_eq!(lines("crates/kernel/src/bus.rs", inside), [2]);
    }

    #[test]
    fn loops_that_ask_again_and_explained_pauses_pass() {
        assert!(lines(TEST, "fn a() { while !f() { if g() { sleep(A); } } }").is_empty());
        assert!(lines(TEST, "fn a() { loop { match f() { B => sleep(A), C => break } } }").is_empty());
        assert!(lines(TEST, "fn a() {\n    // pause: nothing may happen\n    sleep(A);\n}").is_empty());
        assert!(lines("crates/kernel/src/bus.rs", "fn a() { sleep(A); }").is_empty(), "not a test");
        assert!(lines(TEST, "fn a() { query(\"SELECT pg_sleep(5)\"); }").is_empty());
    }
}
