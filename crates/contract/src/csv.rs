//! Tables as CSV (RFC 4180), the same from the server and from the command line.

/// One line of a table.
#[derive(Debug, Default)]
pub struct Row(String);

impl Row {
    /// A text that somebody may have chosen. One that a spreadsheet would take
    /// for a formula is defused by an apostrophe.
    pub fn text(self, text: &str) -> Self {
        let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        self.cell(if is_formula { "'" } else { "" }, text)
    }

    /// A number, a moment or a word of ours.
    pub fn plain(self, value: impl std::fmt::Display) -> Self {
        self.cell("", &value.to_string())
    }

    /// The line with its end.
    pub fn finish(mut self) -> String {
        // The comma that every cell leaves behind.
        self.0.pop();
        self.0.push_str("\r\n");
        self.0
    }

    fn cell(mut self, prefix: &str, text: &str) -> Self {
        let needs_quotes = text.contains([',', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ');
        if needs_quotes {
            self.0.push('"');
        }
        self.0.push_str(prefix);
        self.0.push_str(&text.replace('"', "\"\""));
        if needs_quotes {
            self.0.push('"');
        }
        self.0.push(',');
        self
    }
}

/// The line of headings.
pub fn head(names: &[&str]) -> String {
    names.iter().fold(Row::default(), |row, name| row.plain(name)).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_break_out_of_their_cell() {
        let line = |text: &str| Row::default().plain(1).text(text).plain(-2).finish();
        assert_eq!(line("plain"), "1,plain,-2\r\n");
        assert_eq!(line("a,b"), "1,\"a,b\",-2\r\n");
        assert_eq!(line("say \"x\""), "1,\"say \"\"x\"\"\",-2\r\n");
        assert_eq!(line("two\nlines"), "1,\"two\nlines\",-2\r\n");
        assert_eq!(line("=cmd|' /C calc'!A0"), "1,'=cmd|' /C calc'!A0,-2\r\n");
        assert_eq!(line("=1,2"), "1,\"'=1,2\",-2\r\n");
        assert_eq!(line("@sum"), "1,'@sum,-2\r\n");
        assert_eq!(line(""), "1,,-2\r\n");
        assert_eq!(head(&["a", "b"]), "a,b\r\n");
    }
}
