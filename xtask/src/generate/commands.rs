//! The variants of an enum as its source declares them, with what is written above each:
//! the commands and roles of a program are such enums.

use crate::tidy::{File, Source};

/// A variant and the first line of its comment.
#[derive(Debug, PartialEq)]
pub struct Variant {
    pub name: String,
    /// The type that it holds, as `module::Type`, where it holds one.
    pub holds: Option<String>,
    pub about: String,
}

/// The variants in the braces that follow `opening`, in order. Hidden commands are left out.
pub fn variants(file: &File, opening: &str) -> Vec<Variant> {
    let source = Source::of(file);
    let Some(start) = source.find(opening).first().copied() else { return Vec::new() };
    let first = source.line_of(start);
    let code: Vec<&str> = source.code_from(0).lines().collect();
    let (mut depth, mut found, mut is_hidden) = (0_usize, Vec::new(), false);
    for (at, line) in code.iter().enumerate().skip(first - 1) {
        let word: String = line.trim().chars().take_while(|it| it.is_alphanumeric()).collect();
        if depth == 1 && line.trim().starts_with("#[") {
            is_hidden |= line.contains("hide = true");
        } else if depth == 1 && word.starts_with(|it: char| it.is_ascii_uppercase()) {
            let holds = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(it, _)| it.to_owned());
            let about = above(&source, &code, at);
            found.extend((!is_hidden).then_some(Variant { name: word, holds, about }));
            is_hidden = false;
        }
        depth = (depth + line.matches('{').count()).saturating_sub(line.matches('}').count());
        if at + 1 > first && depth == 0 {
            break;
        }
    }
    found
}

/// What is written above the declaration of a type or of the field before it.
pub fn about(file: &File, declaration: &str) -> Option<String> {
    let source = Source::of(file);
    let at = *source.find(declaration).first()?;
    let code: Vec<&str> = source.code_from(0).lines().collect();
    Some(above(&source, &code, source.line_of(at) - 1))
}

/// The first line of the comment above a line of code, past its attributes.
fn above(source: &Source, code: &[&str], at: usize) -> String {
    let is_comment = |line: &usize| source.comments.iter().any(|(it, _)| it == line);
    // What stands between is attributes, also over several lines; what is declared before ends otherwise.
    let is_attribute = |line: &usize| {
        let code = code[line - 1].trim();
        !code.is_empty() && !code.ends_with(['{', '}', ',', ';'])
    };
    let block: Vec<usize> = (1..=at).rev().take_while(|line| is_comment(line) || is_attribute(line)).collect();
    let first = block.into_iter().filter(is_comment).min();
    let comment = source.comments.iter().find(|(line, _)| Some(*line) == first);
    comment.map(|(_, text)| text.trim_start_matches('/').trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "/// Runs things.\n#[command(\n    name = \"a\"\n)]\nenum Command {\n    /// Run it\n    ///\n    /// At once.\n    Run {\n        \
                        /// How often\n        Times: u8,\n    },\n    #[command(\n        subcommand\n    )]\n    Keys(keys::Keys),\n    /// Not for people\n    \
                        #[command(hide = true)]\n    Guard,\n}\nenum Other {\n    A,\n}\n";

    #[test]
    fn variants_are_read_with_their_comments_and_hidden_ones_are_left_out() {
        let file = File::new("a.rs", CODE);
        let variant = |name: &str, holds: Option<&str>, about: &str| Variant {
            name: name.to_owned(),
            holds: holds.map(str::to_owned),
            about: about.to_owned(),
        };
        let found = variants(&file, "enum Command {");
        assert_eq!(found, [variant("Run", None, "Run it"), variant("Keys", Some("keys::Keys"), "")]);
        assert_eq!(about(&file, "enum Command").as_deref(), Some("Runs things."));
        assert_eq!(about(&file, "enum Gone"), None);
    }
}
