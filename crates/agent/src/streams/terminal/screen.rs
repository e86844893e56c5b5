//! What a terminal that saw all the output would show, so that somebody who comes
//! back late is shown it. Output is looked at in large pieces, and text that has
//! scrolled past entirely is not parsed at all; only its colors are.

use super::lexer::{Lexer, Style, is_plain, style_at};
use protocol::stream::Size;
use std::num::NonZeroU16;

const MOST_CELLS: u16 = u16::MAX; // bound: two megabytes for each of a terminal's two pages
const MOST_TITLE: usize = 256; // bound: what fits a window's frame

pub struct Screen {
    parser: vt100::Parser<Title>,
    lexer: Lexer,
    rows: u16,
}

/// What the shell called its window.
#[derive(Clone, Debug, Default)]
struct Title(String);

impl vt100::Callbacks for Title {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        let text = String::from_utf8_lossy(title);
        self.0 = text.chars().filter(|letter| !letter.is_control()).take(MOST_TITLE).collect();
    }
}

impl Screen {
    pub fn new(size: Size) -> Self {
        let (rows, columns) = modeled(size);
        let parser = vt100::Parser::new_with_callbacks(rows, columns, 0, Title::default());
        Self { parser, lexer: Lexer::default(), rows: rows.get() }
    }

    pub fn resize(&mut self, size: Size) {
        let (rows, columns) = modeled(size);
        self.parser.set_size(rows, columns);
        self.rows = rows.get();
    }

    /// Takes in a piece of output.
    pub fn read(&mut self, bytes: &[u8]) {
        let text_from = text_from(bytes);
        let Some(seen_from) = self.seen_from(&bytes[text_from..]) else {
            return self.parse(bytes);
        };
        // A sequence or a character that is not whole is never cut: parsers differ there.
        let mut ahead = self.lexer;
        ahead.read(&bytes[..text_from]);
        if !ahead.is_plain() {
            return self.parse(bytes);
        }
        let seen_from = text_from + seen_from;
        self.parse(&bytes[..text_from]);
        let unseen = &bytes[text_from..seen_from];
        for (at, length) in paints(unseen).into_iter().rev() {
            self.parse(&unseen[at..at + length]);
        }
        self.parse(&bytes[seen_from..]);
    }

    fn parse(&mut self, bytes: &[u8]) {
        self.lexer.read(bytes);
        self.parser.process(bytes);
    }

    /// From where on plain text decides alone what is on the screen: a screenful of
    /// lines brings the cursor to the bottom from wherever it was, and one more
    /// moves everything older out at the top. The carriage return in front makes
    /// the column known as well.
    fn seen_from(&self, text: &[u8]) -> Option<usize> {
        let mut left = 2 * u32::from(self.rows) + 1;
        for (at, _) in text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
            left = left.saturating_sub(1);
            if left == 0 && at > 0 && text[at - 1] == b'\r' {
                return Some(at - 1);
            }
        }
        None
    }

    /// What makes an empty terminal look the same: both pages, cursor, colors,
    /// modes and title.
    pub fn restore(&self) -> Vec<u8> {
        let mut out = String::new();
        let screen = self.parser.screen();
        if screen.alternate_screen() {
            // The page below it, which shows again when the program ends.
            let (rows, columns) = screen.size();
            let mut below = vt100::Parser::new(rows, columns, 0);
            *below.screen_mut() = screen.clone();
            below.process(b"\x1b[?1049l");
            out.push_str(&below.screen().contents_formatted());
            out.push_str("\x1b[?1049h");
        }
        out.push_str(&screen.state_formatted());
        let title = &self.parser.callbacks().0;
        if !title.is_empty() {
            out.push_str(&format!("\x1b]2;{title}\x07"));
        }
        out.into_bytes()
    }
}

/// Where the last passage begins that is only text and what paints it.
fn text_from(bytes: &[u8]) -> usize {
    let mut from = bytes.len();
    while let Some(at) = bytes[..from].iter().rposition(|byte| !is_plain(*byte)) {
        if style_at(&bytes[at..]).is_none() {
            return at + 1;
        }
        from = at;
    }
    0
}

