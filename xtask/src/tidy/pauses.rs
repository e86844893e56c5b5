//! Tests do not sleep: a pause is too short on a busy machine and too long on any
//! other. They ask until something is so, move the clock, or drive the work. What
//! stays is a pause that is the point, as where nothing may happen; it says so.

use super::source::Source;
use super::{File, Problem};

const ADVICE: &str = "ask until it is so (`eventually`), move the clock or drive the work; where the pause is the \
                      point, say `// pause: <why>`";
const BROWSER_ADVICE: &str = "wait for what the page shows, or ask until it is so (`expect.poll`); where the pause is \
                              the point, say `// pause: <why>`";
/// From so many milliseconds on a loop says why it does not ask more often.
const LONG_MS: u64 = 500;

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && file.is_in_a_crate()) {
        let source = Source::of(file);
        let calls = source.find("sleep(").into_iter().filter(|at| file.is_test() || source.in_tests(*at));
        let bare = calls.filter(|at| !asks_again(&source, *at) || is_long(&source, *at));
        let bare = bare.map(|at| source.line_of(at)).filter(|line| !source.explained(*line, "pause:"));
        problems.extend(bare.map(|line| Problem::new(file, line, ADVICE)));
    }
    for file in files.iter().filter(|file| file.path.starts_with("console/e2e/")) {
        let bare = bare_in_browser(&file.text).into_iter();
        problems.extend(bare.map(|line| Problem::new(file, line, BROWSER_ADVICE)));
    }
    problems
}

/// Whether the place is in a loop of its function that looks again after it: one that ends when
/// something is so. One that counts looks again only if it can end before.
fn asks_again(source: &Source, at: usize) -> bool {
    let all = source.code_from(0);
    let code = &all.as_bytes()[..at];
    let mut depth = 0;
    for (place, byte) in code.iter().enumerate().rev() {
        match byte {
            b'}' => depth += 1,
            b'{' if depth > 0 => depth -= 1,
            b'{' => {
                let start = code[..place].iter().rposition(|it| b";{}".contains(it)).map_or(0, |it| it + 1);
                let head = String::from_utf8_lossy(&code[start..place]).into_owned();
                let words = words_of(&head);
                if words.contains(&"fn") || words.contains(&"impl") {
                    return false;
                }
                if words.contains(&"loop") || words.contains(&"while") {
                    return true;
                }
                if words.contains(&"for") {
                    return words_of(balanced(&all[place..], b'{', b'}'))
                        .iter()
                        .any(|it| matches!(*it, "break" | "return"));
                }
            }
            _ => (),
        }
    }
    false
}

fn words_of(code: &str) -> Vec<&str> {
    code.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').collect()
}

/// What begins here with an opening byte, up to the one that closes it.
fn balanced(code: &str, opens: u8, closes: u8) -> &str {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate() {
        depth += i32::from(byte == opens) - i32::from(byte == closes);
        if depth == 0 {
            return &code[..at];
        }
    }
    code
}

/// Whether it says how long it takes, and that is long.
fn is_long(source: &Source, at: usize) -> bool {
    let after = source.code_from(at);
    let call = balanced(&after[after.find('(').unwrap_or_default()..], b'(', b')');
    let length = |unit: &str| -> Option<u64> {
        let (_, number) = call.split_once(unit)?;
        let number: String = number.chars().filter(|it| *it != '_').take_while(char::is_ascii_digit).collect();
        number.parse().ok()
    };
    length("from_secs(").is_some_and(|it| it > 0) || length("from_millis(").is_some_and(|it| it >= LONG_MS)
}

/// The lines of a browser's test that wait for a time and do not say why.
fn bare_in_browser(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let says = |line: &str| line.split_once("// pause:").is_some_and(|(_, reason)| !reason.trim().is_empty());
    let is_bare = |at: &usize| {
        let above = at.checked_sub(1).is_some_and(|it| says(lines[it]));
        lines[*at].contains("waitForTimeout(") && !says(lines[*at]) && !above
    };
    (0..lines.len()).filter(is_bare).map(|at| at + 1).collect()
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
        assert_eq!(lines(TEST, "fn a() {\n  for it in all {\n    sleep(A);\n    f(it);\n  }\n}"), [3], "only counts");
        assert_eq!(lines(TEST, "fn a() {\n  for it in all { sleep(A); }\n  while f() { return }\n}"), [2]);
    }

    #[test]
    fn long_pauses_of_loops_are_found() {
        for long in ["Duration::from_millis(500)", "Duration::from_millis(2_500)", "std::time::Duration::from_secs(1)"]
        {
            let text = format!("fn a() {{ while !f() {{\n    tokio::time::sleep({long}).await;\n}} }}");
            assert_eq!(lines(TEST, &text), [2], "{long}");
            let explained = text.replace("\n    tokio", "\n    // pause: a machine boots\n    tokio");
            assert!(lines(TEST, &explained).is_empty(), "{long}");
        }
        assert!(lines(TEST, "fn a() { while !f() { sleep(Duration::from_millis(499)); } }").is_empty());
    }

    #[test]
    fn pauses_of_browser_tests_are_found() {
        let test = "console/e2e/away.spec.ts";
        assert_eq!(lines(test, "test('a', async () => {\n  await page.waitForTimeout(3_000);\n});"), [2]);
        assert_eq!(lines(test, "// pause:\nawait page.waitForTimeout(3_000);"), [2], "no reason");
        assert!(lines(test, "// pause: nothing may happen\nawait page.waitForTimeout(3_000);").is_empty());
        assert!(lines(test, "await page.getByText('Live').waitFor({ timeout: 3_000 });").is_empty());
    }

    #[test]
    fn loops_that_ask_again_and_explained_pauses_pass() {
        assert!(lines(TEST, "fn a() { while !f() { if g() { sleep(A); } } }").is_empty());
        assert!(lines(TEST, "fn a() { loop { match f() { B => sleep(A), C => break } } }").is_empty());
        assert!(lines(TEST, "fn a() { for _ in 0..9 { if f() { return; } sleep(A); } }").is_empty());
        assert!(lines(TEST, "fn a() {\n    // pause: nothing may happen\n    sleep(A);\n}").is_empty());
        assert!(lines("crates/kernel/src/bus.rs", "fn a() { sleep(A); }").is_empty(), "not a test");
        assert!(lines(TEST, "fn a() { query(\"SELECT pg_sleep(5)\"); }").is_empty());
    }
}
