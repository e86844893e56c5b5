//! Performs a guide of `docs/guides` on a copy of the tree, so that what it says
//! is known to work. CONTRIBUTING.md says how a guide marks what is performed.

mod blocks;
mod edits;
mod perform;
mod touched;

pub use perform::run;

use blocks::Block;

/// The blocks of a guide after those of the guides that it continues, each with its page.
fn chain(guide: &str, read: &dyn Fn(&str) -> Option<String>) -> Result<Vec<(String, Block)>, String> {
    let text = read(guide).ok_or_else(|| format!("cannot read {guide}"))?;
    let mut blocks = blocks::before(guide, &text).map_or(Ok(Vec::new()), |it| chain(&it, read))?;
    blocks.extend(blocks::of(guide, &text)?.into_iter().map(|block| (guide.to_owned(), block)));
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{chain, edits};
    use crate::tidy;

    /// The guides that must be performable.
    const GUIDES: [&str; 4] = [
        "docs/guides/add-a-resource.md",
        "docs/guides/add-a-resource-folder.md",
        "docs/guides/add-a-workload.md",
        "docs/guides/add-a-meter.md",
    ];

    #[test]
    fn every_block_of_a_guide_applies_to_the_tree() {
        let files = tidy::tracked(&crate::root()).unwrap();
        let before: BTreeMap<String, String> = files.into_iter().map(|file| (file.path, file.text)).collect();
        let is_guide = |path: &&String| path.starts_with("docs/guides/") && path.ends_with(".md");
        let mut performed = Vec::new();
        for guide in before.keys().filter(is_guide) {
            let mut tree = before.clone();
            for (page, block) in chain(guide, &|path| before.get(path).cloned()).unwrap() {
                edits::apply(&block, &page, &mut tree).unwrap();
                performed.push(page);
            }
        }
        for guide in GUIDES {
            assert!(performed.iter().any(|it| it == guide), "{guide} has no block that can be performed");
        }
    }
}
