//! The configuration on disk: written whole or not at all, and readable by its
//! owner alone.

use std::{
    env,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::Config;
use crate::failure::Failure;

/// Where the configuration is stored.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    path: PathBuf,
}

/// Held while the file is read, changed and written; other processes wait.
pub struct Lock {
    _file: File,
}

const LOCK_PATIENCE: Duration = Duration::from_secs(60);
const LOCK_PAUSE: Duration = Duration::from_millis(25);

impl ConfigFile {
    /// `GPUAAS_CONFIG`, or the usual place in the person's home.
    pub fn locate() -> Result<Self, Failure> {
        let given = |name| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        let path = given("GPUAAS_CONFIG").or_else(|| {
            let folder = given("XDG_CONFIG_HOME").or_else(|| given("HOME").map(|it| it.join(".config")))?;
            Some(folder.join("gpuaas").join("config.toml"))
        });
        let path = path.ok_or_else(|| {
            Failure::usage("cannot locate the configuration file: HOME is not set", "Set GPUAAS_CONFIG to a file path.")
        })?;
        Ok(Self::at(path))
    }

    pub fn at(path: PathBuf) -> Self {
        // A link stays a link: what it points to is replaced.
        Self { path: fs::canonicalize(&path).unwrap_or(path) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is written, or nothing where there is no file yet.
    pub fn read(&self) -> Result<Config, Failure> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
            Err(error) => return Err(self.failure("cannot be read", error)),
        };
        // The parser's message would quote the line, which may hold a token.
        toml::from_str(&text).map_err(|error| {
            let at = error.span().map_or(0, |it| text[..it.start.min(text.len())].lines().count().max(1));
            self.failure("is not valid", format!("{} (line {at})", error.message()))
        })
    }

    pub async fn lock(&self) -> Result<Lock, Failure> {
        self.make_folder()?;
        let path = self.path.with_extension("lock");
        let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = open.map_err(|error| self.failure("cannot be locked", error))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::Error(error)) => return Err(self.failure("cannot be locked", error)),
                Err(TryLockError::WouldBlock) if start.elapsed() > LOCK_PATIENCE => {
                    return Err(self.failure("is locked", "another gpuaas process is using it"));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
            }
        }
    }

    /// Reads, changes and writes under the lock.
    pub async fn change<T>(&self, change: impl FnOnce(&mut Config) -> Result<T, Failure>) -> Result<T, Failure> {
        let lock = self.lock().await?;
        let mut config = self.read()?;
        let result = change(&mut config)?;
        self.write(&lock, &config)?;
        Ok(result)
    }

    pub fn write(&self, _lock: &Lock, config: &Config) -> Result<(), Failure> {
        let text = toml::to_string_pretty(config).map_err(|error| self.failure("cannot be written", error))?;
        let staged = self.path.with_extension("new");
        let replace = || -> io::Result<()> {
            // One left by a process that died may have wider permissions.
            let _ = fs::remove_file(&staged);
            let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&staged)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&staged, &self.path)
        };
        replace().map_err(|error| self.failure("cannot be written", error))
    }

    fn make_folder(&self) -> Result<(), Failure> {
        let Some(folder) = self.path.parent().filter(|it| !it.as_os_str().is_empty()) else {
            return Ok(());
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| self.failure("cannot be created", error))
    }

    fn failure(&self, what: &str, why: impl std::fmt::Display) -> Failure {
        Failure::usage(
            format!("the configuration file {} {what}: {why}", self.path.display()),
            "Fix or remove the file, or set GPUAAS_CONFIG to another one.",
        )
    }
}
