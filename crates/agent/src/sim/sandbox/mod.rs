//! A real shell on a pretended host: each login has a sandbox of its own, made when
//! its first stream asks for it and kept until the login goes. Nothing in it has
//! privileges, reaches the machine's network, or sees its processes.

mod files;

use crate::streams::shell::{FILE_SERVERS, LOGIN, PortRoute, Prepared, Program};
use crate::streams::{Refused, listeners};
use files::Files;
use protocol::stream::refusals;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

const START_LIMIT: Duration = Duration::from_secs(10); // bound: making namespaces takes milliseconds
const KILL_LIMIT: Duration = Duration::from_secs(5); // bound: sending one signal
const MOST_SAID: u64 = 4096; // bound: what bubblewrap says when it fails
/// Whom everything in a sandbox runs as where the agent is root.
const NOBODY: &str = "65534";
const USER: &str = "1000";

/// Makes the sandbox and waits. Standard input is its life: when its other end is
/// closed, however the agent ends, the first process goes and the kernel ends all
/// others with it. It cannot be killed from inside, and it collects orphans.
const MAKE: &str = "exec bwrap --unshare-user --uid 0 --gid 0 --unshare-pid --unshare-net --unshare-ipc --unshare-uts \
--unshare-cgroup-try --hostname \"$NODE\" --as-pid-1 --new-session --cap-drop ALL --clearenv \
--ro-bind /usr /usr $LINKS --proc /proc --dev /dev \
--perms 0755 --dir /home --size 268435456 --perms 0700 --tmpfs \"/home/$LOGIN\" \
--size 134217728 --perms 1777 --tmpfs /tmp --size 134217728 --perms 1777 --tmpfs /var/tmp --dir /run \
--ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --ro-bind-try /etc/alternatives /etc/alternatives \
--ro-bind-try /etc/terminfo /etc/terminfo --ro-bind-try /etc/localtime /etc/localtime \
--ro-bind-try /etc/ssl/certs /etc/ssl/certs --ro-bind-try /etc/inputrc /etc/inputrc --ro-bind-try /etc/vim /etc/vim \
--ro-bind-data 3 /etc/passwd --ro-bind-data 4 /etc/group --ro-bind-data 5 /etc/profile \
--ro-bind-data 6 /etc/bash.bashrc --ro-bind-data 7 /etc/hosts --perms 0755 --ro-bind-data 8 /opt/gpuaas/bin/nvidia-smi \
--remount-ro / --info-fd 9 -- \
/bin/sh -c 'echo ready; exec >/dev/null 2>&1; while :; do cat <&3 & wait $! && exit; done 3<&0' \
9>&1 3<<A 4<<B 5<<C 6<<D 7<<E 8<<F
$PASSWD
A
$GROUP
B
$PROFILE
C
$BASHRC
D
$HOSTS
E
$SMI
F
";

/// Carries standard input and output over one connection, each half by itself.
const CARRY: &str = "use Socket; my ($v6, $port) = @ARGV; \
socket(S, $v6 ? PF_INET6 : PF_INET, SOCK_STREAM, 0) or exit 1; \
connect(S, $v6 ? sockaddr_in6($port, inet_pton(AF_INET6, '::1')) : sockaddr_in($port, INADDR_LOOPBACK)) or exit 1; \
$SIG{PIPE} = 'IGNORE'; \
sub carry { my ($from, $to) = @_; my $bytes; while (sysread($from, $bytes, 65536)) { my $at = 0; \
while ($at < length $bytes) { my $n = syswrite($to, $bytes, length($bytes) - $at, $at); return unless $n; $at += $n } } } \
my $child = fork; defined $child or exit 1; \
if (!$child) { carry(*STDIN, *S); shutdown(S, 1); exit 0 } \
close STDIN; carry(*S, *STDOUT); kill 'KILL', $child; exit 0";

/// What a sandbox is made for.
#[derive(Clone, Debug)]
pub struct Occupant {
    pub node: String,
    pub user: String,
    pub model: String,
    pub memory_mib: u64,
    pub gpus: Vec<(String, String)>,
}

pub struct Sandbox {
    child: Child,
    /// Its life.
    stdin: ChildStdin,
    /// The first process inside, as this side counts.
    first: u32,
    user: String,
}

impl Sandbox {
    pub async fn make(occupant: &Occupant) -> Result<Self, Refused> {
        if which("bwrap").is_none() {
            let refused = Refused::new(refusals::UNSUPPORTED, "a simulated node needs bubblewrap for its shells");
            return Err(refused.advise("install the package `bubblewrap` on the machine that runs the simulated nodes"));
        }
        let made = tokio::time::timeout(START_LIMIT, Self::try_make(occupant)).await;
        let why = match made {
            Ok(Ok(sandbox)) => return Ok(sandbox),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "timed out".to_owned(),
        };
        let refused = Refused::new(refusals::FAILED, format!("the sandbox could not be created: {why}"));
        Err(refused.advise("bubblewrap 0.8 or later and unprivileged user namespaces are required"))
    }

