//! Where the pieces of recordings are kept. Keys are made of our own ids and
//! numbers; putting the same piece twice is putting it once.

use bytes::Bytes;
use futures_util::future::BoxFuture;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("the recording store cannot be reached: {0}")]
    Away(String),
    #[error("the recording store denied access: {0}")]
    Refused(String),
}

pub trait RecordingStore: Send + Sync {
    fn put<'a>(&'a self, key: &'a str, bytes: Bytes) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Nothing when there is none under the key.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>>;
    /// Deleting what is not there is done.
    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}
