//! Reads the files that are named, each at most so large; `-` is standard input.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::stack::Source;
use crate::failure::Failure;

// bound: thousands of documents; a larger file is the wrong file
const LARGEST_BYTES: u64 = 1024 * 1024;

pub fn read(files: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    if files.iter().filter(|it| *it == Path::new("-")).count() > 1 {
        return Err(Failure::usage("standard input is used twice", "Pass `-f -` only once."));
    }
    files.iter().map(|it| one(it)).collect()
}

fn one(file: &Path) -> Result<Source, Failure> {
    let is_piped = file == Path::new("-");
    let name = if is_piped { "standard input".to_owned() } else { file.display().to_string() };
    let refused = |what: String| Failure::usage(format!("{name} {what}"), "Pass YAML or JSON files with -f.");
    let mut bytes = Vec::new();
    let read = if is_piped {
        io::stdin().lock().take(LARGEST_BYTES + 1).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|it| it.take(LARGEST_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| refused(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LARGEST_BYTES {
        return Err(refused(format!("is larger than {LARGEST_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| refused("is not UTF-8 text".into()))?;
    Ok(Source { name, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_too_large_or_not_text_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read(std::slice::from_ref(&path)).err().map(|it| it.for_people())
        };
        assert!(refused(&vec![b' '; 1024 * 1024 + 1]).unwrap().contains("larger than 1048576 bytes"));
        assert!(refused(b"\xff\xfe").unwrap().contains("not UTF-8"));
        assert_eq!(refused(b"kind: stack"), None);
        assert!(read(&[folder.path().join("none")]).err().unwrap().for_people().contains("cannot be read"));
        assert!(read(&["-".into(), "-".into()]).err().unwrap().for_people().contains("twice"));
    }
}
