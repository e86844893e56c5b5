//! Stands between the server and its PostgreSQL and counts the round trips: how
//! often a connection says something after it was answered. What it carries it
//! does not read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};

use super::super::pgbench::PORT;

/// Where PostgreSQL itself is found while the tap has its place.
pub const BEHIND: u16 = PORT + 1;

pub struct Tap {
    /// A thread of its own: the caller blocks on `psql`.
    runtime: Option<Runtime>,
    round_trips: Arc<AtomicU64>,
    socket: PathBuf,
    behind: PathBuf,
}

impl Tap {
    /// Takes the place of the socket in the folder. Only new connections lead through it.
    pub fn between(socket_dir: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot stand between server and PostgreSQL: {error}");
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(failed)?;
        let [socket, behind] = [PORT, BEHIND].map(|port| socket_dir.join(format!(".s.PGSQL.{port}")));
        fs::rename(&socket, &behind).map_err(failed)?;
        let tap = Self { runtime: Some(runtime), round_trips: Arc::default(), socket, behind };
        if let Some(runtime) = &tap.runtime {
            let _inside = runtime.enter();
            let listener = UnixListener::bind(&tap.socket).map_err(failed)?;
            runtime.spawn(serve(listener, tap.behind.clone(), tap.round_trips.clone()));
        }
        Ok(tap)
    }

    /// So far, on all connections.
    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // PostgreSQL removes its socket by name when it stops.
        let _ = fs::rename(&self.behind, &self.socket);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(listener: UnixListener, behind: PathBuf, round_trips: Arc<AtomicU64>) {
    while let Ok((client, _)) = listener.accept().await {
        let (behind, round_trips) = (behind.clone(), round_trips.clone());
        tokio::spawn(async move {
            let Ok(server) = UnixStream::connect(&behind).await else { return };
            let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
            let is_waiting = AtomicBool::new(false);
            let said = || {
                if !is_waiting.swap(true, Ordering::Relaxed) {
                    round_trips.fetch_add(1, Ordering::Relaxed);
                }
            };
            // Either side's end is the other's.
            tokio::select! {
                () = carry(from_client, to_server, said) => (),
                () = carry(from_server, to_client, || is_waiting.store(false, Ordering::Relaxed)) => (),
            }
        });
    }
}

/// Passes on whatever comes until one side ends; `noticed` is called before each piece.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, noticed: impl Fn()) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        noticed();
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn round_trip_is_counted_once_whatever_its_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(format!(".s.PGSQL.{PORT}"))).unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = [0; 4];
            while stream.read_exact(&mut bytes).await.is_ok() {
                stream.write_all(b"answer").await.unwrap();
            }
        });
        let tap = Tap::between(folder.path()).unwrap();
        let mut client = UnixStream::connect(folder.path().join(format!(".s.PGSQL.{PORT}"))).await.unwrap();
        for round in 1..=3 {
            for piece in [b"as", b"k!"] {
                client.write_all(piece).await.unwrap();
                client.flush().await.unwrap();
            }
            let mut answer = [0; 6];
            client.read_exact(&mut answer).await.unwrap();
            assert_eq!((&answer, tap.round_trips()), (b"answer", round));
        }
        drop(tap);
        assert!(!folder.path().join(format!(".s.PGSQL.{BEHIND}")).exists());
    }
}
