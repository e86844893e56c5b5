//! The command: the size and the edges of every crate, as a page for people.

use std::path::Path;

use super::Graph;
use crate::tidy;

/// Prints the graph of every crate, then what the crates use of each other.
pub fn run(root: &Path) -> Result<(), String> {
    let files = tidy::tracked(root)?;
    for crate_edges in tidy::crate_edges(&files) {
        let krate = &crate_edges.krate;
        let graph = Graph::of(krate, &files);
        let cycle = graph.largest_cycle();
        println!("{krate}: {} files, {} lines, {} folders", graph.files, graph.lines, graph.folders.len());
        for ((from, to), locations) in &graph.edges {
            println!("  {from} -> {to} ({})", locations.len());
        }
        println!("  largest cycle: {} folders: {}", cycle.len(), listed(&cycle));
        println!("  uses {}; may also use {}", listed(&crate_edges.used), listed(&crate_edges.unused));
        if !crate_edges.forbidden.is_empty() {
            println!("  MAY NOT USE {}", listed(&crate_edges.forbidden));
        }
    }
    Ok(())
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
