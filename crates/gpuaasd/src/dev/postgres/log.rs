//! The server's log file, kept below a bound.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The log and one older copy of it take at most twice this much, and what
/// the server writes between two looks.
const LIMIT_BYTES: u64 = 8 * 1024 * 1024;
const TAIL_BYTES: u64 = 4096;
const TAIL_LINES: usize = 4;

/// Opened for appending, so that trimming it under the server's feet is safe.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// The server keeps the file open, so it is copied and emptied, not renamed.
pub(super) fn trim(path: &Path) -> io::Result<()> {
    trim_to(path, LIMIT_BYTES)
}

fn trim_to(path: &Path, limit_bytes: u64) -> io::Result<()> {
    if fs::metadata(path)?.len() <= limit_bytes {
        return Ok(());
    }
    fs::copy(path, path.with_extension("log.old"))?;
    open(path)?.set_len(0)
}

/// The last lines, for an error message.
pub(super) fn tail(path: &Path) -> String {
    read_tail(path).unwrap_or_else(|_| "nothing".to_owned())
}

fn read_tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().filter(|it| !it.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    Ok(lines[from..].join(" | "))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_log_past_its_bound_is_emptied_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("postgres.log");
        let mut server = open(&path).unwrap();
        server.write_all(b"first\n\nsecond\n").unwrap();
        trim_to(&path, 100).unwrap();
        assert_eq!(tail(&path), "first | second");

        trim_to(&path, 5).unwrap();
        server.write_all(b"third\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "third\n");
        let old = fs::read_to_string(dir.path().join("postgres.log.old")).unwrap();
        assert_eq!(old, "first\n\nsecond\n");
    }
}
