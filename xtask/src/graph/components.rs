//! Groups of folders that all reach each other.

use std::collections::{BTreeMap, BTreeSet};

use super::Edge;

/// The largest group, sorted; empty where no folder is in a cycle.
pub fn largest<'a>(folders: &BTreeSet<String>, edges: impl Iterator<Item = &'a Edge>) -> Vec<String> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(from).or_default().push(to);
    }
    let reach: BTreeMap<&str, BTreeSet<&str>> = folders.iter().map(|it| (it.as_str(), reached(it, &next))).collect();
    let group = |of: &str| -> Vec<String> {
        let both = reach[of].iter().filter(|it| reach[**it].contains(of));
        both.map(|it| (*it).to_owned()).collect()
    };
    let groups = folders.iter().map(|it| group(it));
    groups.fold(Vec::new(), |best, it| if it.len() > best.len() { it } else { best })
}

/// Every folder that a path leads to from this one; itself only in a cycle.
fn reached<'a>(from: &'a str, next: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        open.extend(next.get(at).into_iter().flatten().filter(|it| seen.insert(**it)).copied());
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(edges: &[(&str, &str)]) -> Vec<String> {
        let edges: Vec<Edge> = edges.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        let folders = edges.iter().flat_map(|(from, to)| [from.clone(), to.clone()]).collect();
        largest(&folders, edges.iter())
    }

    #[test]
    fn largest_of_several_cycles_is_found() {
        assert_eq!(of(&[("a", "b"), ("b", "a"), ("c", "d"), ("d", "e"), ("e", "c"), ("b", "c")]), ["c", "d", "e"]);
    }

    #[test]
    fn folders_in_no_cycle_are_no_group() {
        assert_eq!(of(&[("a", "b"), ("b", "c"), ("a", "c")]), Vec::<String>::new());
    }
}
