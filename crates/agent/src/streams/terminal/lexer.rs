//! Where a terminal's parser stands: in plain text, or inside an escape sequence.
//! Only what decides whether text may be left out; the screen model parses the rest.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LexerState {
    #[default]
    Ground,
    /// After the escape character.
    Escape,
    /// After it and a byte that says more will come.
    EscapeMore,
    /// Inside a control sequence; whether anything stands between its head and its end.
    Control { is_bare: bool },
    /// Inside a title or the like, up to its end.
    Text,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Lexer {
    place: LexerState,
    /// Whether only a part of the screen scrolls.
    has_region: bool,
    /// The last byte may be a part of a character, or half of a control character.
    is_split: bool,
}

impl Lexer {
    /// Whether text that scrolls past leaves nothing behind.
    pub fn is_plain(&self) -> bool {
        self.place == LexerState::Ground && !self.has_region && !self.is_split
    }

    pub fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
        if let Some(last) = bytes.last() {
            self.is_split = !last.is_ascii();
        }
    }

    fn step(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (_, 0x1b) => LexerState::Escape,
            (_, 0x18 | 0x1a) => LexerState::Ground,
            (LexerState::Ground, _) => LexerState::Ground,
            (LexerState::Text, 0x07) => LexerState::Ground,
            (LexerState::Text, _) => LexerState::Text,
            (place, 0x00..=0x1f | 0x7f) => place,
            (place @ (LexerState::Escape | LexerState::EscapeMore), 0x80..=0xff) => place,
            (LexerState::Escape, b'[') => LexerState::Control { is_bare: true },
            (LexerState::Escape, b']' | b'P' | b'X' | b'^' | b'_') => LexerState::Text,
            (LexerState::Escape, b'c') => {
                self.has_region = false;
                LexerState::Ground
            }
            (LexerState::Escape | LexerState::EscapeMore, 0x20..=0x2f) => LexerState::EscapeMore,
            (LexerState::Control { is_bare }, b'r') => {
                self.has_region = !is_bare;
                LexerState::Ground
            }
            (LexerState::Control { .. }, 0x40..=0x7e) => LexerState::Ground,
            (LexerState::Control { .. }, _) => LexerState::Control { is_bare: false },
            (LexerState::Escape | LexerState::EscapeMore, _) => LexerState::Ground,
        };
    }
}

/// Text and line ends: bytes that move nothing but the cursor, forward and down.
pub fn is_plain(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..=0xc1 | 0xc3..=0xff)
}

/// A sequence that moves nothing and shows nothing by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Says how the text that follows looks; whether it says all of it.
    Paints { length: usize, is_reset: bool },
    /// Erases in its line, and is gone with it.
    Erases,
}

/// The sequence that begins here, if it is whole and of that kind.
pub fn style_at(bytes: &[u8]) -> Option<Style> {
    let inner = bytes.strip_prefix(b"\x1b[")?;
    let count = inner.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
    let is_reset = matches!(inner[..count], [] | [b'0']);
    match inner[count] {
        b'm' => Some(Style::Paints { length: count + 3, is_reset }),
        b'K' => Some(Style::Erases),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(bytes: &[u8]) -> bool {
        let mut lexer = Lexer::default();
        lexer.read(bytes);
        lexer.is_plain()
    }

    #[test]
    fn lexer_knows_when_a_sequence_has_ended() {
        let ended: [&[u8]; 8] = [
            b"",
            b"a\r\n",
            b"\x1b[1;31m",
            b"\x1b(B",
            b"\x1b]0;title\x07",
            b"\x1b]0;t\x1b\\",
            b"\x1b7",
            b"\x1b[1;2\x18",
        ];
        for bytes in ended {
            assert!(after(bytes), "{bytes:?}");
        }
        let open: [&[u8]; 8] =
            [b"\x1b", b"\x1b[", b"\x1b[1;", b"\x1b(", b"\x1b]0;title", b"\x1bPq", b"\xc2", b"\x1b\x80\x00P"];
        for bytes in open {
            assert!(!after(bytes), "{bytes:?}");
        }
    }

    #[test]
    fn lexer_knows_sequences_that_only_paint() {
        let paints = |length, is_reset| Some(Style::Paints { length, is_reset });
        assert_eq!(style_at(b"\x1b[mx"), paints(3, true));
        assert_eq!(style_at(b"\x1b[0m"), paints(4, true));
        assert_eq!(style_at(b"\x1b[0;31m"), paints(7, false));
        assert_eq!(style_at(b"\x1b[38:5:1mx"), paints(9, false));
        assert_eq!(style_at(b"\x1b[2Kx"), Some(Style::Erases));
        for other in [&b"\x1b[31"[..], b"\x1b[>4m", b"\x1b[2J", b"\x1b]0;m", b"m", b""] {
            assert_eq!(style_at(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_character_that_is_not_whole_stays_so_when_nothing_comes() {
        let mut lexer = Lexer::default();
        lexer.read(b"a\xc3");
        lexer.read(b"");
        assert!(!lexer.is_plain());
        lexer.read(b"a");
        assert!(lexer.is_plain());
    }

    #[test]
    fn a_part_that_scrolls_alone_is_remembered_until_it_is_reset() {
        assert!(!after(b"\x1b[2;5r"));
        assert!(after(b"\x1b[2;5r\x1b[r"));
        assert!(after(b"\x1b[2;5r\x1bc"));
    }
}
