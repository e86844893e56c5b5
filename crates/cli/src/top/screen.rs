//! The terminal while a live view has it: a page of its own, no echo, keys one
//! by one. Dropping it gives everything back.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Write},
};

use nix::sys::termios::{self, LocalFlags, SetArg, Termios};
use rustix::termios::tcgetwinsize;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

use super::Size;

/// What happened at the terminal.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    Quit,
    Resized,
}

pub struct Screen {
    terminal: File,
    before: Termios,
    keys: mpsc::Receiver<()>,
    resizes: Signal,
}

// bound: what is shown where the terminal does not say how large it is
const USUAL: Size = Size { columns: 100, lines: 40 };

impl Screen {
    /// Whether there is a person to show it to.
    pub fn is_possible() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    pub fn open() -> io::Result<Self> {
        let terminal = File::open("/dev/tty")?;
        let before = termios::tcgetattr(&terminal)?;
        let mut raw = before.clone();
        // Signals stay: Ctrl-C ends the command as it ends every other.
        raw.local_flags &= !(LocalFlags::ECHO | LocalFlags::ICANON);
        let (keys, resizes) = (listen(terminal.try_clone()?), signal(SignalKind::window_change())?);
        termios::tcsetattr(&terminal, SetArg::TCSAFLUSH, &raw)?;
        let screen = Self { terminal, before, keys, resizes };
        write("\x1b[?1049h\x1b[?25l\x1b[2J")?;
        Ok(screen)
    }

    pub fn size(&self) -> Size {
        match tcgetwinsize(&self.terminal) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Size { columns: usize::from(size.ws_col), lines: usize::from(size.ws_row) }
            }
            _ => USUAL,
        }
    }

    /// Replaces what is shown.
    pub fn show(&self, lines: &[String]) -> io::Result<()> {
        let rows: Vec<String> = lines.iter().map(|it| format!("{it}\x1b[K")).collect();
        write(&format!("\x1b[H{}\x1b[J", rows.join("\r\n")))
    }

    /// Waits for the person.
    pub async fn input(&mut self) -> Input {
        tokio::select! {
            // Also when the terminal is gone.
            _ = self.keys.recv() => Input::Quit,
            _ = self.resizes.recv() => Input::Resized,
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // What cannot be given back is gone.
        let _ = write("\x1b[?25h\x1b[?1049l");
        let _ = termios::tcsetattr(&self.terminal, SetArg::TCSANOW, &self.before);
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Tells of every `q`. Reads on a thread of its own, which ends with the process: nothing
/// else can wait for a terminal without holding up the end of the command.
fn listen(mut terminal: File) -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut byte = [0u8];
        // bound: until the view is gone or the terminal is
        while !sender.is_closed() && matches!(terminal.read(&mut byte), Ok(1)) {
            if matches!(byte[0], b'q' | b'Q') && sender.blocking_send(()).is_err() {
                return;
            }
        }
    });
    receiver
}
