//! Applies a block to files that are held in memory.

use std::collections::BTreeMap;

use super::blocks::{Block, Step};

/// Applies one block to the files by path. Answers the path that it wrote; a command
/// writes none. What does not apply is an error that names the line of the guide.
pub fn apply(block: &Block, guide: &str, tree: &mut BTreeMap<String, String>) -> Result<Option<String>, String> {
    let (path, text) = match &block.step {
        Step::Run => return Ok(None),
        Step::Create { path } if tree.contains_key(path) => (path, Err("exists already".to_owned())),
        Step::Create { path } => (path, Ok(block.text.clone())),
        Step::Insert { path, after } => (path, existing(tree, path).and_then(|it| inserted(it, after, &block.text))),
        Step::Replace { path, text } => (path, existing(tree, path).and_then(|it| replaced(it, text, &block.text))),
    };
    let text = text.map_err(|error| format!("{guide}:{}: {path} {error}", block.line))?;
    tree.insert(path.clone(), text);
    Ok(Some(path.clone()))
}

fn existing<'a>(tree: &'a BTreeMap<String, String>, path: &str) -> Result<&'a str, String> {
    tree.get(path).map(String::as_str).ok_or_else(|| "does not exist".to_owned())
}

fn inserted(current: &str, after: &str, block: &str) -> Result<String, String> {
    let count = current.lines().filter(|line| line.contains(after)).count();
    if count != 1 {
        return Err(format!("has {count} lines with `{after}`; one is needed"));
    }
    let line = |line: &str| {
        let below = if line.contains(after) { block } else { "" };
        format!("{line}\n{below}")
    };
    Ok(current.lines().map(line).collect())
}

fn replaced(current: &str, text: &str, block: &str) -> Result<String, String> {
    let count = current.matches(text).count();
    if count != 1 {
        return Err(format!("has `{text}` {count} times; once is needed"));
    }
    Ok(current.replace(text, block.trim_end_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(step: Step, text: &str) -> Result<String, String> {
        let mut tree = BTreeMap::from([("a.rs".to_owned(), "mod a;\nmod b;\nmod b;\n".to_owned())]);
        let path = apply(&Block { line: 7, step, text: text.to_owned() }, "g.md", &mut tree)?;
        Ok(tree[&path.unwrap()].clone())
    }

    fn insert(after: &str) -> Step {
        Step::Insert { path: "a.rs".to_owned(), after: after.to_owned() }
    }

    fn replace(text: &str) -> Step {
        Step::Replace { path: "a.rs".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn block_goes_where_it_says() {
        assert_eq!(applied(Step::Create { path: "b.rs".to_owned() }, "fn b() {}\n").unwrap(), "fn b() {}\n");
        assert_eq!(applied(insert("mod a"), "mod c;\n").unwrap(), "mod a;\nmod c;\nmod b;\nmod b;\n");
        assert_eq!(applied(replace("a;"), "c;\n").unwrap(), "mod c;\nmod b;\nmod b;\n");
    }

    #[test]
    fn block_that_does_not_apply_names_the_line_of_the_guide() {
        for (step, error) in [
            (Step::Create { path: "a.rs".to_owned() }, "g.md:7: a.rs exists already"),
            (insert("mod c"), "g.md:7: a.rs has 0 lines with `mod c`; one is needed"),
            (insert("mod b"), "g.md:7: a.rs has 2 lines with `mod b`; one is needed"),
            (replace("b"), "g.md:7: a.rs has `b` 2 times; once is needed"),
            (Step::Insert { path: "b.rs".to_owned(), after: "a".to_owned() }, "g.md:7: b.rs does not exist"),
        ] {
            assert_eq!(applied(step, "").unwrap_err(), error);
        }
    }
}
