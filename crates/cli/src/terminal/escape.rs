//! What is typed into a remote shell, and the few keys that are meant for this
//! program: after a new line, a tilde and a letter, as ssh has it.

/// What to do with typed bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum InputAction {
    /// For the shell.
    Bytes(Vec<u8>),
    /// Leave; the shell stays for a while and can be joined again.
    Leave,
    /// End the shell.
    End,
    Help,
}

pub const HELP: &str = "\r\n~.  detach; the shell keeps running for a while and can be resumed\r\n~x  end the shell\r\n~~  send a tilde\r\n~?  show this help\r\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    LineStart,
    Tilde,
    Within,
}

pub struct Escape {
    state: State,
}

impl Default for Escape {
    fn default() -> Self {
        Self { state: State::LineStart }
    }
}

impl Escape {
    /// Splits what was typed.
    pub fn take(&mut self, typed: &[u8]) -> Vec<InputAction> {
        let (mut out, mut plain) = (Vec::new(), Vec::with_capacity(typed.len()));
        for &byte in typed {
            let order = match (self.state, byte) {
                (State::LineStart, b'~') => {
                    self.state = State::Tilde;
                    continue;
                }
                (State::Tilde, b'.') => Some(InputAction::Leave),
                (State::Tilde, b'x') => Some(InputAction::End),
                (State::Tilde, b'?') => Some(InputAction::Help),
                (State::Tilde, b'~') => None,
                (State::Tilde, _) => {
                    plain.push(b'~');
                    None
                }
                (State::LineStart | State::Within, _) => None,
            };
            self.state =
                if matches!(byte, b'\r' | b'\n') || order.is_some() { State::LineStart } else { State::Within };
            match order {
                None => plain.push(byte),
                Some(order) => {
                    push(&mut out, &mut plain);
                    out.push(order);
                }
            }
        }
        push(&mut out, &mut plain);
        out
    }
}

fn push(out: &mut Vec<InputAction>, plain: &mut Vec<u8>) {
    if !plain.is_empty() {
        out.push(InputAction::Bytes(std::mem::take(plain)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pieces: &[&str]) -> Vec<InputAction> {
        let mut escape = Escape::default();
        pieces.iter().flat_map(|it| escape.take(it.as_bytes())).collect()
    }

    fn bytes(text: &str) -> InputAction {
        InputAction::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn tilde_after_a_newline_is_an_escape_and_elsewhere_goes_to_the_shell() {
        assert_eq!(typed(&["~."]), [InputAction::Leave]);
        assert_eq!(typed(&["ls ~.\r"]), [bytes("ls ~.\r")]);
        assert_eq!(typed(&["ls\r~."]), [bytes("ls\r"), InputAction::Leave]);
        assert_eq!(typed(&["\r~", "x"]), [bytes("\r"), InputAction::End]);
        assert_eq!(typed(&["~?id\r"]), [InputAction::Help, bytes("id\r")]);
    }

    #[test]
    fn double_tilde_sends_one_and_an_unknown_escape_is_sent_unchanged() {
        assert_eq!(typed(&["~~/x"]), [bytes("~/x")]);
        assert_eq!(typed(&["~/x"]), [bytes("~/x")]);
        assert_eq!(typed(&["~", "~", "."]), [bytes("~"), bytes(".")]);
    }
}
