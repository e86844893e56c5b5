//! The walk of one allocation in ARCHITECTURE.md can be followed: it is short, and
//! every stop names a function that is where the stop says.

use super::source::Source;
use super::{File, Problem};

const PAGE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## An allocation, ";
const MOST: usize = 30;

const FORM: &str = "write the stop as `path/to/file.rs` `function`: what it does";

pub fn check(files: &[File]) -> Vec<Problem> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else { return Vec::new() };
    let stops = stops(&page.text);
    let mut problems = Vec::new();
    if stops.is_empty() {
        let advice = format!("a section `{HEADING}…` lists the stops of an allocation's walk, numbered");
        problems.push(Problem::new(page, 1, advice));
    }
    if let Some((line, _)) = stops.get(MOST) {
        let advice = format!("the walk has {} stops; at most {MOST} can be followed, so join some", stops.len());
        problems.push(Problem::new(page, *line, advice));
    }
    problems.extend(stops.iter().filter_map(|(line, stop)| Some(Problem::new(page, *line, wrong(stop, files)?))));
    problems
}

/// The numbered lines of the section, without their numbers.
fn stops(page: &str) -> Vec<(usize, &str)> {
    let lines = page.lines().enumerate().skip_while(|(_, line)| !line.starts_with(HEADING)).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with("## "));
    section
        .filter_map(|(at, line)| {
            let (number, stop) = line.split_once(". ")?;
            number.parse::<usize>().is_ok().then_some((at + 1, stop))
        })
        .collect()
}

/// What is wrong with a stop.
fn wrong(stop: &str, files: &[File]) -> Option<String> {
    let mut parts = stop.splitn(5, '`');
    let (Some(""), Some(path), Some(" "), Some(function), Some(_)) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Some(FORM.to_owned());
    };
    let Some(file) = files.iter().find(|file| file.path == path) else {
        return Some(format!("`{path}` does not exist; name the file that the stop is in now"));
    };
    let source = Source::of(file);
    let is_there = source.find(&format!("fn {function}")).into_iter().any(|at| !source.in_tests(at));
    (!is_there).then(|| format!("`{path}` has no function `{function}`; name the one that is called now"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(stops: &str) -> Vec<(usize, String)> {
        let page = format!("# Architecture\n\n{HEADING}and back\n\n{stops}\n## Next\n\n1. Not a stop.\n");
        let code = "pub async fn wake<T>() {}\n#[cfg(test)]\nmod tests {\n    fn planted() {}\n}\n";
        let files = [File::new(PAGE, page), File::new("crates/kernel/src/work.rs", code)];
        check(&files).into_iter().map(|problem| (problem.line, problem.advice)).collect()
    }

    const GOOD: &str = "1. `crates/kernel/src/work.rs` `wake`: queues a visit.\n";

    #[test]
    fn stop_whose_file_or_function_is_gone_is_found_at_its_line() {
        assert_eq!(problems(GOOD), []);
        for (stop, advice) in [
            ("2. `crates/kernel/src/gone.rs` `wake`: queues.\n", "does not exist"),
            ("2. `crates/kernel/src/work.rs` `sleep`: queues.\n", "has no function `sleep`"),
            ("2. `crates/kernel/src/work.rs` `planted`: queues.\n", "has no function `planted`"),
            ("2. It queues a visit.\n", FORM),
        ] {
            let found = problems(&format!("{GOOD}{stop}"));
            assert!(found.len() == 1 && found[0].0 == 6 && found[0].1.contains(advice), "{stop}: {found:?}");
        }
    }

    #[test]
    fn walk_that_is_too_long_or_gone_is_found() {
        assert_eq!(problems(&GOOD.repeat(MOST)), []);
        let found = problems(&GOOD.repeat(MOST + 1));
        assert!(found.len() == 1 && found[0].0 == 5 + MOST && found[0].1.contains("31 stops"), "{found:?}");
        assert_eq!(problems("No stops.\n").len(), 1);
    }
}
