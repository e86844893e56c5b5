//! Shells, commands and ports of a user of this host. What is run has the user's
//! ids, groups and home, and no capabilities, not even ones it could get back. It
//! is started inside the login's control group, never in the agent's own.

use super::users::User;
use crate::streams::Refused;
use crate::streams::listeners::{self, Listener};
use crate::streams::shell::{FILE_SERVERS, LOGIN, PortRoute, Prepared, Program};
use protocol::stream::refusals;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::process::Command;

const CONNECT_LIMIT: Duration = Duration::from_secs(5); // bound: the port is on this host

/// `enter` is the program, with its arguments, that starts another one in the group.
pub(crate) fn prepare(user: &User, enter: &[String], program: Program<'_>) -> Result<Prepared, Refused> {
    let Some((first, rest)) = enter.split_first() else {
        return Err(Refused::new(refusals::FAILED, "this host cannot start programs for logins"));
    };
    let mut command = Command::new(first);
    command.args(rest).arg("/usr/bin/setsid").env_clear().current_dir("/");
    match program {
        Program::Shell { term, .. } => command.arg("--ctty").env("TERM", term),
        // Without a terminal nothing tells it that the agent is gone.
        Program::Command(_) | Program::Files => &mut command,
    };
    command.args(["/usr/bin/setpriv", "--reuid", &user.uid.to_string(), "--regid", &user.gid.to_string()]);
    command.args(["--init-groups", "--inh-caps=-all", "--bounding-set=-all"]);
    if !matches!(program, Program::Shell { .. }) {
        command.args(["--pdeathsig", "KILL"]);
    }
    match program {
        Program::Shell { command: line, .. } => command.args(["/bin/bash", "-c", LOGIN, "bash"]).args(line),
        Program::Command("") => command.args(["/bin/bash", "-c", LOGIN, "bash"]),
        Program::Command(line) => command.args(["/bin/bash", "-c", LOGIN, "bash", line]),
        Program::Files => command.arg(file_server()?).arg("-d").arg(&user.home),
    };
    command.env("HOME", &user.home).env("USER", &user.name).env("LOGNAME", &user.name).env("SHELL", &user.shell);
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games").env("LANG", "C.UTF-8");
    Ok(Prepared { command, owner: Some(user.uid) })
}

fn file_server() -> Result<&'static str, Refused> {
    let found = FILE_SERVERS.iter().find(|path| Path::new(path).exists());
    found.copied().ok_or_else(|| {
        let refused = Refused::new(refusals::UNSUPPORTED, "sftp-server is not installed on this host");
        refused.advise("install the package `openssh-sftp-server` on that host")
    })
}

/// Only to a socket of the user's own, before and after: a port may change hands.
pub(crate) async fn connect(user: &User, port: u16) -> Result<PortRoute, Refused> {
    let listener = own_listener(user.uid, port)?;
    let connecting = tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(listener.address)).await;
    let refused = |detail: String| Refused::new(refusals::NOTHING_LISTENS, detail);
    let socket = connecting.map_err(|_| refused(format!("port {port} does not respond")))?;
    let socket = socket.map_err(|error| refused(format!("port {port}: {error}")))?;
    if own_listener(user.uid, port)? == listener {
        Ok(PortRoute::Socket(socket))
    } else {
        Err(Refused::new(refusals::FOREIGN_PORT, format!("port {port} is now used by another user")))
    }
}

fn own_listener(uid: u32, port: u16) -> Result<Listener, Refused> {
    choose(&listeners::on_port(Path::new("/proc/self"), port), uid, port)
}

/// The user's own socket. One of another user on the same port, at another address
/// or shared, makes it unclear who would answer.
fn choose(found: &[Listener], uid: u32, port: u16) -> Result<Listener, Refused> {
    if found.is_empty() {
        return Err(Refused::new(refusals::NOTHING_LISTENS, format!("port {port}")));
    }
    match found.iter().find(|listener| listener.uid != uid) {
        Some(_) => Err(Refused::new(refusals::FOREIGN_PORT, format!("port {port}"))),
        None => Ok(found[0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_users_own_socket_is_connected_to() {
        let listener = |uid| Listener { address: ([127, 0, 0, 1], 80).into(), uid };
        assert_eq!(choose(&[], 5, 80).unwrap_err().code, refusals::NOTHING_LISTENS);
        assert_eq!(choose(&[listener(0)], 5, 80).unwrap_err().code, refusals::FOREIGN_PORT);
        assert_eq!(choose(&[listener(5), listener(6)], 5, 80).unwrap_err().code, refusals::FOREIGN_PORT);
        assert_eq!(choose(&[listener(5)], 5, 80), Ok(listener(5)));
    }
}
