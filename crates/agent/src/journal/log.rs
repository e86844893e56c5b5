//! The journal's file: one JSON line per entry, appended and synced; rewritten
//! beside and renamed when it grew long.

use super::Entry;
use crate::state::sync_folder;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot read or write the journal {path}")]
    Io { path: PathBuf, source: io::Error },
    #[error("line {line} of the journal {path} is damaged; clean the host, remove the file and enroll again")]
    Damaged { path: PathBuf, line: usize },
}

pub(super) struct Log {
    path: PathBuf,
    file: File,
    length: u64,
    lines: usize,
}

/// Every entry of the file; a half-written last line never counted.
pub(super) fn read(path: &Path) -> Result<Vec<Entry>, JournalError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(JournalError::Io { path: path.to_owned(), source }),
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let parse = |(at, line)| {
        serde_json::from_slice(line).map_err(|_| JournalError::Damaged { path: path.to_owned(), line: at + 1 })
    };
    lines.enumerate().map(parse).collect()
}

impl Log {
    /// Replaces the file by these entries in one step.
    pub fn rewrite(path: &Path, entries: Vec<Entry>) -> Result<Self, JournalError> {
        let failed = |source| JournalError::Io { path: path.to_owned(), source };
        Self::replace(path, entries).map_err(failed)
    }

    fn replace(path: &Path, entries: Vec<Entry>) -> io::Result<Self> {
        let beside = path.with_extension("new");
        let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
        let mut writer = BufWriter::new(file);
        let lines = entries.len();
        for entry in entries {
            writer.write_all(&line(&entry)?)?;
        }
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        sync_folder(path)?;
        let file = OpenOptions::new().append(true).open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length, lines })
    }

    pub fn append(&mut self, entry: &Entry, durable: bool) -> Result<(), JournalError> {
        self.try_append(entry, durable).map_err(|source| {
            // Half a line must not become the start of the next one.
            let _ = self.file.set_len(self.length);
            JournalError::Io { path: self.path.clone(), source }
        })
    }

    fn try_append(&mut self, entry: &Entry, durable: bool) -> io::Result<()> {
        let line = line(entry)?;
        self.file.write_all(&line)?;
        if durable {
            self.file.sync_data()?;
        }
        self.length += line.len() as u64;
        self.lines += 1;
        Ok(())
    }

    pub fn lines(&self) -> usize {
        self.lines
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn line(entry: &Entry) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    Ok(line)
}
