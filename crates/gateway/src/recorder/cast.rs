//! Lines of asciicast, version 2. Terminals print bytes and the format wants text:
//! a character that is cut between two pieces is put together again, and what is
//! no text becomes U+FFFD.

use protocol::stream::Size;
use serde::Serialize;
use std::io::Write;
use std::time::Duration;

#[derive(Serialize)]
pub struct Header<'a> {
    pub version: u8,
    pub width: u16,
    pub height: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    pub title: &'a str,
    pub gpuaas: Segment,
}

/// Which part of the recording it is.
#[derive(Serialize)]
pub struct Segment {
    pub segment: u32,
    /// The offset of its first byte of output; what lies between it and the end
    /// of the part before was not recorded.
    pub from: u64,
}

impl Header<'_> {
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend(serde_json::to_vec(self).unwrap_or_default());
        out.push(b'\n');
    }
}

/// One direction of a terminal as text.
#[derive(Default)]
pub struct Text {
    /// The beginning of a character whose end has not come.
    begun: Vec<u8>,
}

impl Text {
    /// Writes an event with these bytes; nothing when they end within a character.
    pub fn event(&mut self, at: Duration, code: char, bytes: &[u8], out: &mut Vec<u8>) {
        let joined;
        let bytes = if self.begun.is_empty() {
            bytes
        } else {
            self.begun.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.begun);
            &joined
        };
        let (whole, cut) = bytes.split_at(bytes.len() - cut_at_end(bytes));
        self.begun = cut.to_vec();
        if !whole.is_empty() {
            begin(at, code, out);
            for chunk in whole.utf8_chunks() {
                escape(chunk.valid(), out);
                if !chunk.invalid().is_empty() {
                    out.extend("\u{fffd}".as_bytes());
                }
            }
            out.extend(b"\"]\n");
        }
    }

    /// Nothing more comes: a character that is not whole never will be.
    pub fn finish(&mut self, at: Duration, code: char, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.begun).is_empty() {
            begin(at, code, out);
            out.extend("\u{fffd}\"]\n".as_bytes());
        }
    }
}

pub fn resize(at: Duration, size: Size, out: &mut Vec<u8>) {
    begin(at, 'r', out);
    // Writing into memory cannot fail.
    let _ = writeln!(out, "{}x{}\"]", size.columns, size.rows);
}

fn begin(at: Duration, code: char, out: &mut Vec<u8>) {
    let _ = write!(out, "[{}.{:06}, \"{code}\", \"", at.as_secs(), at.subsec_micros());
}

/// How many bytes at the end begin a character without ending it.
fn cut_at_end(bytes: &[u8]) -> usize {
    for (back, byte) in (1..=3).zip(bytes.iter().rev()) {
        let needs = match byte {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if needs > back { back } else { 0 };
    }
    0
}

const fn needs_escape() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
}

const NEEDS_ESCAPE: [bool; 256] = needs_escape();

/// Writes the inside of a JSON string. Runs that need no escape are copied whole.
fn escape(text: &str, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + rest.len() / 8);
    while let Some(at) = rest.iter().position(|byte| NEEDS_ESCAPE[*byte as usize]) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            b'"' => out.extend(b"\\\""),
            b'\\' => out.extend(b"\\\\"),
            byte => {
                out.extend(b"\\u00");
                out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn said(pieces: &[&[u8]]) -> String {
        let (mut text, mut out) = (Text::default(), Vec::new());
        for piece in pieces {
            text.event(Duration::from_micros(1_000_002), 'o', piece, &mut out);
        }
        text.finish(Duration::ZERO, 'o', &mut out);
        let lines = String::from_utf8(out).unwrap();
        let events = lines.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
        events.map(|it| it[2].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn text_survives_whatever_pieces_it_comes_in() {
        let text = "naïve \u{1b}[1mé\u{0} \"q\" \\ \u{1F600}\r\n\u{7f}€";
        for size in 1..text.len() {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(said(&pieces), text, "pieces of {size}");
        }
    }

    #[test]
    fn invalid_utf8_is_replaced_and_never_dropped() {
        assert_eq!(said(&[b"a\xffb"]), "a\u{fffd}b");
        assert_eq!(said(&[b"a\xe2\x82"]), "a\u{fffd}", "a character without its end");
        assert_eq!(said(&[b"\xe2", b"x"]), "\u{fffd}x", "a beginning without its rest");
        assert_eq!(said(&[b"\x80\x80\x80\x80"]), "\u{fffd}\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(said(&[b"\xf8\xf8"]), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn lines_are_those_of_the_format() {
        let mut out = Vec::new();
        let gpuaas = Segment { segment: 1, from: 9 };
        Header { version: 2, width: 80, height: 24, timestamp: Some(7), title: "t", gpuaas }.write(&mut out);
        Text::default().event(Duration::from_micros(1_000_002), 'o', b"x", &mut out);
        resize(Duration::from_millis(1500), Size { columns: 90, rows: 30 }, &mut out);
        let expected = concat!(
            r#"{"version":2,"width":80,"height":24,"timestamp":7,"title":"t","gpuaas":{"segment":1,"from":9}}"#,
            "\n[1.000002, \"o\", \"x\"]\n[1.500000, \"r\", \"90x30\"]\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