    async fn try_make(occupant: &Occupant) -> io::Result<Self> {
        let files = Files::for_occupant(occupant);
        let mut command = unprivileged("/bin/sh");
        command
            .args(["-c", MAKE])
            .env("NODE", host_name(&occupant.node))
            .env("LOGIN", &occupant.user)
            .env("LINKS", links());
        command.env("PASSWD", files.passwd).env("GROUP", files.group).env("PROFILE", files.profile);
        command.env("BASHRC", files.bashrc).env("HOSTS", files.hosts).env("SMI", files.nvidia_smi);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("it has no input or output");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        match first_process(stdout).await {
            Some(first) => Ok(Self { child, stdin, first, user: occupant.user.clone() }),
            None => {
                let mut said = String::new();
                stderr.take(MOST_SAID).read_to_string(&mut said).await?;
                Err(io::Error::other(said.trim().to_owned()))
            }
        }
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub fn prepare(&self, program: Program<'_>) -> Result<Prepared, Refused> {
        let mut command = self.enter(&["--mount", "--pid", "--net", "--ipc", "--uts"]);
        command.arg("/usr/bin/setsid");
        if let Program::Shell { term, .. } = program {
            command.arg("--ctty").env("TERM", term);
        }
        command.args(["/usr/bin/unshare", "--user", "--map-user", USER, "--map-group", USER]);
        match program {
            Program::Shell { command: line, .. } => command.args(["/bin/bash", "-c", LOGIN, "bash"]).args(line),
            Program::Command("") => command.args(["/bin/bash", "-c", LOGIN, "bash"]),
            Program::Command(line) => command.args(["/bin/bash", "-c", LOGIN, "bash", line]),
            Program::Files => command.arg(file_server()?).arg("-d").arg(format!("/home/{}", self.user)),
        };
        command.env("HOME", format!("/home/{}", self.user)).env("USER", &self.user).env("LOGNAME", &self.user);
        command.env("SHELL", "/bin/bash").env("LANG", "C.UTF-8");
        command.env("PATH", "/opt/gpuaas/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games");
        Ok(Prepared { command, owner: Some(owner()) })
    }

    /// Everything that listens inside is the login's own.
    pub fn connect(&self, port: u16) -> Result<PortRoute, Refused> {
        let tables = PathBuf::from(format!("/proc/{}", self.first));
        let found = listeners::on_port(&tables, port);
        let listener = found.first().ok_or_else(|| Refused::new(refusals::NOTHING_LISTENS, format!("port {port}")))?;
        let is_six = if listener.address.is_ipv6() { "1" } else { "" };
        let mut command = self.enter(&["--net"]);
        command.args(["/usr/bin/perl", "-e", CARRY, is_six, &port.to_string()]);
        Ok(PortRoute::Program(Box::new(command)))
    }

    /// Ends every process inside; what is in the home stays.
    pub async fn quiet(&self) {
        let mut command = self.enter(&["--mount", "--pid"]);
        command.args(["/bin/kill", "-KILL", "--", "-1"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        if let Ok(mut child) = command.spawn() {
            let _ = tokio::time::timeout(KILL_LIMIT, child.wait()).await;
        }
    }

    /// Waits until nothing of it is left.
    pub async fn end(mut self) {
        drop(self.stdin);
        if tokio::time::timeout(KILL_LIMIT, self.child.wait()).await.is_err() {
            let _ = self.child.start_kill();
        }
    }

    /// A program that runs inside some of the sandbox's walls.
    fn enter(&self, walls: &[&str]) -> Command {
        let mut command = unprivileged("/usr/bin/nsenter");
        command.args(["--target", &self.first.to_string(), "--preserve-credentials", "--user"]).args(walls);
        command
    }
}

/// The same path whether the agent is root or not: as root it becomes nobody first.
fn unprivileged(program: &str) -> Command {
    let mut command = Command::new("/usr/bin/setpriv");
    if nix::unistd::geteuid().is_root() {
        command.args([
            "--reuid",
            NOBODY,
            "--regid",
            NOBODY,
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
        ]);
    }
    command.args(["--no-new-privs", program]);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").current_dir("/");
    command
}

fn owner() -> u32 {
    let own = nix::unistd::geteuid();
    if own.is_root() { NOBODY.parse().unwrap_or(own.as_raw()) } else { own.as_raw() }
}

/// What bubblewrap and then the first process say: its number, and that all is made.
async fn first_process(stdout: tokio::process::ChildStdout) -> Option<u32> {
    let mut lines = BufReader::new(stdout.take(MOST_SAID)).lines();
    let mut first = None;
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(number) = line.trim().strip_prefix("\"child-pid\":") {
            first = number.trim().trim_end_matches(',').parse().ok();
        }
        if line == "ready" {
            return first;
        }
    }
    None
}

/// `/bin` and its like, as this machine has them: links into `/usr`, or folders.
fn links() -> String {
    let mut words = String::new();
    for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        let path = Path::new("/").join(name);
        match std::fs::read_link(&path) {
            Ok(target) => words.push_str(&format!(" --symlink {} /{name}", target.display())),
            Err(_) if path.is_dir() => words.push_str(&format!(" --ro-bind /{name} /{name}")),
            Err(_) => {}
        }
    }
    words
}

/// Letters that a host name may have.
fn host_name(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-');
    let name: String = letters.take(63).collect();
    if name.is_empty() { "node".to_owned() } else { name }
}

fn file_server() -> Result<&'static str, Refused> {
    let found = FILE_SERVERS.iter().find(|path| Path::new(path).exists());
    found.copied().ok_or_else(|| {
        let refused = Refused::new(refusals::UNSUPPORTED, "sftp-server is not installed on this host");
        refused.advise("install the package `openssh-sftp-server` on that host")
    })
}

fn which(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"];
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}
