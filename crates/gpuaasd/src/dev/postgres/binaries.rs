//! Finds PostgreSQL's programs: those that GPUAAS_PG_BIN names, those on the
//! PATH, and where distributions put them, newest first.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::DevError;

const SERVER: [&str; 2] = ["initdb", "postgres"];
const CLIENT: [&str; 2] = ["pg_dump", "pg_restore"];

/// A folder of PostgreSQL's programs, and their major version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    dir: PathBuf,
    version: u32,
}

impl Binaries {
    pub fn find() -> Result<Self, DevError> {
        Self::all(SERVER)?.into_iter().next().ok_or(DevError::NoPostgres)
    }

    /// `pg_dump` and `pg_restore` for a server of that version: they understand
    /// older servers, never newer ones.
    pub fn for_server(version: u32) -> Result<Self, DevError> {
        let fitting = Self::all(CLIENT)?.into_iter().filter(|it| it.version >= version);
        fitting.min_by_key(|it| it.version).ok_or(DevError::NoClient { version })
    }

    /// A cluster can be run by programs of its own major version only.
    pub(super) fn of_version(version: u32, data: &Path) -> Result<Self, DevError> {
        let all = Self::all(SERVER)?;
        if all.is_empty() {
            return Err(DevError::NoPostgres);
        }
        all.into_iter()
            .find(|it| it.version == version)
            .ok_or_else(|| DevError::OtherVersion { data: data.to_owned(), version })
    }

    /// The path of a program such as `pg_dump`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn version(&self) -> u32 {
        self.version
    }

    fn all(needed: [&'static str; 2]) -> Result<Vec<Self>, DevError> {
        if let Some(dir) = std::env::var_os("GPUAAS_PG_BIN").filter(|it| !it.is_empty()) {
            let dir = PathBuf::from(dir);
            let named = Self::in_folder(dir.clone(), needed).ok_or(DevError::BadBinaries { dir, needed })?;
            return Ok(vec![named]);
        }
        let mut installed: Vec<_> = installed_folders().filter_map(|it| Self::in_folder(it, needed)).collect();
        installed.sort_by_key(|it| std::cmp::Reverse(it.version));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).filter_map(|it| Self::in_folder(it, needed));
        Ok(on_path.chain(installed).collect())
    }

    fn in_folder(dir: PathBuf, needed: [&'static str; 2]) -> Option<Self> {
        // An absolute path, because children run in another folder; and where
        // links lead, because some link only a few programs into the PATH.
        let dir = dir.join(needed[0]).canonicalize().ok()?.parent()?.to_owned();
        if !needed.iter().all(|name| dir.join(name).is_file()) {
            return None;
        }
        let output = Command::new(dir.join(needed[0])).arg("--version").output().ok()?;
        let version = major_version(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { dir, version })
    }
}

fn installed_folders() -> impl Iterator<Item = PathBuf> {
    let debian = subfolders("/usr/lib/postgresql").map(|it| it.join("bin"));
    let others =
        subfolders("/usr").filter(|it| it.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pgsql-")));
    let source = PathBuf::from("/usr/local/pgsql/bin");
    debian.chain(others.map(|it| it.join("bin"))).chain(std::iter::once(source))
}

fn subfolders(dir: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries.flatten().map(|it| it.path())
}

/// From `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` or `… 19beta1`.
fn major_version(text: &str) -> Option<u32> {
    let (_, version) = text.split_once("(PostgreSQL) ")?;
    let digits = version.find(|it: char| !it.is_ascii_digit()).map_or(version, |end| &version[..end]);
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_what_postgres_prints() {
        for (text, version) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0)\n", Some(15)),
            ("postgres (PostgreSQL) 19beta1", Some(19)),
            ("postgres (PostgreSQL) 17", Some(17)),
            ("something else", None),
        ] {
            assert_eq!(major_version(text), version, "{text}");
        }
    }

    #[test]
    fn installed_programs_are_found_and_another_version_is_named() {
        let found = Binaries::find().unwrap();
        assert!(found.program("initdb").is_file());
        assert_eq!(Binaries::of_version(found.version(), Path::new("/x")).unwrap().version(), found.version());
        let error = Binaries::of_version(7, Path::new("/x")).unwrap_err();
        assert!(error.to_string().contains("postgresql-7"), "{error}");
    }
}
