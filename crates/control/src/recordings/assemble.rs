//! One asciicast out of a recording's pieces: one header, times that run on, and
//! a marker where something is missing. Pure.

use std::io::Read;

use serde_json::{Value, json};

/// A piece as it was stored: asciicast lines, compressed.
#[derive(Clone)]
pub struct Piece {
    pub segment: u32,
    pub bytes: bytes::Bytes,
    /// Offsets of the output in it.
    pub from: u64,
    pub to: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    #[error("it is larger than {0} bytes")]
    TooLarge(usize),
    #[error("piece {number} of segment {segment} cannot be read")]
    Unreadable { segment: u32, number: usize },
}

/// When a segment began, in seconds since the recording did, by its number.
pub type Starts<'a> = &'a dyn Fn(u32) -> f64;

/// Puts the pieces together, up to `most` bytes.
pub fn assemble(pieces: &[Piece], starts: Starts<'_>, most: usize) -> Result<Vec<u8>, AssembleError> {
    let mut cast =
        Cast { text: Vec::new(), has_header: false, shift: 0.0, reached_s: 0.0, again: Again::default(), most };
    let (mut segment, mut reached) = (None, None::<u64>);
    for (number, piece) in pieces.iter().enumerate() {
        let lines =
            decompress(&piece.bytes, most).ok_or(AssembleError::Unreadable { segment: piece.segment, number })?;
        let is_new = segment != Some(piece.segment);
        segment = Some(piece.segment);
        let gap = reached.filter(|to| piece.from > *to).map(|to| piece.from - to);
        cast.again = Again::of(piece, &lines, reached.unwrap_or(0));
        reached = Some(reached.unwrap_or(0).max(piece.to));
        cast.add(&lines, is_new.then(|| starts(piece.segment)), gap)?;
    }
    if !cast.has_header {
        cast.push(&json!({ "version": 2, "width": 80, "height": 24 }))?;
    }
    Ok(cast.text)
}

struct Cast {
    text: Vec<u8>,
    has_header: bool,
    /// Added to the times of the present segment.
    shift: f64,
    reached_s: f64,
    again: Again,
    most: usize,
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
    fn of(piece: &Piece, lines: &str, reached: u64) -> Self {
        let overlap = reached.min(piece.to).saturating_sub(piece.from);
        if overlap == 0 {
            return Self::default();
        }
        let text: u64 = lines.lines().filter_map(output).map(|it| it.len() as u64).sum();
        // Where not all of it was text, or a screen is among it, offsets are not
        // those of the text: as much of it goes as of the output.
        let left = u128::from(text) * u128::from(overlap) / u128::from((piece.to - piece.from).max(1));
        Self { left: usize::try_from(left).unwrap_or(usize::MAX) }
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

impl Cast {
    fn add(&mut self, lines: &str, began_s: Option<f64>, gap: Option<u64>) -> Result<(), AssembleError> {
        let mut is_first = true;
        for line in lines.lines().filter(|it| !it.is_empty()) {
            match serde_json::from_str::<Value>(line) {
                Ok(Value::Object(header)) => {
                    if !self.has_header {
                        self.has_header = true;
                        self.push(&Value::Object(header))?;
                    }
                }
                Ok(Value::Array(mut event)) if event.len() == 3 && event[0].is_number() => {
                    let at = event[0].as_f64().unwrap_or_default();
                    if is_first {
                        is_first = false;
                        if let Some(began_s) = began_s {
                            self.begin(at, began_s);
                        }
                        if let Some(gap) = gap {
                            let said = format!("{gap} bytes of output are missing here");
                            self.event(at + self.shift, json!("m"), json!(said))?;
                        }
                    }
                    let (kind, mut data) = (event[1].take(), event[2].take());
                    if kind == "o"
                        && let Some(text) = data.as_str()
                    {
                        match self.again.cut(text) {
                            Some(rest) => data = json!(rest),
                            None => continue,
                        }
                    }
                    self.event(at + self.shift, kind, data)?;
                }
                // What a gateway did not write as it should is left out; its hash still counts.
                Ok(_) | Err(_) => (),
            }
        }
        Ok(())
    }

    /// Times of a segment count from its own start.
    fn begin(&mut self, first: f64, began_s: f64) {
        self.shift = began_s.max(self.reached_s - first);
    }

    fn event(&mut self, at: f64, kind: Value, data: Value) -> Result<(), AssembleError> {
        // Players want times that never go back.
        self.reached_s = self.reached_s.max((at * 1e6).round() / 1e6);
        self.push(&json!([self.reached_s, kind, data]))
    }

    fn push(&mut self, line: &Value) -> Result<(), AssembleError> {
        let text = line.to_string();
        if self.text.len() + text.len() >= self.most {
            return Err(AssembleError::TooLarge(self.most));
        }
        self.text.extend_from_slice(text.as_bytes());
        self.text.push(b'\n');
        Ok(())
    }
}

/// The text of a piece, if it is one and not larger than it may be.
fn decompress(bytes: &[u8], most: usize) -> Option<String> {
    let limit = u64::try_from(most).ok()?;
    let mut text = String::new();
    zstd::stream::Decoder::new(bytes).ok()?.take(limit).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"version":2,"width":80,"height":24}"#;

    fn piece(segment: u32, (from, to): (u64, u64), text: &str) -> Piece {
        let bytes = zstd::encode_all(text.as_bytes(), 1).unwrap().into();
        Piece { segment, bytes, from, to }
    }

    fn lines(pieces: &[Piece], starts: Starts<'_>) -> Vec<String> {
        let whole = assemble(pieces, starts, 1 << 20).unwrap();
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
    fn what_two_segments_hold_is_shown_once() {
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
    fn what_is_broken_or_too_large_is_refused() {
        let broken = Piece { segment: 0, bytes: bytes::Bytes::from_static(b"nonsense"), from: 0, to: 1 };
        assert_eq!(assemble(&[broken], &|_| 0.0, 100), Err(AssembleError::Unreadable { segment: 0, number: 0 }));
        let large = piece(0, (0, 1), &format!("{HEADER}\n[0.1,\"o\",\"{}\"]\n", "x".repeat(300)));
        let many: Vec<Piece> = (0..3).map(|at| Piece { from: at, to: at + 1, ..large.clone() }).collect();
        assert_eq!(assemble(&many, &|_| 0.0, 500), Err(AssembleError::TooLarge(500)));
    }
}
