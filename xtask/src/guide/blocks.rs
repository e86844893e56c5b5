//! What a guide marks for performing: fenced blocks whose info string says so.

/// A block, by the line of its fence.
#[derive(Debug, PartialEq)]
pub struct Block {
    pub line: usize,
    pub step: Step,
    pub text: String,
}

#[derive(Debug, PartialEq)]
pub enum Step {
    /// `file=PATH`: makes the file.
    Create { path: String },
    /// `file=PATH after="TEXT"`: inserts below the one line that holds the text.
    Insert { path: String, after: String },
    /// `file=PATH replace="TEXT"`: puts the block in the place of the one such text.
    Replace { path: String, text: String },
    /// `run`: runs the lines as a shell script in the root of the copy.
    Run,
}

/// The marked blocks of a guide, in order. Blocks without a mark are for reading.
pub fn of(guide: &str, text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, opening)) = lines.next() {
        let info = opening.trim_start_matches('`');
        let fence = &opening[..opening.len() - info.len()];
        if fence.len() < 3 {
            continue;
        }
        let body: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != fence).collect();
        let said = |error: String| format!("{guide}:{}: {error}", at + 1);
        if let Some(step) = step(info).map_err(said)? {
            let text = body.iter().map(|line| format!("{line}\n")).collect();
            blocks.push(Block { line: at + 1, step, text });
        }
    }
    Ok(blocks)
}

/// The guide that has to be performed before, which the line `Continues [Title](file.md)`
/// names, in the same folder.
pub fn before(guide: &str, text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("Continues ["))?;
    let (_, target) = line.split_once("](")?;
    let (folder, _) = guide.rsplit_once('/')?;
    Some(format!("{folder}/{}", target.split_once(')')?.0))
}

/// What an info string asks for, after the language.
fn step(info: &str) -> Result<Option<Step>, String> {
    let Some((_, mut rest)) = info.split_once(' ') else { return Ok(None) };
    let (mut path, mut after, mut replace) = (None, None, None);
    while !rest.is_empty() {
        let (key, value, more) = setting(rest)?;
        match (key, value) {
            ("run", None) => return Ok(Some(Step::Run)),
            ("file", Some(value)) => path = Some(value),
            ("after", Some(value)) => after = Some(value),
            ("replace", Some(value)) => replace = Some(value),
            _ => return Err(format!("`{key}` is none of run, file=, after= and replace=")),
        }
        rest = more;
    }
    match (path, after, replace) {
        (Some(path), None, None) => Ok(Some(Step::Create { path })),
        (Some(path), Some(after), None) => Ok(Some(Step::Insert { path, after })),
        (Some(path), None, Some(text)) => Ok(Some(Step::Replace { path, text })),
        _ => Err("name one file=, with after= or replace= or neither".to_owned()),
    }
}

/// The first word of what is left, its value, and the rest.
fn setting(text: &str) -> Result<(&str, Option<String>, &str), String> {
    let end = text.find([' ', '=']).unwrap_or(text.len());
    let (key, rest) = text.split_at(end);
    let Some(rest) = rest.strip_prefix('=') else { return Ok((key, None, rest.trim_start())) };
    let Some(quoted) = rest.strip_prefix('"') else {
        let (value, rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        return Ok((key, Some(value.to_owned()), rest.trim_start()));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((key, Some(value), quoted[at + 1..].trim_start())),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    Err(format!("the quotation of `{key}` does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_blocks_are_read_with_their_line_and_others_are_left() {
        let guide = "Text\n```rust\nlet a;\n```\n```rust file=a.rs\nfn a() {}\n\n```\n````md file=b.md\n```sh run\n```\n````\n\
                     ```sh run\nls\n```\n";
        let create = |path: &str| Step::Create { path: path.to_owned() };
        let block = |line, step, text: &str| Block { line, step, text: text.to_owned() };
        assert_eq!(
            of("g.md", guide).unwrap(),
            [
                block(5, create("a.rs"), "fn a() {}\n\n"),
                block(9, create("b.md"), "```sh run\n```\n"),
                block(13, Step::Run, "ls\n"),
            ]
        );
    }

    #[test]
    fn guide_names_the_one_that_it_continues() {
        let text = "# B\n\nContinues [A](a.md): more of it.\n";
        assert_eq!(before("docs/guides/b.md", text).as_deref(), Some("docs/guides/a.md"));
        assert_eq!(before("docs/guides/b.md", "It continues [A](a.md)."), None);
    }

    #[test]
    fn anchor_may_hold_spaces_and_quotation_marks() {
        let path = || "a.rs".to_owned();
        let insert = Step::Insert { path: path(), after: "let a = \"b\";".to_owned() };
        assert_eq!(step(r#"rust file=a.rs after="let a = \"b\";""#), Ok(Some(insert)));
        assert_eq!(
            step(r#"rust replace="a" file=a.rs"#),
            Ok(Some(Step::Replace { path: path(), text: "a".to_owned() }))
        );
        assert_eq!(step("text"), Ok(None));
    }

    #[test]
    fn mark_that_cannot_be_read_is_an_error_at_its_line() {
        for mark in ["rust title=a", "rust after=\"a\"", "rust file=a after=\"b", "rust file=a after=b replace=c"] {
            let error = of("g.md", &format!("\n```{mark}\n```\n")).unwrap_err();
            assert!(error.starts_with("g.md:2: "), "{mark}: {error}");
        }
    }
}
