//! The terminal that this program runs in: its size, and raw while a remote shell
//! has it. Dropping gives it back as it was.

use std::io::{self, IsTerminal};

use nix::sys::termios::{self, SetArg, Termios};
use protocol::stream::Size;

/// The terminal of standard input, in raw mode.
pub struct Raw {
    before: Termios,
}

impl Raw {
    /// Raw mode; nothing where standard input is no terminal.
    pub fn start() -> io::Result<Option<Raw>> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        let before = termios::tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        termios::cfmakeraw(&mut raw);
        termios::tcsetattr(io::stdin(), SetArg::TCSANOW, &raw)?;
        Ok(Some(Raw { before }))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // There is nothing left to do with a terminal that is gone.
        let _ = termios::tcsetattr(io::stdin(), SetArg::TCSADRAIN, &self.before);
    }
}

/// How large the terminal is; none where the output goes elsewhere.
pub fn size() -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some(Size { columns: size.ws_col, rows: size.ws_row })
}
