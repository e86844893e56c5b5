//! The accept loop of every listener: bounded connections, and a stop that lets
//! running requests finish. What is said on a connection is the caller's business.

use std::{net::IpAddr, sync::Arc, time::Duration};

use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::sync::CancellationToken;

/// How a listener is called in the log, and how much it bears.
pub struct Bounds {
    pub name: &'static str,
    pub max_connections: usize,
    /// After this long a stop no longer waits for requests.
    pub stop_patience: Duration,
}

/// Hands every connection to `talk` until stopped, then waits for those that
/// the watcher watches.
pub async fn accept<Talk, Talking>(listener: TcpListener, bounds: Bounds, stop: CancellationToken, talk: Talk)
where
    Talk: Fn(TcpStream, IpAddr, Watcher) -> Talking,
    Talking: Future<Output = ()> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(bounds.max_connections));
    let graceful = GracefulShutdown::new();
    loop {
        let place = tokio::select! {
            () = stop.cancelled() => break,
            place = places.clone().acquire_owned() => place.expect("the semaphore is never closed"),
        };
        let (stream, peer) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(listener = bounds.name, %error, "accepting a connection failed");
                    // Out of file handles: give others time to close theirs.
                    tokio::time::sleep(Duration::from_millis(50)).await; // bound: a pause, not a limit
                    continue;
                }
            },
        };
        let _ = stream.set_nodelay(true);
        let talking = talk(stream, peer.ip(), graceful.watcher());
        tokio::spawn(async move {
            talking.await;
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(bounds.stop_patience, graceful.shutdown()).await.is_err() {
        tracing::warn!(listener = bounds.name, "some requests did not finish in time and were cut off");
    }
}
