//! One asciicast out of a recording's pieces: one header, times that run on, and
//! a marker where something is missing. Pure, and in constant memory: a piece is
//! read a few lines at a time.

use std::io::{BufRead, BufReader, Cursor, Read};

use bytes::Bytes;
use serde_json::{Value, json};

/// A piece as it was stored: asciicast lines, compressed.
#[derive(Clone)]
pub struct Piece {
    pub segment: u32,
    pub bytes: Bytes,
    /// Offsets of the output in it.
    pub from: u64,
    pub to: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    #[error("a chunk of segment {segment} is malformed")]
    Unreadable { segment: u32 },
}

// bound: the longest line of a piece; gateways write far shorter ones
const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;
// bound: what decompressing may keep, as a power of two; gateways use less
const WINDOW_LOG: u32 = 23;

/// What was assembled so far.
pub struct Assembler {
    has_header: bool,
    /// Added to the times of the present segment.
    shift: f64,
    reached_s: f64,
    segment: Option<u32>,
    /// The offset up to which output was shown.
    reached: Option<u64>,
}

/// A piece that is being read.
pub struct Reading {
    segment: u32,
    lines: Lines,
    again: Again,
    /// When its segment began, if this is the first piece of it.
    began_s: Option<f64>,
    /// Bytes of output that are missing before it.
    gap: Option<u64>,
    is_first: bool,
}

impl Assembler {
    pub fn new() -> Self {
        Self { has_header: false, shift: 0.0, reached_s: 0.0, segment: None, reached: None }
    }

    /// Begins with the next piece, whose segment began so many seconds after the recording.
    pub fn begin(&mut self, piece: &Piece, start_s: f64) -> Result<Reading, AssembleError> {
        let is_new = self.segment != Some(piece.segment);
        self.segment = Some(piece.segment);
        let gap = self.reached.filter(|to| piece.from > *to).map(|to| piece.from - to);
        let again = Again::of(piece, self.reached.unwrap_or(0))?;
        self.reached = Some(self.reached.unwrap_or(0).max(piece.to));
        let lines = Lines::of(piece)?;
        Ok(Reading { segment: piece.segment, lines, again, began_s: is_new.then_some(start_s), gap, is_first: true })
    }

    /// Adds lines of the piece to `text` until it has `enough` bytes; whether
    /// there may be more.
    pub fn read(&mut self, reading: &mut Reading, text: &mut Vec<u8>, enough: usize) -> Result<bool, AssembleError> {
        while text.len() < enough {
            let unreadable = AssembleError::Unreadable { segment: reading.segment };
            match reading.lines.next().map_err(|_| unreadable)? {
                None => return Ok(false),
                Some(line) => self.add(&line, reading, text),
            }
        }
        Ok(true)
    }

    /// What comes after the last piece.
    pub fn end(&mut self, text: &mut Vec<u8>) {
        if !self.has_header {
            self.has_header = true;
            push(text, &json!({ "version": 2, "width": 80, "height": 24 }));
        }
    }

    fn add(&mut self, line: &str, reading: &mut Reading, text: &mut Vec<u8>) {
        match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(header)) => {
                if !self.has_header {
                    self.has_header = true;
                    push(text, &Value::Object(header));
                }
            }
            Ok(Value::Array(mut event)) if event.len() == 3 && event[0].is_number() => {
                let at = event[0].as_f64().unwrap_or_default();
                if std::mem::take(&mut reading.is_first) {
                    if let Some(began_s) = reading.began_s {
                        // Times of a segment count from its own start.
                        self.shift = began_s.max(self.reached_s - at);
                    }
                    if let Some(gap) = reading.gap {
                        let said = format!("{gap} bytes of output are missing here");
                        self.event(at + self.shift, json!("m"), json!(said), text);
                    }
                }
                let (kind, mut data) = (event[1].take(), event[2].take());
                if kind == "o"
                    && let Some(shown) = data.as_str()
                {
                    match reading.again.cut(shown) {
                        Some(rest) => data = json!(rest),
                        None => return,
                    }
                }
                self.event(at + self.shift, kind, data, text);
            }
            // What a gateway did not write as it should is left out; its hash still counts.
            Ok(_) | Err(_) => (),
        }
    }

    fn event(&mut self, at: f64, kind: Value, data: Value, text: &mut Vec<u8>) {
        // Players want times that never go back.
        self.reached_s = self.reached_s.max((at * 1e6).round() / 1e6);
        push(text, &json!([self.reached_s, kind, data]));
    }
}

