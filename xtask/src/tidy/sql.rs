//! Reads SQL just far enough for the rules: words without comments, and
//! statements with the comments that stand before them.

/// A word, a quoted name, a string or one sign, in lower case.
#[derive(Debug, PartialEq)]
pub struct Token {
    pub text: String,
    pub offset: usize,
}

/// One statement of a script, and the comment block right before it.
pub struct Statement {
    pub line: usize,
    pub tokens: Vec<Token>,
    pub comment: String,
    start: usize,
}

impl Statement {
    /// Whether the statement begins with these words.
    pub fn starts(&self, words: &[&str]) -> bool {
        let mut tokens = self.tokens.iter();
        words.iter().all(|word| tokens.next().is_some_and(|t| t.text == *word))
    }

    pub fn has(&self, words: &[&str]) -> bool {
        contains(&self.tokens, words)
    }

    /// Whether the comment before the statement gives a reason after `marker`.
    pub fn explained(&self, marker: &str) -> bool {
        let reason = self.comment.split_once(marker);
        reason.is_some_and(|(_, reason)| !reason.lines().next().unwrap_or_default().trim().is_empty())
    }

    /// The string at the statement's end, such as a comment's, as it was written.
    pub fn last_string(&self, script: &str) -> Option<String> {
        let ends = self.tokens.iter().rev().skip_while(|token| token.text == ";");
        let mut pieces: Vec<&str> = ends
            .take_while(|token| token.text.starts_with('\''))
            .filter_map(|token| {
                let from = self.start + token.offset;
                script.get(from + 1..from + token.text.len() - 1)
            })
            .collect();
        pieces.reverse();
        // Two quotes in a row are one in the text, and end a token.
        (!pieces.is_empty()).then(|| pieces.join("'"))
    }

    pub fn line_of(&self, script: &str, token: &Token) -> usize {
        line_at(script, self.start + token.offset)
    }
}

pub fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

pub fn contains(tokens: &[Token], words: &[&str]) -> bool {
    tokens.windows(words.len()).any(|window| window.iter().zip(words).all(|(token, word)| token.text == *word))
}

/// Splits SQL into tokens. What stands between dollar quotes is read as SQL too,
/// because function bodies must keep the rules as well.
pub fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = piece_end(bytes, at);
        let piece = &text.get(at..end).unwrap_or_default();
        if !piece.trim().is_empty() && !piece.starts_with("--") && !piece.starts_with("/*") {
            let text = piece.to_ascii_lowercase();
            let text = text.trim_matches('"').trim().to_owned();
            tokens.push(Token { text, offset: at });
        }
        at = end;
    }
    tokens
}

/// Splits a script at the semicolons that stand outside dollar quotes.
pub fn statements(script: &str) -> Vec<Statement> {
    let bytes = script.as_bytes();
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let end = match dollar_tag(bytes, at) {
            Some(tag) => close_of(script, at, tag),
            None => piece_end(bytes, at),
        };
        if bytes[at] == b';' || end >= bytes.len() {
            found.extend(statement(script, start, end));
            start = end;
        }
        at = end;
    }
    found
}

fn statement(script: &str, start: usize, end: usize) -> Option<Statement> {
    let text = script.get(start..end)?;
    let tokens = tokens(text);
    let first = tokens.iter().find(|token| token.text != ";")?.offset;
    let mut comment = text.get(..first)?;
    if start > 0 {
        // What follows a semicolon on its line speaks for the statement before.
        comment = comment.split_once('\n').map_or("", |(_, rest)| rest);
    }
    // Only the block that touches the statement speaks for it.
    let comment = comment.rsplit("\n\n").next().unwrap_or(comment);
    Some(Statement { line: line_at(script, start + first), comment: comment.to_owned(), tokens, start })
}

fn piece_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let until = |stop: &[u8], skip: usize| {
        let found = rest[skip..].windows(stop.len()).position(|w| w == stop);
        found.map_or(bytes.len(), |length| at + skip + length + stop.len())
    };
    match rest[0] {
        b'-' if rest.starts_with(b"--") => until(b"\n", 2),
        b'/' if rest.starts_with(b"/*") => until(b"*/", 2),
        b'\'' => until(b"'", 1),
        b'"' => until(b"\"", 1),
        byte if is_name(byte) => at + rest.iter().take_while(|b| is_name(**b)).count(),
        _ => at + 1,
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn dollar_tag(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes[at] != b'$' || bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let name = bytes[at + 1..].iter().take_while(|b| is_name(**b)).count();
    (bytes.get(at + 1 + name) == Some(&b'$')).then_some(name + 2)
}

fn close_of(script: &str, at: usize, tag: usize) -> usize {
    let body = at + tag;
    let close = script.get(at..body).and_then(|tag| script.get(body..)?.find(tag));
    close.map_or(script.len(), |length| body + length + tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_skipped_and_names_lose_their_quotes() {
        let words: Vec<String> =
            tokens("SELECT \"State\" -- now()\n/* x */ FROM a;").into_iter().map(|token| token.text).collect();
        assert_eq!(words, ["select", "state", "from", "a", ";"]);
    }

    #[test]
    fn a_function_body_is_one_statement_whose_words_are_read() {
        let script = "-- why\nCREATE FUNCTION f() AS $x$ BEGIN a; b; END $x$;\nSELECT 1;";
        let found = statements(script);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].line, found[1].line), (2, 3));
        assert!(found[0].has(&["b", ";", "end"]));
    }

    #[test]
    fn string_at_the_end_has_its_case_and_its_quotes() {
        let script = "SELECT 1;\nCOMMENT ON TABLE a IS\n  'Rows of A, an account''s.';";
        let found = statements(script);
        assert_eq!(found[1].last_string(script).as_deref(), Some("Rows of A, an account's."));
        assert_eq!(found[0].last_string(script), None);
    }

    #[test]
    fn only_the_comment_that_touches_a_statement_speaks_for_it() {
        let script = "-- keep: a\n\n-- other\nSELECT 1;\n-- keep: b\nSELECT 2;";
        let found = statements(script);
        assert!(!found[0].explained("keep:"));
        assert!(found[1].explained("keep:"));
    }
}
