//! One part of a recording on disk, in a folder of its own until the control plane
//! has it: closed pieces (`N.chunk`), the one that is being written (`N.part`),
//! and how far it got (`state`). What is written outlives the process at once;
//! nothing is synced, so a loss of power may take the last moments with it.

use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use uuid::Uuid;

const RECORD: usize = 20; // the head of a record in a part: length, offset, moment
const MAX_RECORD: usize = 4 << 20; // bound: far above a batch; a damaged length must not be believed
const MAX_TEXT: u64 = 256 << 20; // bound: what one piece may hold unpacked

/// What is known of a piece beside its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub recording: Uuid,
    pub segment: u32,
    pub number: u32,
    pub from: u64,
    pub to: u64,
    pub began_ms: u64,
    pub ended_ms: u64,
    pub is_last: bool,
}

#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    pub fn create(spool: &Path, recording: Uuid, segment: u32) -> io::Result<Self> {
        let path = spool.join(format!("{recording}-{segment}"));
        fs::create_dir_all(&path)?;
        Ok(Self { path })
    }

    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, number: u32, kind: &str) -> PathBuf {
        self.path.join(format!("{number:08}.{kind}"))
    }

    /// The last piece that was closed; none before the first.
    fn state(&self) -> io::Result<Option<Meta>> {
        match fs::read(self.path.join("state")) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn begin_part(&self, meta: &Meta) -> io::Result<File> {
        let mut file = create(&self.file(meta.number, "part"))?;
        let mut line = serde_json::to_vec(meta)?;
        line.push(b'\n');
        file.write_all(&line)?;
        Ok(file)
    }

    /// Closes a piece: its whole frame of zstd takes the place of the part.
    pub fn close(&self, meta: &Meta, frame: &[u8]) -> io::Result<()> {
        let mut line = serde_json::to_vec(meta)?;
        line.push(b'\n');
        replace(&self.file(meta.number, "chunk"), &[&line, frame])?;
        replace(&self.path.join("state"), &[&serde_json::to_vec(meta)?])?;
        match fs::remove_file(self.file(meta.number, "part")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub fn chunk(&self, number: u32) -> io::Result<(Meta, Vec<u8>)> {
        let mut bytes = fs::read(self.file(number, "chunk"))?;
        let end = bytes.iter().position(|it| *it == b'\n').ok_or(io::ErrorKind::InvalidData)?;
        let meta = serde_json::from_slice(&bytes[..end])?;
        bytes.drain(..=end);
        Ok((meta, bytes))
    }

    pub fn remove_chunk(&self, number: u32) -> io::Result<()> {
        fs::remove_file(self.file(number, "chunk"))
    }

    /// The closed pieces that wait, in their order, and how many bytes they have.
    pub fn chunks(&self) -> io::Result<(Vec<u32>, u64)> {
        let (mut numbers, mut bytes) = (Vec::new(), 0);
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name().into_string().unwrap_or_default();
            if let Some(number) = name.strip_suffix(".chunk").and_then(|it| it.parse().ok()) {
                numbers.push(number);
                bytes += entry.metadata()?.len();
            }
        }
        numbers.sort_unstable();
        Ok((numbers, bytes))
    }

    pub fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }

    /// Sets it aside for a person to look at.
    pub fn set_aside(&self) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_extension("refused"))
    }

    /// Makes whole what a crash left: the part becomes the last piece, as far as
    /// it was written, and a segment without one gets an empty last piece.
    pub fn repair(&self, compress: impl Fn(&[u8]) -> io::Result<Vec<u8>>) -> io::Result<()> {
        let state = self.state()?;
        if state.as_ref().is_some_and(|it| it.is_last) {
            return Ok(());
        }
        let number = state.as_ref().map_or(0, |it| it.number + 1);
        let part = match File::open(self.file(number, "part")) {
            Ok(file) => read_part(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let after = |it: Meta| Meta { number, from: it.to, began_ms: it.ended_ms, ..it };
        let Some((meta, text)) = part.or_else(|| Some((after(state?), Vec::new()))) else { return Ok(()) };
        self.close(&Meta { is_last: true, ..meta }, &compress(&text)?)
    }
}

/// Adds a record to a part: what it holds and how far it reaches.
pub fn add_record(file: &mut File, to: u64, at_ms: u64, compressed: &[u8]) -> io::Result<()> {
    let length = u32::try_from(compressed.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut record = Vec::with_capacity(RECORD + compressed.len());
    record.extend(length.to_be_bytes());
    record.extend(to.to_be_bytes());
    record.extend(at_ms.to_be_bytes());
    record.extend_from_slice(compressed);
    file.write_all(&record)
}

/// The lines of a part as far as whole records reach; none if it was not begun.
fn read_part(mut file: File) -> io::Result<Option<(Meta, Vec<u8>)>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let Some(end) = bytes.iter().position(|it| *it == b'\n') else { return Ok(None) };
    let mut meta: Meta = serde_json::from_slice(&bytes[..end])?;
    let mut rest = &bytes[end + 1..];
    let mut compressed = Vec::new();
    while let Some((head, tail)) = rest.split_at_checked(RECORD) {
        let number = |range: std::ops::Range<usize>| head[range].iter().fold(0, |sum, it| sum << 8 | u64::from(*it));
        let length = usize::try_from(number(0..4)).unwrap_or(usize::MAX);
        let Some((piece, tail)) = tail.split_at_checked(length).filter(|_| length <= MAX_RECORD) else { break };
        compressed.extend_from_slice(piece);
        (meta.to, meta.ended_ms) = (number(4..12), number(12..20));
        rest = tail;
    }
    // The frame has no end: what comes before is whole all the same.
    let mut text = Vec::new();
    let _ = zstd::Decoder::new(&compressed[..])?.take(MAX_TEXT).read_to_end(&mut text);
    let whole = text.iter().rposition(|it| *it == b'\n').map_or(0, |at| at + 1);
    text.truncate(whole);
    Ok(Some((meta, text)))
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)
}