fn push(text: &mut Vec<u8>, line: &Value) {
    text.extend_from_slice(line.to_string().as_bytes());
    text.push(b'\n');
}

/// Output at the beginning of a piece that an earlier piece holds already: the
/// gateway before had written it down, and had not handed it in when the session
/// went on elsewhere.
#[derive(Default)]
struct Again {
    /// How many bytes of the piece's text are to be left out.
    left: usize,
}

impl Again {
    fn of(piece: &Piece, reached: u64) -> Result<Self, AssembleError> {
        let overlap = reached.min(piece.to).saturating_sub(piece.from);
        if overlap == 0 {
            return Ok(Self::default());
        }
        let mut lines = Lines::of(piece)?;
        let mut text: u64 = 0;
        while let Some(line) = lines.next().map_err(|_| AssembleError::Unreadable { segment: piece.segment })? {
            text += output(&line).map_or(0, |it| it.len() as u64);
        }
        // Where not all of it was text, or a screen is among it, offsets are not
        // those of the text: as much of it goes as of the output.
        let left = u128::from(text) * u128::from(overlap) / u128::from((piece.to - piece.from).max(1));
        Ok(Self { left: usize::try_from(left).unwrap_or(usize::MAX) })
    }

    /// What is left of a text, if anything is.
    fn cut<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let at = (self.left.min(text.len())..=text.len()).find(|it| text.is_char_boundary(*it)).unwrap_or(text.len());
        self.left = self.left.saturating_sub(at);
        (at == 0 || at < text.len()).then(|| &text[at..])
    }
}

/// The text of a line that is output.
fn output(line: &str) -> Option<String> {
    let (_, code, text) = serde_json::from_str::<(f64, String, String)>(line).ok()?;
    (code == "o").then_some(text)
}

