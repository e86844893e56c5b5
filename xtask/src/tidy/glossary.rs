//! The glossary leads to the code: every path that it names for a term exists.

use std::collections::HashSet;

use super::{File, Problem};

const PAGE: &str = "docs/glossary.md";
const CODE: &str = "crates/";

pub fn check(files: &[File]) -> Vec<Problem> {
    let Some(page) = files.iter().find(|it| it.path == PAGE) else { return Vec::new() };
    let places = places(files);
    let mut problems = Vec::new();
    for (at, line) in page.text.lines().enumerate() {
        for path in named_paths(line).filter(|path| !places.contains(*path)) {
            let advice = format!("no file or folder below `{CODE}` ends in `{path}`; name the one that implements it");
            problems.push(Problem::new(page, at + 1, advice));
        }
    }
    problems
}

/// Every way to name a file or folder below `crates/` by its end, folders with a
/// slash at theirs.
fn places(files: &[File]) -> HashSet<&str> {
    let mut places = HashSet::new();
    for path in files.iter().filter_map(|it| it.path.strip_prefix(CODE)) {
        let ends = path.match_indices('/').map(|(at, _)| at + 1).chain([path.len()]);
        for end in ends {
            let whole = &path[..end];
            places.insert(whole);
            let starts = whole.trim_end_matches('/').match_indices('/');
            places.extend(starts.map(|(at, _)| &whole[at + 1..]));
        }
    }
    places
}

/// The last column of a table of three, as far as it is code.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let columns: Vec<&str> = line.split('|').collect();
    let last = if columns.len() == 5 { columns[3] } else { "" };
    last.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(page: &str) -> Vec<usize> {
        let code = File::new("crates/money/src/wallets/plan.rs", "");
        check(&[code, File::new(PAGE, page)]).into_iter().map(|it| it.line).collect()
    }

    #[test]
    fn a_term_whose_code_does_not_exist_is_found() {
        assert_eq!(lines("# Glossary\n| hold | Money set aside. | `walets/` |\n"), [2]);
        assert_eq!(lines("| hold | Money set aside. | `wallets/`, `wallets/hold.rs` |\n"), [1]);
        assert_eq!(lines("| hold | Money set aside. | `llets/` |\n"), [1]);
    }

    #[test]
    fn folders_and_files_are_named_by_their_end() {
        for path in ["wallets/", "src/wallets/", "money/src/wallets/plan.rs", "plan.rs"] {
            assert!(lines(&format!("| hold | Money set aside. | `{path}` |\n")).is_empty(), "{path}");
        }
        assert!(lines("| `told` | notified |\n").is_empty());
    }
}
