//! A file past 500 lines hides a seam. Generated files, lock files and tests are
//! long for other reasons.

use super::{File, Problem};

const LONGEST: usize = 500;
const READ_BY_PEOPLE: &[&str] =
    &["rs", "sql", "sh", "toml", "yml", "yaml", "ts", "tsx", "js", "mjs", "py", "css", "html", "md"];

pub fn check(files: &[File]) -> Vec<Problem> {
    let judged = |file: &&File| READ_BY_PEOPLE.contains(&file.extension()) && !is_excused(file);
    let too_long = files.iter().filter(judged).filter_map(|file| {
        let lines = file.text.lines().count();
        let advice = format!("{lines} lines, at most {LONGEST}; split it by action into files of 100 to 200");
        (lines > LONGEST).then(|| Problem::new(file, LONGEST + 1, advice))
    });
    too_long.collect()
}

fn is_excused(file: &File) -> bool {
    let is_generated = file.path.contains("generated/")
        || file.path.starts_with("api/")
        || file.text.lines().take(5).any(|line| line.contains("@generated"));
    let is_lock = file.name().contains("-lock.") || file.extension() == "lock";
    let is_snapshot = file.path.contains("snapshots/");
    let is_script_test = [".test.ts", ".test.tsx", ".spec.ts"].iter().any(|end| file.path.ends_with(end));
    is_generated || is_lock || is_snapshot || is_script_test || (file.is_test() && !file.is_in("testkit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, lines: usize) -> usize {
        check(&[File::new(path, "x\n".repeat(lines))]).len()
    }

    #[test]
    fn a_file_past_the_limit_is_found() {
        assert_eq!(problems("crates/kernel/src/a.rs", 501), 1);
        assert_eq!(problems("crates/kernel/src/a.rs", 500), 0);
    }

    #[test]
    fn generated_lock_and_test_files_may_be_long() {
        for path in [
            "docs/generated/errors.md",
            "Cargo.lock",
            "console/package-lock.json",
            "crates/kernel/tests/work.rs",
            "crates/kernel/src/snapshots/a.snap",
        ] {
            assert_eq!(problems(path, 900), 0, "{path}");
        }
    }
}
