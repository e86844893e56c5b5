//! The server speaks through logs with fields, and its libraries not at all;
//! only a program's face writes to the terminal.

use super::source::Source;
use super::{File, Problem};

const CALLS: &[&str] = &["println!", "print!", "eprintln!", "eprint!"];
const ADVICE: &str = "use tracing with fields, or return the text and let main.rs print it";

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| is_silent(file)) {
        let source = Source::of(file);
        let calls = CALLS.iter().flat_map(|call| source.find(call));
        let calls = calls.filter(|at| !source.in_tests(*at));
        problems.extend(calls.map(|at| Problem::new(file, source.line_of(at), ADVICE)));
    }
    problems
}

fn is_silent(file: &File) -> bool {
    // A build script speaks to cargo by printing.
    let is_program = ["main.rs", "build.rs"].contains(&file.name());
    let is_face = is_program || ["/dev/", "/commands/"].iter().any(|it| file.path.contains(it));
    let is_library = file.is_of_the_control_plane() || ["kernel", "contract"].iter().any(|name| file.is_in(name));
    file.is_rust() && is_library && !is_face && !file.is_test()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_clean(path: &str) -> bool {
        check(&[File::new(path, "fn f() { eprintln!(\"x\") }")]).is_empty()
    }

    #[test]
    fn printing_in_a_library_is_found() {
        assert!(!is_clean("crates/platform/src/http/mod.rs"));
        assert!(!is_clean("crates/kernel/src/work.rs"));
    }

    #[test]
    fn a_programs_face_may_print() {
        assert!(is_clean("crates/gpuaasd/src/main.rs"));
        assert!(is_clean("crates/gpuaasd/build.rs"));
        assert!(is_clean("crates/gpuaasd/src/dev/banner.rs"));
        assert!(is_clean("crates/cli/src/table.rs"));
        assert!(is_clean("crates/kernel/tests/work.rs"));
    }
}
