//! Tells Rust code, comments and literals apart, so that a rule about code is not
//! triggered by prose and a rule about SQL sees only strings. A full parser would
//! be exact about macros too; no rule needs that.

use super::files::File;
use super::lexer;
use std::ops::Range;

/// A string literal, with escapes blanked so that offsets stay true.
pub struct Literal {
    pub line: usize,
    pub offset: usize,
    pub text: String,
}

/// A Rust file taken apart.
pub struct Source {
    /// The file with comments and the insides of literals blanked.
    code: String,
    pub literals: Vec<Literal>,
    /// Comment text by line.
    pub comments: Vec<(usize, String)>,
    tests: Vec<Range<usize>>,
    line_starts: Vec<usize>,
}

impl Source {
    pub fn of(file: &File) -> Self {
        let mut source = Self {
            code: String::new(),
            literals: Vec::new(),
            comments: Vec::new(),
            tests: Vec::new(),
            line_starts: line_starts(&file.text),
        };
        source.code = source.take_apart(file.text.as_bytes());
        source.tests = test_items(&source.code);
        source
    }

    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// Whether the offset lies in an item under `#[cfg(test)]`.
    pub fn in_tests(&self, offset: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&offset))
    }

    /// Where `needle` stands in code as whole words, however it is wrapped.
    pub fn find(&self, needle: &str) -> Vec<usize> {
        let code = self.code.as_bytes();
        let needle: Vec<u8> = needle.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        let (Some(&first), Some(&last)) = (needle.first(), needle.last()) else {
            return Vec::new();
        };
        let starts = code.iter().enumerate().filter(|(_, byte)| **byte == first);
        starts
            .filter(|(at, _)| !is_word(first) || *at == 0 || !is_word(code[at - 1]))
            .filter_map(|(at, _)| match_spaced(code, at, &needle).map(|end| (at, end)))
            .filter(|(_, end)| !is_word(last) || !code.get(*end).copied().is_some_and(is_word))
            .map(|(at, _)| at)
            .collect()
    }

    /// The code from an offset on.
    pub fn code_from(&self, offset: usize) -> &str {
        self.code.get(offset..).unwrap_or_default()
    }

    /// The code with items under `#[cfg(test)]` blanked too.
    pub fn without_tests(&self) -> String {
        let mut code = self.code.clone().into_bytes();
        for range in &self.tests {
            code[range.clone()].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
        String::from_utf8_lossy(&code).into_owned()
    }

    /// Whether a comment on this line, or in the block right above it, gives a
    /// reason after `marker`.
    pub fn explained(&self, line: usize, marker: &str) -> bool {
        let gives_reason = |at: usize| {
            let on_line = self.comments.iter().filter(|(line, _)| *line == at);
            on_line
                .map(|(_, text)| text)
                .any(|text| text.split_once(marker).is_some_and(|(_, reason)| !reason.trim().is_empty()))
        };
        let comment_above = |at: &usize| {
            let code = self.code.lines().nth(at - 1).unwrap_or_default();
            code.trim().is_empty() && self.comments.iter().any(|(line, _)| line == at)
        };
        gives_reason(line) || (1..line).rev().take_while(comment_above).any(gives_reason)
    }

    fn take_apart(&mut self, text: &[u8]) -> String {
        let mut code = text.to_vec();
        for piece in lexer::pieces(text) {
            self.keep(text, &piece);
            for byte in &mut code[piece] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        for byte in &mut code {
            if !byte.is_ascii() {
                *byte = b' ';
            }
        }
        String::from_utf8_lossy(&code).into_owned()
    }

    fn keep(&mut self, text: &[u8], range: &Range<usize>) {
        let piece = String::from_utf8_lossy(&text[range.clone()]).into_owned();
        let line = self.line_of(range.start);
        if piece.starts_with("//") || piece.starts_with("/*") {
            let lines = piece.lines().enumerate();
            self.comments.extend(lines.map(|(n, text)| (line + n, text.to_owned())));
        } else if !piece.starts_with('\'') {
            self.literals.push(Literal { line, offset: range.start, text: lexer::blank_escapes(&piece) });
        }
    }
}

pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn line_starts(text: &str) -> Vec<usize> {
    let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect()
}

fn match_spaced(code: &[u8], start: usize, needle: &[u8]) -> Option<usize> {
    let mut at = start;
    for byte in needle {
        while at > start && code.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        if code.get(at) != Some(byte) {
            return None;
        }
        at += 1;
    }
    Some(at)
}

fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut items = Vec::new();
    for (start, attribute) in code.match_indices("#[cfg(test)]") {
        let (mut depth, mut end) = (0, code.len());
        for (at, byte) in code.bytes().enumerate().skip(start + attribute.len()) {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b';' if depth == 0 => end = at + 1,
                _ => continue,
            }
            if byte == b'}' && depth == 0 {
                end = at + 1;
            }
            if end < code.len() {
                break;
            }
        }
        items.push(start..end);
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::of(&File::new("a.rs", text))
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        let s = source("// stop();\n/* stop(); /* nested */ stop(); */\nlet a = \"stop()\"; stop();");
        assert_eq!(s.find("stop(").iter().map(|at| s.line_of(*at)).collect::<Vec<_>>(), [3]);
        assert_eq!(s.literals[0].text.trim(), "stop()");
    }

    #[test]
    fn raw_strings_lifetimes_and_chars_do_not_confuse_it() {
        let s = source("fn f<'a>(x: &'a str) { g(r#\"a \" b\"#, '\"', b'\\'', \"\\\"\"); stop() }");
        assert_eq!(s.literals.len(), 2);
        assert_eq!(s.literals[0].text.trim(), "a \" b");
        assert_eq!(s.find("stop").len(), 1);
    }

    #[test]
    fn words_are_whole_and_may_be_wrapped() {
        let s = source("tx\n    .enter(\n        Scope::System);\nreenter(Scope::System)");
        assert_eq!(s.find(".enter(Scope::").len(), 1);
        assert_eq!(s.find("ente").len(), 0);
    }

    #[test]
    fn items_under_cfg_test_are_tests() {
        let s = source("fn a() {}\n#[cfg(test)]\nmod tests { fn b() { {} } }\nfn c() {}");
        let in_tests = |word: &str| s.in_tests(s.find(word)[0]);
        assert!(!in_tests("a"));
        assert!(in_tests("b"));
        assert!(!in_tests("c"));
    }

    #[test]
    fn a_reason_stands_on_the_line_or_right_above() {
        let s = source("// bound: drain\nlet a = 1;\nlet b = 1; // bound: poll\nlet c = 1; // bound:\n");
        assert!(s.explained(2, "bound:"));
        assert!(s.explained(3, "bound:"));
        assert!(!s.explained(4, "bound:"));
    }
}
