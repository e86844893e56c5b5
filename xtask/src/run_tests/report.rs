//! What a run of the test runner reported: nextest's JUnit file, or the lines of
//! `cargo test` where nextest is missing.

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// Failed first and passed the second time.
    Flaky,
    Failed,
}

/// One test that ran.
#[derive(Debug, PartialEq)]
pub struct Case {
    /// Its binary and its name, as in `testkit::work a_stale_worker_cannot_apply`;
    /// `cargo test` prints the name only.
    pub name: String,
    pub outcome: Outcome,
    pub seconds: f64,
    /// What it printed, where the runner stores that.
    pub output: String,
}

#[derive(Debug, Default)]
pub struct Report {
    pub cases: Vec<Case>,
}

impl Report {
    pub fn passed(&self) -> usize {
        self.cases.iter().filter(|it| it.outcome != Outcome::Failed).count()
    }

    pub fn of_junit(xml: &str) -> Self {
        // Text is escaped, so that a tag is a tag wherever it stands.
        let cases = xml.split("<testcase ").skip(1).filter_map(|rest| {
            let (head, body) = rest.split_once('>').unwrap_or((rest, ""));
            let body = if head.ends_with('/') { "" } else { body.split("</testcase>").next().unwrap_or_default() };
            let has = |tag: &str| body.contains(&format!("<{tag}"));
            if has("skipped") {
                return None;
            }
            let outcome = match (has("flakyFailure") || has("flakyError"), has("failure") || has("error")) {
                (true, _) => Outcome::Flaky,
                (false, true) => Outcome::Failed,
                (false, false) => Outcome::Passed,
            };
            let name = format!("{} {}", attribute(head, "classname"), attribute(head, "name"));
            let seconds = attribute(head, "time").parse().unwrap_or_default();
            Some(Case { name, outcome, seconds, output: last_text(body, "system-out") })
        });
        Self { cases: cases.collect() }
    }

    pub fn of_libtest(text: &str) -> Self {
        let cases = text.lines().filter_map(|line| {
            let (name, ended) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
            let outcome = match ended.trim() {
                "ok" => Outcome::Passed,
                "FAILED" => Outcome::Failed,
                _ => return None,
            };
            Some(Case { name: name.to_owned(), outcome, seconds: 0.0, output: String::new() })
        });
        Self { cases: cases.collect() }
    }
}

fn attribute(head: &str, name: &str) -> String {
    let rest = head.split_once(&format!(" {name}=\"")).or_else(|| head.split_once(&format!("{name}=\"")));
    let value = rest.and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default();
    unescaped(value)
}

/// A test that ran twice printed twice; the last time is what counts.
fn last_text(body: &str, tag: &str) -> String {
    let text = body.rsplit_once(&format!("<{tag}>")).map_or("", |(_, rest)| rest);
    unescaped(text.split(&format!("</{tag}>")).next().unwrap_or_default())
}

fn unescaped(text: &str) -> String {
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#10;", "\n"), ("&amp;", "&")];
    marks.iter().fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUNIT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="1" errors="0" uuid="x" time="9.1">
    <testsuite name="testkit::work" tests="4" disabled="0" errors="0" failures="1">
        <testcase name="plain" classname="testkit::work" timestamp="2026-01-01T00:00:00.000+00:00" time="0.5"/>
        <testcase name="loud" classname="testkit::work" timestamp="2026-01-01T00:00:00.000+00:00" time="2.25">
            <system-out>running 1 test
20 kills &amp; 0 lost, p99 &lt; 3 ms
</system-out>
        </testcase>
        <testcase name="shy" classname="testkit::work" time="1.0">
            <flakyFailure message="x" type="test failure"><system-out>first</system-out></flakyFailure>
            <system-out>second</system-out>
        </testcase>
        <testcase name="left_out" classname="testkit::work"><skipped/></testcase>
        <testcase name="broken" classname="testkit::work" time="1.0">
            <failure message="x" type="test failure">boom</failure>
        </testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn junit_files_say_who_passed_how_long_it_took_and_what_it_printed() {
        let report = Report::of_junit(JUNIT);
        let outcomes: Vec<Outcome> = report.cases.iter().map(|it| it.outcome).collect();
        assert_eq!(outcomes, [Outcome::Passed, Outcome::Passed, Outcome::Flaky, Outcome::Failed]);
        assert_eq!(report.passed(), 3);
        assert_eq!((report.cases[1].name.as_str(), report.cases[1].seconds), ("testkit::work loud", 2.25));
        assert_eq!(report.cases[1].output, "running 1 test\n20 kills & 0 lost, p99 < 3 ms\n");
        assert_eq!(report.cases[2].output, "second");
        assert!(Report::of_junit("").cases.is_empty());
    }

    #[test]
    fn lines_of_cargo_test_say_who_ran() {
        let text = "running 3 tests\ntest apps::a ... ok\ntest b ... FAILED\ntest c ... ignored, needs root\n\n\
                    test result: FAILED. 1 passed; 1 failed; 1 ignored\n";
        let report = Report::of_libtest(text);
        let found: Vec<_> = report.cases.iter().map(|it| (it.name.as_str(), it.outcome)).collect();
        assert_eq!(found, [("apps::a", Outcome::Passed), ("b", Outcome::Failed)]);
    }
}
