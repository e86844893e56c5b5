//! Reading a password or an answer: from a terminal without showing it, twice, or from a
//! pipe. Never from the command line, which other users can read.

use std::io::{self, BufRead, IsTerminal, Write};

use contract::SecretText;
use nix::sys::termios::{self, LocalFlags, SetArg, Termios};

use super::AnyError;

pub fn new_password() -> Result<SecretText, AnyError> {
    if !io::stdin().is_terminal() {
        return read();
    }
    let hush = EchoOff::start()?;
    let first = ask("Password: ")?;
    let again = ask("Repeat password: ")?;
    drop(hush);
    if first.expose() == again.expose() {
        Ok(first)
    } else {
        Err("the passwords do not match; run the command again".into())
    }
}

/// What a person at a terminal answers; nothing where there is none.
pub fn yes_or_no(question: &str) -> Result<Option<bool>, AnyError> {
    // bound: who answers neither three times wants something else
    const TRIES: usize = 3;
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    for _ in 0..TRIES {
        eprint!("{question}");
        io::stderr().flush()?;
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(Some(true)),
            "n" | "no" => return Ok(Some(false)),
            _ => eprintln!("Please answer y or n."),
        }
    }
    Ok(None)
}

fn ask(question: &str) -> Result<SecretText, AnyError> {
    eprint!("{question}");
    io::stderr().flush()?;
    let answer = read();
    eprintln!();
    answer
}

fn read() -> Result<SecretText, AnyError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let line = line.trim_end_matches(['\n', '\r']);
    if line.is_empty() {
        return Err("no password given; type one, or send it as one line on standard input".into());
    }
    Ok(SecretText::new(line.to_owned()))
}

/// A terminal that shows nothing, until dropped.
struct EchoOff(Termios);

impl EchoOff {
    fn start() -> Result<Self, AnyError> {
        let before = termios::tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_flags.remove(LocalFlags::ECHO);
        termios::tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        // The terminal may be gone; there is nothing else to do.
        let _ = termios::tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &self.0);
    }
}