/// What of such a passage still counts for the text behind it, with its length; the
/// last comes first.
fn paints(text: &[u8]) -> Vec<(usize, usize)> {
    let (mut from, mut found) = (text.len(), Vec::new());
    while let Some(at) = text[..from].iter().rposition(|byte| !is_plain(*byte)) {
        if let Some(Style::Paints { length, is_reset }) = style_at(&text[at..]) {
            found.push((at, length));
            if is_reset {
                break;
            }
        }
        from = at;
    }
    found
}

/// The rows and columns that are kept: fewer rows than the window has where it is
/// so wide that the model would cost too much.
fn modeled(size: Size) -> (NonZeroU16, NonZeroU16) {
    let Size { columns, rows } = size.clamped();
    let rows = rows.min(MOST_CELLS / columns);
    (NonZeroU16::new(rows).unwrap_or(NonZeroU16::MIN), NonZeroU16::new(columns).unwrap_or(NonZeroU16::MIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn full(size: Size, output: &[u8]) -> vt100::Parser {
        in_pieces(size, output, output.len().max(1))
    }

    /// Where a broken character lies across two pieces, the parser itself shows
    /// something else than for the whole; so both are given the same pieces.
    fn in_pieces(size: Size, output: &[u8], cut: usize) -> vt100::Parser {
        let (rows, columns) = modeled(size);
        let mut parser = vt100::Parser::new(rows, columns, 0);
        output.chunks(cut).for_each(|it| parser.process(it));
        parser
    }

    fn state(screen: &vt100::Screen) -> (String, (u16, u16), bool) {
        (screen.state_formatted(), screen.cursor_position(), screen.alternate_screen())
    }

    const PAINTED: &[&[u8]] = &[
        b"a",
        b"bcd",
        b"\xc3\xa9",
        b"\xc3",
        b"\x1b[31m",
        b"\x1b[m",
        b"\x1b[0m",
        b"\x1b[0;1m",
        b"\x1b[1;48;5;20m",
        b"\x1b[7m",
        b"\x1b[K",
        b"\x1b[2K",
        b"\x1b[>4m",
        b"\t",
    ];

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let lines =
            (1_usize..90, prop::collection::vec(prop::sample::select(&b"ab \t\xc3\xa9\xe4\xbd\xa0"[..]), 0..30))
                .prop_map(|(count, line)| [&line[..], b"\r\n"].concat().repeat(count));
        let painted = (1_usize..90, prop::collection::vec(prop::sample::select(PAINTED), 0..8))
            .prop_map(|(count, line)| [&line.concat()[..], b"\r\n"].concat().repeat(count));
        let bare = (1_usize..90).prop_map(|count| b"x\n".repeat(count));
        let sequences = prop::sample::select(vec![
            &b"\x1b[31m"[..],
            b"\x1b[2;5r",
            b"\x1b[r",
            b"\x1b[3;3H",
            b"\x1b[?1049h",
            b"\x1b[?1049l",
            b"\x1b[2J",
            b"\x1b[",
            b"\x1b]0;t",
            b"\x07",
            b"\x1b(0",
            b"\x0e",
            b"\x1bM",
            b"\xc2\x84",
            b"\x08",
            b"\x1b[?7l",
            b"\x1b[4h",
            b"\x1bc",
            b"\x1b[?6h",
            b"\x0b",
            b"\xc2",
        ])
        .prop_map(<[u8]>::to_vec);
        let any_bytes = prop::collection::vec(any::<u8>(), 0..40);
        prop_oneof![4 => lines, 4 => painted, 1 => bare, 3 => sequences, 1 => any_bytes]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn screen_without_unseen_attributes_equals_the_full_one(
            pieces in prop::collection::vec(piece(), 0..12),
            cut in 1_usize..2000,
            rows in 1_u16..12,
            columns in 2_u16..30,
        ) {
            let size = Size { columns, rows };
            let output = pieces.concat();
            let mut screen = Screen::new(size);
            for chunk in output.chunks(cut) {
                screen.read(chunk);
            }
            prop_assert_eq!(state(screen.parser.screen()), state(in_pieces(size, &output, cut).screen()));
        }
    }

    #[test]
    fn a_character_cut_in_two_is_not_left_out() {
        let size = Size { columns: 2, rows: 2 };
        let line = b"\xc3\xa9a\xc3aa\r\n";
        let output = line.repeat(80);
        for cut in 1..200 {
            let mut screen = Screen::new(size);
            output.chunks(cut).for_each(|it| screen.read(it));
            assert_eq!(state(screen.parser.screen()), state(in_pieces(size, &output, cut).screen()), "{cut}");
        }
    }

    #[test]
    fn a_flood_of_text_is_hardly_parsed() {
        let mut screen = Screen::new(Size::DEFAULT);
        let flood = b"y\r\n".repeat(100_000);
        screen.read(b"\x1b[1mbold\r\n");
        let from = screen.seen_from(&flood).unwrap();
        assert!(flood.len() - from < 200, "{} of {} bytes are parsed", flood.len() - from, flood.len());
        screen.read(&flood);
        assert_eq!(screen.parser.screen().cursor_position(), (23, 0));
    }

    #[test]
    fn visible_text_keeps_its_colors_when_they_are_reset_below_it() {
        let size = Size { columns: 20, rows: 5 };
        let output = [&b"\x1b[0;1m\r\n"[..], &b"a\r\n".repeat(19), &b"\x1b[m\r\n".repeat(3)].concat();
        let mut screen = Screen::new(size);
        screen.read(&output);
        assert_eq!(state(screen.parser.screen()), state(full(size, &output).screen()));
        assert!(screen.parser.screen().state_formatted().contains("\x1b[1ma"), "it is bold still");
    }

    #[test]
    fn flood_in_colors_has_only_its_colors_parsed() {
        let mut screen = Screen::new(Size::DEFAULT);
        let line = b"\x1b[1m\x1b[32mCompiling\x1b[0m one \x1b[K\r\n";
        let flood = [&b"\x1b[7m"[..], &line.repeat(10_000)].concat();
        assert_eq!((text_from(&flood), paints(&flood).len()), (0, 1), "the last line took everything back");
        screen.read(&flood);
        assert_eq!(state(screen.parser.screen()), state(full(Size::DEFAULT, &flood).screen()));
        screen.read(&b"\x1b[44mx\r\n".repeat(10_000));
        assert!(screen.parser.screen().bgcolor() == vt100::Color::Idx(4));
    }

    #[test]
    fn an_empty_terminal_is_made_to_look_the_same_on_both_pages() {
        let size = Size { columns: 40, rows: 8 };
        let mut screen = Screen::new(size);
        screen.read(b"\x1b]2;edit\x07$ vi\r\n\x1b[?1049h\x1b[?1h\x1b[H\x1b[7mtext\x1b[m\r\n~\r\n~\x1b[2;3H");
        let mut again = full(size, &screen.restore());
        assert_eq!(state(again.screen()), state(screen.parser.screen()));
        assert!(again.screen().application_cursor());
        again.process(b"\x1b[?1049l");
        assert!(again.screen().contents().starts_with("$ vi"), "{:?}", again.screen().contents());
        assert!(String::from_utf8(screen.restore()).unwrap().contains("\x1b]2;edit\x07"));
    }

    #[test]
    fn a_huge_window_has_a_bounded_model() {
        let huge = Size { columns: u16::MAX, rows: u16::MAX };
        let (rows, columns) = modeled(huge);
        assert!(u32::from(rows.get()) * u32::from(columns.get()) <= u32::from(MOST_CELLS));
        let mut screen = Screen::new(huge);
        screen.resize(Size { columns: 0, rows: 0 });
        screen.read(b"\r\n\x1b[31mx");
    }
}
