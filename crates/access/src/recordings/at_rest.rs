//! Pieces of recordings as they lie in the store: sealed, with a key that the vault
//! holds, so that whoever reads the disk or the bucket sees nothing of what was shown
//! or typed. Replacing the key that seals secrets rewraps that key, not the pieces.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use kernel::{
    Access, Db, Tx,
    secrets::{Keyring, Sealed},
    vault::{self, VaultError},
};

use platform::ports::recording_store::{RecordingStore, StoreError};

/// The vault's name for the key.
pub const NAME: &str = "recordings";

/// The same store, with what it holds sealed.
pub async fn sealed(
    db: &Db,
    keyring: &Keyring,
    store: Arc<dyn RecordingStore>,
) -> Result<Arc<dyn RecordingStore>, VaultError> {
    let mut tx = Tx::system(db, "recordings", Access::Write).await?;
    vault::lock(&mut tx, NAME).await?;
    let mut held = vault::all(&mut tx, keyring, NAME).await?;
    if held.is_empty() {
        vault::put(&mut tx, keyring, NAME, &Keyring::generate_entry(), None).await?;
        held = vault::all(&mut tx, keyring, NAME).await?;
    }
    // A key that was revoked seals nothing more. What it sealed is read until it is deleted:
    // evidence that nobody can read would be worth more to a thief than to us.
    held.extend(vault::revoked(&mut tx, keyring, NAME).await?);
    tx.commit().await?;
    let entries: Vec<&str> = held.iter().filter_map(|it| it.secret.expose_text()).collect();
    let keyring =
        Keyring::parse(&entries.join("\n")).map_err(|source| VaultError::Sealed { name: NAME.to_owned(), source })?;
    Ok(Arc::new(AtRest { keyring, store }))
}

struct AtRest {
    keyring: Keyring,
    store: Arc<dyn RecordingStore>,
}

impl RecordingStore for AtRest {
    fn put<'a>(&'a self, key: &'a str, bytes: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        let sealed = self.keyring.seal(&context(key), &bytes).to_bytes();
        self.store.put(key, sealed.into())
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        Box::pin(async move {
            let Some(bytes) = self.store.get(key).await? else { return Ok(None) };
            let opened = Sealed::from_bytes(&bytes).and_then(|it| self.keyring.open(&context(key), &it));
            // What does not open was altered: it differs from its hash, and whoever reads it says so.
            Ok(Some(opened.map_or(bytes, |it| Bytes::copy_from_slice(it.expose()))))
        })
    }

    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.delete(key)
    }
}

fn context(key: &str) -> String {
    format!("recording:{key}")
}
