//! What documents point at exists: files, folders, headings and pictures. And
//! what is kept below `docs` can be found: some document points at it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{File, Problem};

const DOCUMENTS: &str = "docs/";
const PICTURES: &str = "docs/pictures/";

pub fn check(files: &[File]) -> Vec<Problem> {
    let tree = Tree::of(files);
    let mut problems = Vec::new();
    let mut pointed_at = HashSet::new();
    for file in files.iter().filter(|it| it.extension() == "md") {
        for Link { line, target } in links(&file.text) {
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let Some(path) = resolved(&file.path, path) else {
                problems.push(Problem::new(
                    file,
                    line,
                    format!("`{target}` leads out of the repository; name a path in it"),
                ));
                continue;
            };
            pointed_at.insert(path.clone());
            if !tree.has(&path) {
                problems.push(Problem::new(
                    file,
                    line,
                    format!("`{target}` does not exist; mend the link or add `{path}`"),
                ));
            } else if !anchor.is_empty() && tree.headings.get(path.as_str()).is_some_and(|it| !it.contains(anchor)) {
                let advice = format!("no heading of `{path}` makes `#{anchor}`; use the one that is meant");
                problems.push(Problem::new(file, line, advice));
            }
        }
    }
    for file in files.iter().filter(|it| !pointed_at.contains(&it.path)) {
        if file.path.starts_with(PICTURES) {
            problems.push(Problem::new(file, 1, "no document shows this picture; show it or remove it"));
        } else if file.path.starts_with(DOCUMENTS) && file.extension() == "md" {
            problems.push(Problem::new(file, 1, "no document leads here; link to it from docs/README.md"));
        }
    }
    problems
}

struct Tree<'a> {
    files: HashSet<&'a str>,
    folders: HashSet<&'a str>,
    /// The anchors of each document.
    headings: HashMap<&'a str, HashSet<String>>,
}

impl<'a> Tree<'a> {
    fn of(files: &'a [File]) -> Self {
        let paths = || files.iter().map(|it| it.path.as_str());
        let folders = paths().flat_map(|it| it.match_indices('/').map(move |(at, _)| &it[..at]));
        let documents = files.iter().filter(|it| it.extension() == "md");
        Self {
            files: paths().collect(),
            folders: folders.collect(),
            headings: documents.map(|it| (it.path.as_str(), anchors(&it.text))).collect(),
        }
    }

    fn has(&self, path: &str) -> bool {
        path.is_empty() || self.files.contains(path) || self.folders.contains(path)
    }
}

struct Link {
    line: usize,
    target: String,
}

/// Links to places in the repository; addresses of elsewhere are not judged.
fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        let targets = between(&text, "](", ')').chain(between(&text, "src=\"", '"')).chain(reference(&text));
        let here = targets.filter(|it| !it.contains("://") && !it.starts_with("mailto:"));
        found.extend(here.map(|it| Link { line, target: it.split(' ').next().unwrap_or_default().to_owned() }));
    }
    found
}

/// The lines that are not code, numbered, without their inline code.
pub(super) fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        let outside = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        (!in_code && !is_fence).then_some((at + 1, outside))
    })
}

fn between<'a>(text: &'a str, start: &'a str, end: char) -> impl Iterator<Item = &'a str> {
    text.match_indices(start).filter_map(move |(at, _)| text[at + start.len()..].split(end).next())
}

/// `[name]: target`, at the start of a line.
fn reference(text: &str) -> Option<&str> {
    let (name, target) = text.strip_prefix('[')?.split_once("]: ")?;
    (!name.contains(']')).then_some(target)
}

/// The path from the repository's root, if it stays inside.
fn resolved(from: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => (),
            ".." => drop(parts.pop()?),
            other => parts.push(other),
        }
    }
    Some(parts.join("/"))
}

/// What the headings of a document can be linked by, as code hosts make it.
fn anchors(text: &str) -> HashSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = HashSet::new();
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if in_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let slug = slug(heading.trim());
        let count = seen.entry(slug.clone()).or_insert(0);
        all.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    all
}

fn slug(heading: &str) -> String {
    let kept = |it: &char| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_');
    heading.to_lowercase().chars().filter(kept).map(|it| if it == ' ' { '-' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = "# A guide\n\n## Take, use, give back\n\n```sh\n# no heading\n```\n\n## Take, use, give back\n";

    fn problems(text: &str) -> Vec<String> {
        let files = [
            File::new("README.md", text),
            File::new("docs/guides/a.md", GUIDE),
            File::new("docs/pictures/overview.png", ""),
        ];
        let about_the_text = check(&files).into_iter().filter(|it| it.path == "README.md");
        about_the_text.map(|it| format!("{}: {}", it.line, it.advice)).collect()
    }

    #[test]
    fn a_link_or_a_picture_that_leads_nowhere_is_found_at_its_line() {
        for text in [
            "x\n[a](docs/guides/b.md)",
            "x\n![a](docs/pictures/gone.png)",
            "x\n<img src=\"docs/pictures/gone.png\" width=\"400\">",
            "x\n[a]: docs/guides/b.md",
            "x\n[a](../other/README.md)",
            "x\n[a](docs/guides/a.md#take-use)",
            "x\n[a](docs/guides/a.md#no-heading)",
            "x\n[a](#elsewhere)",
        ] {
            let found = problems(text);
            assert!(found.len() == 1 && found[0].starts_with("2: "), "{text}: {found:?}");
        }
    }

    #[test]
    fn link_that_exists_leads_elsewhere_or_is_code_passes() {
        for text in [
            "[a](docs/guides/a.md), [b](docs/guides/a.md#take-use-give-back), [c](docs/guides/a.md#take-use-give-back-1)",
            "[a](docs/guides), [b](docs/guides/), [c](./docs/../README.md)",
            "[a](https://example.com/b.md), [b](mailto:a@example.com)",
            "```md\n[a](b.md)\n```\nand `[a](b.md)`",
            "# Here\n[a](#here)",
        ] {
            assert_eq!(problems(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_page_or_a_picture_that_nothing_leads_to_is_found() {
        let files = |text: &str| {
            let of_docs = ["docs/pictures/overview.png", "docs/guides/a.md", "docs/examples/team.yaml"];
            let others = of_docs.into_iter().map(|it| File::new(it, ""));
            others.chain([File::new("README.md", text)]).collect::<Vec<_>>()
        };
        assert!(check(&files("![a](docs/pictures/overview.png) [b](docs/guides/a.md)")).is_empty());
        let found: Vec<String> = check(&files("")).into_iter().map(|it| it.path).collect();
        assert_eq!(found, ["docs/pictures/overview.png", "docs/guides/a.md"]);
    }
}
