//! One run of the server process: its settings, its start, its signals, and
//! the watcher that ends it should we be killed.

use std::{
    fs, io,
    io::Write,
    os::unix::{net::UnixStream, process::CommandExt},
    path::Path,
    process::{Child, ExitStatus, Stdio},
    thread,
};

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};

use super::{
    Binaries, DevError,
    account::command,
    log,
    place::{ClusterPaths, FILES, at},
};

/// All that is needed to run the server again.
pub(super) struct Spec {
    pub binaries: Binaries,
    pub place: ClusterPaths,
    pub durable: bool,
    pub max_connections: u32,
    pub remove_at_exit: bool,
}

pub(super) struct Server {
    process: Child,
    watcher: Child,
}

impl Server {
    /// `on_exit` is called once, from a thread of its own, when the process
    /// has ended; it is not reaped before [`Server::reap`], so that its number
    /// stays its own.
    pub fn spawn(spec: &Spec, on_exit: impl FnOnce() + Send + 'static) -> Result<Self, DevError> {
        let place = &spec.place;
        let program = spec.binaries.program("postgres");
        let mut postgres = command(place.account.as_ref(), &program, &place.home);
        postgres.arg("-D").arg(&place.data);
        for setting in settings(spec) {
            postgres.arg("-c").arg(setting);
        }
        let log_file = || log::open(&place.log).map_err(at(&place.log));
        // A group of its own: Ctrl-C in the terminal is for us, and we stop
        // the server after the work that needs it.
        let mut process = postgres
            .stdout(log_file()?)
            .stderr(log_file()?)
            .process_group(0)
            .spawn()
            .map_err(|source| DevError::Run { program, source })?;
        let started =
            watch(spec, process.id()).and_then(|watcher| notice_exit(process.id(), on_exit).map(|()| watcher));
        match started {
            Ok(watcher) => Ok(Self { process, watcher }),
            Err(source) => {
                // Without a watcher it must not run; it has done nothing yet.
                let _ = process.kill();
                let _ = process.wait();
                Err(DevError::Run { program: Path::new("sh").to_owned(), source })
            }
        }
    }

    /// Whether it accepts connections: it says so in its lock file.
    pub fn is_ready(&self, place: &ClusterPaths) -> bool {
        let lock = fs::read_to_string(place.data.join("postmaster.pid")).unwrap_or_default();
        let mut lines = lock.lines();
        let is_this_one = lines.next() == Some(self.process.id().to_string().as_str());
        let is_ready = lines.nth(6).is_some_and(|it| it.trim() == "ready");
        is_this_one && is_ready && UnixStream::connect(place.socket()).is_ok()
    }

    pub fn signal(&self, signal: Signal) {
        // It cannot be reaped yet, so the number is right and this cannot fail.
        let _ = kill(pid_of(self.process.id()), signal);
    }

    /// Lets the watcher go and collects the exit status. Call it once the
    /// process has ended.
    pub fn reap(mut self) -> io::Result<ExitStatus> {
        let status = self.process.wait();
        if let Some(mut pipe) = self.watcher.stdin.take() {
            // Should the watcher be gone, there is nobody to tell.
            let _ = pipe.write_all(b"stopped\n");
        }
        let _ = self.watcher.wait();
        status
    }
}

fn settings(spec: &Spec) -> Vec<String> {
    let socket_dir = spec.place.socket_dir.to_string_lossy().replace('"', "\"\"");
    let mut settings = vec![
        "listen_addresses=".to_owned(),
        format!("port={}", super::place::PORT),
        format!("unix_socket_directories=\"{socket_dir}\""),
        "unix_socket_permissions=0700".to_owned(),
        format!("max_connections={}", spec.max_connections),
    ];
    // Small enough for a laptop; short statements gain nothing from compiling.
    let frugal = [
        "cluster_name=gpuaas",
        "shared_buffers=64MB",
        "huge_pages=off",
        "jit=off",
        "min_wal_size=80MB",
        "max_wal_size=256MB",
        "timezone=UTC",
        "log_timezone=UTC",
        "logging_collector=off",
        "log_destination=stderr",
        "log_line_prefix=%m [%p] %q%u@%d ",
    ];
    // Commits still reach the kernel, so they survive a kill of the server.
    let forgetful = ["fsync=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0"];
    settings.extend(frugal.map(str::to_owned));
    if !spec.durable {
        settings.extend(forgetful.map(str::to_owned));
    }
    settings
}

/// Waits on a pipe that only we hold. A line means that the server has ended;
/// the end of the pipe without one means that we have. `$1` is the server,
/// `$2` the first signal, `$3` the folder to empty, `$4` the socket's folder,
/// and what follows is what to remove. Kept folders are not touched, because
/// the next start may be at work in them already. A zombie counts as ended:
/// some containers have nobody to reap it.
const WATCHER: &str = r#"
read -r line && exit 0
is_running() {
    case $(cat "/proc/$server/stat" 2>/dev/null) in '' | *') Z '*) return 1 ;; esac
}
gone() {
    left=$1
    while is_running; do
        [ "$left" -gt 0 ] || return 1
        left=$((left - 1))
        sleep 0.1
    done
}
server=$1 signal=$2 dir=$3 socket_dir=$4
shift 4
kill -s "$signal" "$server" 2>/dev/null
gone 200 || kill -s QUIT "$server" 2>/dev/null
gone 100 || kill -s KILL "$server" 2>/dev/null
[ -n "$dir" ] || exit 0
rmdir "$socket_dir" 2>/dev/null
cd "$dir" && rm -rf -- "$@" data.new-* && rmdir "$dir"
"#;

/// Runs as ourselves, not as the server's account, because it removes folders
/// of ours.
fn watch(spec: &Spec, server: u32) -> io::Result<Child> {
    let place = &spec.place;
    let mut watcher = command(None, Path::new("/bin/sh"), Path::new("/"));
    watcher
        .args(["-c", WATCHER, "gpuaas-watcher"])
        .arg(server.to_string())
        .arg(if spec.durable { "INT" } else { "QUIT" })
        .arg(if spec.remove_at_exit { place.dir.as_path() } else { Path::new("") })
        .arg(&place.socket_dir)
        .args(["data", "run"])
        .args(FILES)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

fn notice_exit(process: u32, on_exit: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let wait = move || {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while waitid(Id::Pid(pid_of(process)), flags) == Err(nix::errno::Errno::EINTR) {}
        on_exit();
    };
    let thread = thread::Builder::new().name("postgres-exit".into());
    thread.spawn(wait).map(|_| ())
}

fn pid_of(process: u32) -> Pid {
    Pid::from_raw(i32::try_from(process).expect("the kernel numbers processes below 2^22"))
}
