//! Recordings as files below a folder, closed to others. A file is complete or
//! not there: it is written beside its place, synced and renamed.

use std::{
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use platform::ports::recording_store::{RecordingStore, StoreError};

pub struct RecordingFolder {
    folder: PathBuf,
}

impl RecordingFolder {
    pub fn open(folder: PathBuf) -> RecordingFolder {
        RecordingFolder { folder }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(key)
    }
}

impl RecordingStore for RecordingFolder {
    fn put<'a>(&'a self, key: &'a str, bytes: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        let path = self.path(key);
        Box::pin(on_a_thread(move || write(&path, &bytes)))
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        let path = self.path(key);
        Box::pin(on_a_thread(move || match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }))
    }

    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let path = self.path(key);
        Box::pin(on_a_thread(move || {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => (),
            }
            // The folders of a recording go with its last piece; others are not empty.
            for folder in path.ancestors().skip(1).take(2) {
                let _ = std::fs::remove_dir(folder);
            }
            Ok(())
        }))
    }
}

async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let away = |error: String| StoreError::Away(error);
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| away(error.to_string()))?;
    done.map_err(|error| away(error.to_string()))
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let beside = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_piece_is_stored_read_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let store = RecordingFolder::open(folder.path().join("kept"));
        let key = "recording-1/0/7";
        assert_eq!(store.get(key).await.unwrap(), None);
        store.put(key, Bytes::from_static(b"a")).await.unwrap();
        store.put(key, Bytes::from_static(b"b")).await.unwrap();
        assert_eq!(store.get(key).await.unwrap(), Some(Bytes::from_static(b"b")));
        store.delete(key).await.unwrap();
        store.delete(key).await.unwrap();
        assert_eq!(store.get(key).await.unwrap(), None);
        assert!(!folder.path().join("kept/recording-1").exists(), "nothing of it is left");
    }
}
