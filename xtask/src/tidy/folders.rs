//! Dependency cycles between the folders of a crate stay small: who changes one
//! folder of a cycle has to know all of it.

use super::edges::crate_of;
use super::{File, Problem};
use crate::graph::Graph;

/// The most folders that may all reach each other.
const MOST: usize = 5;

/// Its mechanisms are a file each, and all of them meet in one transaction.
const EXCUSED: &str = "kernel";

pub fn check(files: &[File]) -> Vec<Problem> {
    let manifests = files.iter().filter_map(|file| Some((crate_of(&file.path)?, file)));
    let manifests = manifests.filter(|(krate, _)| *krate != EXCUSED);
    manifests
        .filter_map(|(krate, manifest)| Some(Problem::new(manifest, 1, advice(&Graph::of(krate, files))?)))
        .collect()
}

fn advice(graph: &Graph) -> Option<String> {
    let cycle = graph.largest_cycle();
    if cycle.len() <= MOST {
        return None;
    }
    let ((from, to), places) = graph.edge_to_cut()?;
    let place = places.first()?;
    Some(format!(
        "{} folders form a dependency cycle, at most {MOST} may: {}; cut {from} -> {to} first ({}:{} is one of {}): \
         move what is shared into a folder of its own, or react to an event",
        cycle.len(),
        cycle.join(", "),
        place.path,
        place.line,
        places.len(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate whose folders use the next one, and the last one the first.
    fn cycle(krate: &str, length: usize) -> Vec<File> {
        let folder = |at: usize| {
            let next = (at + 1) % length;
            File::new(format!("crates/{krate}/src/f{at}/mod.rs"), format!("\nuse crate::f{next};"))
        };
        let manifest = File::new(format!("crates/{krate}/Cargo.toml"), "");
        (0..length).map(folder).chain([manifest]).collect()
    }

    #[test]
    fn cycle_of_too_many_folders_is_found_with_an_edge_to_cut() {
        let problems = check(&cycle("people", MOST + 1));
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path, "crates/people/Cargo.toml");
        let advice = &problems[0].advice;
        assert!(advice.contains("f0, f1, f2, f3, f4, f5; cut f0 -> f1 first"), "{advice}");
        assert!(advice.contains("crates/people/src/f0/mod.rs:2"), "{advice}");
    }

    #[test]
    fn kernel_is_excused_and_no_other_crate() {
        assert_eq!(check(&cycle("kernel", MOST + 1)), []);
        assert_eq!(check(&cycle("agent", MOST + 1)).len(), 1);
    }

    #[test]
    fn small_cycle_passes() {
        assert_eq!(check(&cycle("people", MOST)), []);
    }
}
