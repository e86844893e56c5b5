//! Where the cluster lives: its data, its socket, its log and its lock, with
//! the owners and modes that they need.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    sync::Arc,
};

use aws_lc_rs::digest::{SHA256, digest};
use nix::unistd::geteuid;

use super::{ClusterOptions, DevError, account::Account};

/// The socket's file name carries a port; the server listens on no network.
pub(super) const PORT: u16 = 5432;
/// The kernel's limit for the path of a Unix socket, without its final zero.
const SOCKET_PATH_BYTES: usize = 107;
/// Where root keeps a cluster whose folder the account cannot reach.
const OPEN_FOLDER: &str = "/var/lib/gpuaas";

#[derive(Debug, Clone)]
pub(super) struct ClusterPaths {
    /// The folder that the caller named.
    pub dir: PathBuf,
    /// The same, or an open one elsewhere.
    pub home: PathBuf,
    pub data: PathBuf,
    pub socket_dir: PathBuf,
    pub log: PathBuf,
    /// Who owns data and socket, if not we ourselves.
    pub account: Option<Account>,
    /// Held as long as any clone lives; the kernel drops it with the process.
    _lock: Arc<File>,
}

impl ClusterPaths {
    pub fn prepare(options: &ClusterOptions, account: Option<Account>) -> Result<Self, DevError> {
        fs::create_dir_all(&options.dir).map_err(at(&options.dir))?;
        let dir = options.dir.canonicalize().map_err(at(&options.dir))?;
        let lock = lock(&dir)?;
        let home = match &account {
            Some(account) => reachable_home(&dir, account, options.durable)?,
            None => dir.clone(),
        };
        let data = home.join("data");
        let socket_dir = socket_dir(&home, account.is_none())?;
        private_folder(&socket_dir, account.as_ref())?;
        Ok(Self { log: dir.join("postgres.log"), dir, home, data, socket_dir, account, _lock: Arc::new(lock) })
    }

    pub fn socket(&self) -> PathBuf {
        socket_in(&self.socket_dir)
    }

    /// Cleans up after the server has stopped. A rest that stays does no harm:
    /// the next start finds and reuses it.
    pub fn leave(&self, remove_data: bool) {
        let _ = fs::remove_dir(&self.socket_dir);
        if !remove_data {
            return;
        }
        for folder in [&self.data, &self.socket_dir] {
            let _ = fs::remove_dir_all(folder);
        }
        for name in FILES {
            let _ = fs::remove_file(self.dir.join(name));
        }
        let _ = fs::remove_dir(&self.dir);
    }
}

/// What we keep in the caller's folder beside data and socket.
pub(super) const FILES: [&str; 3] = ["postgres.log", "postgres.log.old", "lock"];

/// Makes a folder that only the server's account can open, or takes over one
/// that is ours already. Anybody may have made it first in a shared folder.
pub(super) fn private_folder(path: &Path, account: Option<&Account>) -> Result<(), DevError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(path).map_err(at(path))?;
            let us = geteuid().as_raw();
            let is_ours = found.uid() == us || account.is_some_and(|it| it.uid == found.uid());
            if !found.is_dir() || !is_ours {
                return Err(DevError::NotOurs { path: path.to_owned() });
            }
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(at(path))?;
        }
        other => other.map_err(at(path))?,
    }
    match account {
        Some(account) => chown(path, Some(account.uid), Some(account.gid)).map_err(at(path)),
        None => Ok(()),
    }
}

fn lock(dir: &Path) -> Result<File, DevError> {
    let path = dir.join("lock");
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(DevError::InUse { dir: dir.to_owned() }),
        Err(TryLockError::Error(source)) => Err(DevError::Folder { path, source }),
    }
}

/// The folder itself is ours to open up; those above it are not. Below a
/// closed one (root's home is), the data goes to an open folder, and a link
/// leads there, so that who removes the folder starts afresh.
fn reachable_home(dir: &Path, account: &Account, durable: bool) -> Result<PathBuf, DevError> {
    let link = dir.join("cluster");
    if let Ok(home) = link.canonicalize() {
        return Ok(home);
    }
    let Some(closed) = account.closed_folder(dir) else {
        make_passable(dir).map_err(at(dir))?;
        return Ok(dir.to_owned());
    };
    if !durable {
        return Err(DevError::Closed { path: closed, account: account.name.clone() });
    }
    let home = Path::new(OPEN_FOLDER).join(uuid::Uuid::now_v7().to_string());
    fs::create_dir_all(&home).map_err(at(&home))?;
    make_passable(Path::new(OPEN_FOLDER)).map_err(at(Path::new(OPEN_FOLDER)))?;
    make_passable(&home).map_err(at(&home))?;
    if link.is_symlink() {
        // It leads nowhere any more.
        fs::remove_file(&link).map_err(at(&link))?;
    }
    symlink(&home, &link).map_err(at(&link))?;
    tracing::info!(
        home = %home.display(),
        closed = %closed.display(),
        account = account.name,
        "the account of PostgreSQL cannot access the data folder; using another folder"
    );
    Ok(home)
}

fn make_passable(dir: &Path) -> io::Result<()> {
    let mode = fs::metadata(dir)?.permissions().mode();
    fs::set_permissions(dir, fs::Permissions::from_mode(mode | 0o011))
}

fn socket_in(dir: &Path) -> PathBuf {
    dir.join(format!(".s.PGSQL.{PORT}"))
}

/// A folder beside the data, or under a shorter path if that one is too long.
fn socket_dir(home: &Path, as_ourselves: bool) -> Result<PathBuf, DevError> {
    let hash = digest(&SHA256, home.as_os_str().as_encoded_bytes());
    let hash: String = hash.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("gpuaas-{hash}");
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|it| as_ourselves && it.is_dir());
    std::iter::once(home.join("run"))
        .chain(runtime.map(|it| it.join(&name)))
        .chain([std::env::temp_dir().join(&name)])
        .chain([Path::new("/tmp").join(&name)])
        .find(|it| it.is_absolute() && socket_in(it).as_os_str().len() <= SOCKET_PATH_BYTES)
        .ok_or(DevError::NoSocketFolder)
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> DevError + '_ {
    move |source| DevError::Folder { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_gets_a_short_socket_of_its_own() {
        let short = Path::new("/srv/gpuaas");
        assert_eq!(socket_dir(short, true).unwrap(), short.join("run"));
        let long = |name: &str| Path::new("/srv").join("x".repeat(120)).join(name);
        let first = socket_dir(&long("a"), true).unwrap();
        assert!(socket_in(&first).as_os_str().len() <= SOCKET_PATH_BYTES);
        assert_eq!(first, socket_dir(&long("a"), true).unwrap());
        assert_ne!(first, socket_dir(&long("b"), true).unwrap());
    }

    #[test]
    fn a_planted_socket_folder_is_refused() {
        let shared = tempfile::tempdir().unwrap();
        let planted = shared.path().join("planted");
        symlink(shared.path(), &planted).unwrap();
        assert!(matches!(private_folder(&planted, None), Err(DevError::NotOurs { .. })));
    }

    #[test]
    fn two_cannot_use_one_folder() {
        let dir = tempfile::tempdir().unwrap();
        let held = lock(dir.path()).unwrap();
        assert!(matches!(lock(dir.path()), Err(DevError::InUse { .. })));
        drop(held);
        assert!(lock(dir.path()).is_ok());
    }
}
