//! A wire between server and PostgreSQL that counts round trips: every answer
//! of the database ends with a message that says it is ready for the next.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{UnixListener, UnixStream, unix::OwnedReadHalf, unix::OwnedWriteHalf},
    task::JoinHandle,
};

use crate::Database;

pub struct Wire {
    folder: tempfile::TempDir,
    database: Arc<Database>,
    answers: Arc<AtomicU64>,
    serving: JoinHandle<()>,
}

/// The name that clients look for in the folder that they are given.
const SOCKET: &str = ".s.PGSQL.5432";

impl Wire {
    /// Stands between whoever connects to [`Wire::url`] and the database.
    pub fn to(database: Arc<Database>) -> Wire {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let answers = Arc::new(AtomicU64::new(0));
        let serving = tokio::spawn(serve(listener, database.socket_dir().join(SOCKET), answers.clone()));
        Wire { folder, database, answers, serving }
    }

    /// As the platform connects, through the wire.
    pub fn url(&self) -> String {
        let folder = self.folder.path().to_string_lossy().replace('/', "%2F");
        format!("postgres:///{}?host={folder}&user=gpuaas&sslmode=disable", self.database.name)
    }

    /// Round trips so far, of all connections.
    pub fn round_trips(&self) -> u64 {
        self.answers.load(Ordering::SeqCst)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: UnixListener, socket: PathBuf, answers: Arc<AtomicU64>) {
    while let Ok((near, _)) = listener.accept().await {
        let far = connect(&socket).await;
        let ((mut from_server, to_server), (from_database, mut to_database)) = (near.into_split(), far.into_split());
        tokio::spawn(async move { copy(&mut from_server, &mut to_database).await });
        tokio::spawn(count(from_database, to_server, answers.clone()));
    }
}

async fn connect(socket: &Path) -> UnixStream {
    UnixStream::connect(socket).await.expect("the test's cluster runs")
}

/// Passes on what the database says. A message is a letter, its length with
/// itself counted, and the rest; `Z` ends an answer.
async fn count(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, answers: Arc<AtomicU64>) -> std::io::Result<()> {
    loop {
        let mut message = vec![0; 5];
        from.read_exact(&mut message).await?;
        let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]) as usize;
        message.resize(1 + length, 0);
        from.read_exact(&mut message[5..]).await?;
        if message[0] == b'Z' {
            // Before it is passed on, so that who has the answer sees the count.
            answers.fetch_add(1, Ordering::SeqCst);
        }
        to.write_all(&message).await?;
    }
}
