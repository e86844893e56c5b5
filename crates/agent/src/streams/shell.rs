//! What a workload is asked for: to run something inside, or to reach a port on which
//! it listens.

use protocol::stream::Environment;
use tokio::net::TcpStream;
use tokio::process::Command;

/// What a stream runs.
#[derive(Clone, Copy, Debug)]
pub enum Program<'a> {
    /// A login shell on a terminal, or a command of it.
    Shell { term: &'a str, command: Option<&'a str> },
    /// A command of the login shell without a terminal; an empty one is the shell
    /// itself, which reads its input.
    Command(&'a str),
    /// The SFTP server.
    Files,
}

/// Ready to be started; the one who starts it decides about its three streams.
pub struct Prepared {
    pub command: Command,
    /// To whom its terminal belongs; nobody in particular without.
    pub owner: Option<u32>,
}

impl Prepared {
    /// With what the client sets, in place of what the workload did.
    pub fn with(mut self, environment: &Environment) -> Self {
        self.command.envs(environment.iter());
        self
    }
}

/// How a port is reached.
pub enum PortRoute {
    Socket(TcpStream),
    /// A program whose input and output are the connection.
    Program(Box<Command>),
}

/// Becomes the login shell, or runs a command with it. Closes what the agent itself
/// may have been started with, and remembers in the environment which Unix session
/// it began, to tell its processes later.
pub const LOGIN: &str = "for file in /proc/$$/fd/*; do file=${file##*/}; \
    if [ \"$file\" -gt 2 ] && [ \"$file\" -ne 255 ]; then eval \"exec $file>&-\"; fi; done; unset file; \
    cd \"$HOME\" 2>/dev/null || cd /; export GPUAAS_LEADER=$$; \
    if [ $# -gt 0 ]; then exec -a \"-${SHELL##*/}\" \"$SHELL\" -c \"$1\"; fi; exec -a \"-${SHELL##*/}\" \"$SHELL\"";

/// The name in the environment that [`LOGIN`] sets.
pub const LEADER: &str = "GPUAAS_LEADER";

/// Where OpenSSH's server for files is installed.
pub const FILE_SERVERS: &[&str] = &[
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/lib/ssh/sftp-server",
    "/usr/libexec/sftp-server",
];

/// A value for `TERM` that no program stumbles over.
pub fn plain_term(term: &str) -> &str {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '+' | '_');
    let fits = !term.is_empty() && term.len() <= 64 && term.chars().all(is_plain);
    if fits { term } else { "xterm-256color" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crooked_term_becomes_a_usual_one() {
        assert_eq!(plain_term("screen.xterm-256color"), "screen.xterm-256color");
        for crooked in ["", "a b", "../x", "x\n", &"a".repeat(65)] {
            assert_eq!(plain_term(crooked), "xterm-256color");
        }
    }
}
