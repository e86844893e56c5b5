//! Finds where comments and literals begin and end in Rust text.

use super::source::is_word;
use std::ops::Range;

/// The comments, strings and characters of a file, in order.
pub fn pieces(text: &[u8]) -> Vec<Range<usize>> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < text.len() {
        match piece_end(text, at) {
            Some(end) => {
                let end = end.min(text.len());
                pieces.push(at..end);
                at = end;
            }
            None => at += 1,
        }
    }
    pieces
}

fn piece_end(text: &[u8], at: usize) -> Option<usize> {
    if let Some(hashes) = raw_string(text, at) {
        return Some(end_of_raw(text, at, hashes));
    }
    match text[at] {
        b'/' if text[at..].starts_with(b"//") => Some(end_of_line(text, at)),
        b'/' if text[at..].starts_with(b"/*") => Some(end_of_block(text, at)),
        b'"' => Some(end_of_quoted(text, at, b'"')),
        b'\'' if is_char(text, at) => Some(end_of_quoted(text, at, b'\'')),
        _ => None,
    }
}

fn end_of_line(text: &[u8], at: usize) -> usize {
    let rest = text[at..].iter().position(|byte| *byte == b'\n');
    rest.map_or(text.len(), |length| at + length)
}

fn end_of_block(text: &[u8], at: usize) -> usize {
    let (mut depth, mut at) = (0, at);
    while at < text.len() {
        if text[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The number of hashes when a raw string opens here.
fn raw_string(text: &[u8], at: usize) -> Option<usize> {
    let prefixed = at > 0 && matches!(text[at - 1], b'b' | b'c');
    let before = at.checked_sub(if prefixed { 2 } else { 1 });
    if text[at] != b'r' || before.is_some_and(|before| is_word(text[before])) {
        return None;
    }
    let hashes = text[at + 1..].iter().take_while(|b| **b == b'#').count();
    (text.get(at + 1 + hashes) == Some(&b'"')).then_some(hashes)
}

fn end_of_raw(text: &[u8], at: usize, hashes: usize) -> usize {
    let body = at + hashes + 2;
    let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let found = text[body..].windows(close.len()).position(|w| w == close);
    found.map_or(text.len(), |length| body + length + close.len())
}

fn end_of_quoted(text: &[u8], at: usize, quote: u8) -> usize {
    let mut at = at + 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Tells `'x'` from a lifetime.
fn is_char(text: &[u8], at: usize) -> bool {
    let width = match text.get(at + 1) {
        Some(b'\\') => return true,
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        _ => 1,
    };
    text.get(at + 1 + width) == Some(&b'\'')
}

/// A literal without its quotes, escapes blanked so that offsets stay true.
pub fn blank_escapes(literal: &str) -> String {
    let body = literal.trim_start_matches(['r', '#']);
    let raw = body.len() < literal.len();
    let open = literal.len() - body.len() + 1;
    let mut text = vec![b' '; open];
    let mut bytes = literal.as_bytes()[open..].iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' || raw {
            text.push(byte);
            continue;
        }
        text.push(b' ');
        text.extend(bytes.next().map(|next| match next {
            b'"' | b'\n' => next,
            _ => b' ',
        }));
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    text.trim_end_matches('#').trim_end_matches('"').to_owned()
}