/// The lines of a piece, one at a time.
struct Lines(BufReader<zstd::stream::read::Decoder<'static, Cursor<Bytes>>>);

impl Lines {
    fn of(piece: &Piece) -> Result<Self, AssembleError> {
        let unreadable = |_| AssembleError::Unreadable { segment: piece.segment };
        let mut decoder =
            zstd::stream::read::Decoder::with_buffer(Cursor::new(piece.bytes.clone())).map_err(unreadable)?;
        decoder.window_log_max(WINDOW_LOG).map_err(unreadable)?;
        Ok(Self(BufReader::new(decoder)))
    }

    fn next(&mut self) -> std::io::Result<Option<String>> {
        let mut line = String::new();
        let read = self.0.by_ref().take(MAX_LINE_BYTES).read_line(&mut line)?;
        if read as u64 == MAX_LINE_BYTES && !line.ends_with('\n') {
            return Err(std::io::Error::other("a line is too long"));
        }
        Ok((read > 0).then_some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"version":2,"width":80,"height":24}"#;

    fn piece(segment: u32, (from, to): (u64, u64), text: &str) -> Piece {
        let bytes = zstd::encode_all(text.as_bytes(), 1).unwrap().into();
        Piece { segment, bytes, from, to }
    }

    /// A few bytes at a time, as slow readers ask for them.
    fn assemble(pieces: &[Piece], starts: &dyn Fn(u32) -> f64) -> Result<Vec<u8>, AssembleError> {
        let (mut assembler, mut whole) = (Assembler::new(), Vec::new());
        for piece in pieces {
            let mut reading = assembler.begin(piece, starts(piece.segment))?;
            let mut is_more = true;
            while is_more {
                let mut text = Vec::new();
                is_more = assembler.read(&mut reading, &mut text, 1)?;
                whole.extend(text);
            }
        }
        assembler.end(&mut whole);
        Ok(whole)
    }

    fn lines(pieces: &[Piece], starts: &dyn Fn(u32) -> f64) -> Vec<String> {
        let whole = assemble(pieces, starts).unwrap();
        String::from_utf8(whole).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn times_run_on_across_segments_and_gaps_are_marked() {
        let pieces = [
            piece(0, (0, 2), &format!("{HEADER}\n[0.5,\"o\",\"a\"]\n")),
            piece(0, (2, 3), "[1.5,\"o\",\"b\"]\n"),
            piece(1, (7, 8), &format!("{HEADER}\n[0.25,\"o\",\"c\"]\n[0.5,\"r\",\"90x30\"]\n")),
        ];
        let starts = |segment: u32| if segment == 1 { 10.0 } else { 0.0 };
        assert_eq!(
            lines(&pieces, &starts),
            [
                r#"{"height":24,"version":2,"width":80}"#,
                r#"[0.5,"o","a"]"#,
                r#"[1.5,"o","b"]"#,
                r#"[10.25,"m","4 bytes of output are missing here"]"#,
                r#"[10.25,"o","c"]"#,
                r#"[10.5,"r","90x30"]"#,
            ]
        );
    }

    #[test]
    fn output_in_two_segments_is_shown_once() {
        let pieces = [
            piece(0, (0, 4), &format!("{HEADER}\n[0.5,\"o\",\"abcd\"]\n")),
            // Handed in late, after the next segment had begun at 4.
            piece(0, (4, 9), "[1.0,\"o\",\"ef\"]\n[1.1,\"o\",\"\u{e9}h\"]\n[1.2,\"r\",\"90x30\"]\n"),
            piece(1, (4, 4), &format!("{HEADER}\n")),
            piece(1, (4, 8), "[0.1,\"o\",\"ef\u{e9}\"]\n[0.2,\"i\",\"typed\"]\n"),
            piece(1, (8, 12), "[0.3,\"o\",\"hij\"]\n[0.4,\"o\",\"k\"]\n"),
            piece(1, (12, 12), "[0.5,\"o\",\"screen\"]\n"),
        ];
        let cast = lines(&pieces, &|segment| f64::from(segment) * 5.0);
        let shown = |code: &str| -> String {
            let events = cast[1..].iter().map(|it| serde_json::from_str::<(f64, String, String)>(it).unwrap());
            events.filter(|(_, it, _)| it == code).map(|(.., text)| text).collect()
        };
        assert_eq!(shown("o"), "abcdef\u{e9}hijkscreen");
        assert_eq!((shown("i"), shown("r"), shown("m")), ("typed".into(), "90x30".into(), String::new()));
    }

    #[test]
    fn times_never_go_back_and_nonsense_is_left_out() {
        let pieces = [
            piece(0, (0, 1), &format!("{HEADER}\n[2.0,\"o\",\"a\"]\n")),
            piece(1, (1, 2), "[0.5,\"o\",\"b\"]\nnonsense\n[1]\n"),
        ];
        assert_eq!(lines(&pieces, &|segment| f64::from(segment))[1..], [r#"[2.0,"o","a"]"#, r#"[2.0,"o","b"]"#]);
    }

    #[test]
    fn malformed_chunk_is_refused() {
        let broken = Piece { segment: 0, bytes: Bytes::from_static(b"nonsense"), from: 0, to: 1 };
        assert_eq!(assemble(&[broken], &|_| 0.0), Err(AssembleError::Unreadable { segment: 0 }));
        let endless = piece(0, (0, 1), &"x".repeat(MAX_LINE_BYTES as usize + 1));
        assert_eq!(assemble(&[endless], &|_| 0.0), Err(AssembleError::Unreadable { segment: 0 }));
        assert_eq!(lines(&[], &|_| 0.0), [r#"{"height":24,"version":2,"width":80}"#]);
    }
}
