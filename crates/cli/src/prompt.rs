//! Asking people: lines, secrets without an echo, and whether they mean it.

use std::{
    fs::File,
    io::{self, BufRead, IsTerminal, Read, Write},
};

use contract::SecretText;
use nix::sys::termios::{self, LocalFlags, SetArg, Termios};

use crate::{
    arguments::Consent,
    failure::{Done, Failure},
};

/// More than any password or token has.
const LARGEST_SECRET_BYTES: u64 = 16 * 1024;

pub fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a line; an empty one stands for `usual`.
pub async fn line(question: &str, usual: Option<&str>) -> Result<String, Failure> {
    let question = match usual {
        Some(usual) => format!("{question} [{usual}]: "),
        None => format!("{question}: "),
    };
    let answer = read(question).await?;
    Ok(if answer.is_empty() { usual.unwrap_or_default().to_owned() } else { answer })
}

/// Waits for Enter.
pub async fn enter(question: &str) -> Done {
    read(format!("[{question}] ")).await.map(drop)
}

/// Asks for a secret, which does not appear on the terminal.
pub async fn secret(question: &str) -> Result<SecretText, Failure> {
    check_possible()?;
    let hush = EchoOff::start().map_err(|error| cannot_ask(&error))?;
    let answer = read(format!("{question}: ")).await;
    drop(hush);
    let _ = writeln!(io::stderr());
    Ok(SecretText::new(answer?))
}

/// A token from a pipe, or from a prompt.
pub async fn token(is_piped: bool, question: &str) -> Result<SecretText, Failure> {
    if !is_piped {
        return secret(question).await;
    }
    let [token] = piped_secrets()?;
    Ok(token)
}

/// Asks for a new password, twice.
pub async fn new_password() -> Result<SecretText, Failure> {
    let first = secret("New password").await?;
    let again = secret("Repeat new password").await?;
    if first.expose() != again.expose() {
        return Err(Failure::usage("the passwords do not match", "Run the command again."));
    }
    Ok(first)
}

/// Secrets from a pipe, one per line.
pub fn piped_secrets<const COUNT: usize>() -> Result<[SecretText; COUNT], Failure> {
    let mut text = String::new();
    let read = io::stdin().lock().take(LARGEST_SECRET_BYTES).read_to_string(&mut text);
    read.map_err(|error| cannot_ask(&error))?;
    let lines: Vec<SecretText> = text.lines().map(|it| SecretText::new(it.to_owned())).collect();
    lines
        .try_into()
        .ok()
        .filter(|lines: &[SecretText; COUNT]| lines.iter().all(|it| !it.expose().is_empty()))
        .ok_or_else(|| {
            let count = if COUNT == 1 { "exactly one line".to_owned() } else { format!("exactly {COUNT} lines") };
            Failure::usage(format!("expected {count} on standard input, none of them empty"), "")
        })
}

/// Goes on only when the person types `word`, or said `--yes` before.
pub async fn confirm(consent: Consent, what: &str, word: &str) -> Done {
    if consent.yes {
        return Ok(());
    }
    if !is_possible() {
        return Err(Failure::usage(
            format!("confirmation required: this {what}"),
            "Pass --yes to confirm without a terminal.",
        ));
    }
    let answer = read(format!("This {what}.\nType {word} to confirm: ")).await?;
    if answer != word {
        return Err(Failure::usage("not confirmed; nothing was changed", ""));
    }
    Ok(())
}

fn check_possible() -> Done {
    if is_possible() {
        return Ok(());
    }
    Err(Failure::usage(
        "input required, but there is no terminal to prompt on",
        "Pass the value as a flag, or a secret on standard input. See --help.",
    ))
}

async fn read(question: String) -> Result<String, Failure> {
    check_possible()?;
    // On a thread of its own, so that Ctrl-C is heard meanwhile.
    let answer = tokio::task::spawn_blocking(move || {
        // Not locked while it waits: who was interrupted has something to say there.
        io::stderr().write_all(question.as_bytes())?;
        io::stderr().flush()?;
        let mut answer = String::new();
        match io::stdin().lock().read_line(&mut answer)? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            _ => Ok(answer.trim_end_matches(['\r', '\n']).to_owned()),
        }
    });
    match answer.await {
        Ok(answer) => answer.map_err(|error| cannot_ask(&error)),
        Err(_) => Err(Failure::usage("the prompt was interrupted", "")),
    }
}

fn cannot_ask(error: &io::Error) -> Failure {
    Failure::usage(format!("cannot read input: {error}"), "")
}

/// Keeps the terminal from showing what is typed, until it is dropped.
struct EchoOff {
    terminal: File,
    before: Termios,
}

impl EchoOff {
    fn start() -> io::Result<Self> {
        let terminal = File::open("/dev/tty")?;
        let before = termios::tcgetattr(&terminal)?;
        let mut silent = before.clone();
        silent.local_flags.remove(LocalFlags::ECHO);
        termios::tcsetattr(&terminal, SetArg::TCSAFLUSH, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(&self.terminal, SetArg::TCSANOW, &self.before);
    }
}
