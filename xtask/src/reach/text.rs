//! Words and brackets of a program text.

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Every word, with where it begins.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !is_word(bytes[at]) {
            at += 1;
        }
        let word = word_at(text.get(at..)?);
        let start = at;
        at += word.len();
        (!word.is_empty()).then_some((start, word))
    })
}

/// The word that a text begins with.
pub fn word_at(text: &str) -> &str {
    let end = text.bytes().position(|it| !is_word(it)).unwrap_or(text.len());
    &text[..end]
}

/// The word that a text ends with.
pub fn last_word(text: &str) -> &str {
    let start = text.bytes().rposition(|it| !is_word(it)).map_or(0, |at| at + 1);
    text.get(start..).unwrap_or_default()
}

/// Behind the brace that closes the one at `open`.
pub fn block_end(text: &str, open: usize) -> usize {
    let inside = &text[open + 1..];
    (open + 1 + level_end(inside, &['}']) + 1).min(text.len())
}

/// Where one of some marks stands outside of brackets that were opened after
/// the start, or where the bracket around the text ends.
pub fn level_end(text: &str, marks: &[char]) -> usize {
    let mut depth = 0_usize;
    for (at, it) in text.char_indices() {
        if depth == 0 && marks.contains(&it) {
            return at;
        }
        match it {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' if depth == 0 => return at,
            '}' | ')' | ']' => depth -= 1,
            _ => (),
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_brackets_are_found() {
        let found: Vec<_> = words("let a_1 = f(é, $b);").collect();
        assert_eq!(found, [(0, "let"), (4, "a_1"), (10, "f"), (16, "$b")]);
        assert_eq!((word_at("one two"), last_word("one two"), last_word("one ")), ("one", "two", ""));
        let text = "f(a, [b; 2]) -> c { { d } } e";
        let open = level_end(text, &['{', ';']);
        assert_eq!(&text[open..block_end(text, open)], "{ { d } }");
        assert_eq!(level_end("a) b, c", &[',']), 1);
    }
}