/// Writes a file beside its place and renames it there.
fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = create(&beside)?;
    for part in parts {
        file.write_all(part)?;
    }
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::super::compress::Compressors;
    use super::*;

    fn meta(number: u32) -> Meta {
        let recording = Uuid::from_u128(5);
        Meta { recording, segment: 0, number, from: 10, to: 10, began_ms: 1, ended_ms: 1, is_last: false }
    }

    fn compress(text: &[u8]) -> io::Result<Vec<u8>> {
        zstd::encode_all(text, 1)
    }

    #[test]
    fn a_part_is_recovered_as_far_as_it_was_written() {
        let spool = tempfile::tempdir().unwrap();
        let folder = Folder::create(spool.path(), Uuid::from_u128(5), 0).unwrap();
        folder.close(&meta(0), &compress(b"[0]\n").unwrap()).unwrap();
        let mut file = folder.begin_part(&meta(1)).unwrap();
        let mut compressor = Compressors::default().lend().unwrap();
        for (at, line) in [(1, "[1]\n"), (2, "[2]\n")] {
            let mut out = Vec::new();
            compressor.add(line.as_bytes(), &mut out).unwrap();
            add_record(&mut file, 10 + at, at, &out).unwrap();
        }
        file.write_all(&[0, 0, 0, 99, 1, 2, 3]).unwrap();
        folder.repair(compress).unwrap();
        let (numbers, bytes) = folder.chunks().unwrap();
        assert_eq!(numbers, [0, 1]);
        assert!(bytes > 0);
        let (last, frame) = folder.chunk(1).unwrap();
        assert_eq!((last.from, last.to, last.ended_ms, last.is_last), (10, 12, 2, true));
        assert_eq!(zstd::decode_all(&frame[..]).unwrap(), b"[1]\n[2]\n");
        folder.repair(compress).unwrap();
        assert_eq!(folder.chunks().unwrap().0, [0, 1], "a second time changes nothing");
    }

    #[test]
    fn a_segment_without_a_part_gets_its_end() {
        let spool = tempfile::tempdir().unwrap();
        let folder = Folder::create(spool.path(), Uuid::from_u128(5), 0).unwrap();
        folder.close(&Meta { to: 70, ..meta(4) }, &compress(b"[4]\n").unwrap()).unwrap();
        folder.remove_chunk(4).unwrap();
        folder.repair(compress).unwrap();
        let (last, frame) = folder.chunk(5).unwrap();
        assert_eq!((last.number, last.from, last.to, last.is_last), (5, 70, 70, true));
        assert!(zstd::decode_all(&frame[..]).unwrap().is_empty());
    }
}
