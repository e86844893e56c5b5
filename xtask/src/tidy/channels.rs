//! Every queue has a bound, so that a slow reader slows its writer instead of
//! filling the memory.

use super::source::Source;
use super::{File, Problem};

const CALLS: &[&str] = &[
    "unbounded_channel",
    "UnboundedSender",
    "UnboundedReceiver",
    "unbounded(",
    "unbounded::<",
    "std::sync::mpsc::channel",
    "std::sync::mpsc::{channel",
];
const ADVICE: &str = "use a channel with a capacity, and say what happens when it is full";

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let source = Source::of(file);
        let named = CALLS.iter().flat_map(|call| source.find(call));
        // Only the standard library's unbounded one is called without a capacity.
        let mut lines: Vec<usize> = named
            .chain(source.find("mpsc::channel()"))
            .chain(without_capacity(&source))
            .map(|at| source.line_of(at))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        problems.extend(lines.into_iter().map(|line| Problem::new(file, line, ADVICE)));
    }
    problems
}

/// `mpsc::channel::<T>()`, whatever `T` is.
fn without_capacity(source: &Source) -> Vec<usize> {
    let typed = source.find("mpsc::channel::<");
    let takes_nothing = |at: &usize| {
        let call = source.code_from(*at);
        call.find('(').is_some_and(|open| call[open + 1..].trim_start().starts_with(')'))
    };
    typed.into_iter().filter(takes_nothing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_clean(text: &str) -> bool {
        check(&[File::new("crates/kernel/src/bell.rs", text)]).is_empty()
    }

    #[test]
    fn unbounded_channels_are_found() {
        assert!(!is_clean("let (a, b) = tokio::sync::mpsc::unbounded_channel();"));
        assert!(!is_clean("let (a, b) = mpsc::channel();"));
        assert!(!is_clean("let (a, b) = mpsc::channel::<Vec<u8>>();"));
        assert!(!is_clean("use std::sync::mpsc::channel;"));
        assert!(!is_clean("let (a, b) = flume::unbounded();"));
    }

    #[test]
    fn bounded_channels_pass() {
        assert!(is_clean("let (a, b) = mpsc::channel(64);"));
        assert!(is_clean("let (a, b) = mpsc::channel::<Vec<u8>>(64);"));
        assert!(is_clean("// never unbounded_channel()\nlet a = watch::channel(());"));
    }
}
