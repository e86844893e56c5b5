//! The accept loop of every listener: bounded connections, each peer with its
//! share, and a stop that lets running requests finish. What is said on a
//! connection is the caller's business.

use std::{net::IpAddr, sync::Arc, time::Duration};

use crate::{ConnectionPermit, Limits, Places, keep_alive};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// How a listener is called in the log, and how much it bears.
pub struct Bounds {
    pub name: &'static str,
    pub limits: Limits,
    /// After this long a stop no longer waits for requests.
    pub stop_patience: Duration,
}

/// A connection that found a place.
pub struct Accepted {
    pub stream: TcpStream,
    pub address: IpAddr,
    /// A stop waits for what it watches.
    pub watcher: Watcher,
    pub place: Arc<ConnectionPermit>,
}

/// Hands every connection to `talk` until stopped, then waits for those that
/// the watcher watches. One whose place is given to somebody else is closed.
pub async fn accept<Talk, Talking>(listener: TcpListener, bounds: Bounds, stop: CancellationToken, talk: Talk)
where
    Talk: Fn(Accepted) -> Talking,
    Talking: Future<Output = ()> + Send + 'static,
{
    let places = Places::new(bounds.limits);
    let graceful = GracefulShutdown::new();
    let open = metrics::gauge!("gpuaas_connections", "listener" => bounds.name);
    let count = move |what: &'static str| {
        metrics::counter!("gpuaas_connections_closed_total", "listener" => bounds.name, "reason" => what).increment(1);
    };
    loop {
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
        let Some(place) = places.take(peer.ip()) else {
            count("no_place");
            continue;
        };
        open.set(places.taken() as f64);
        let _ = stream.set_nodelay(true);
        keep_alive(&stream);
        let place = Arc::new(place);
        let address = peer.ip().to_canonical();
        let talking = talk(Accepted { stream, address, watcher: graceful.watcher(), place: place.clone() });
        tokio::spawn(async move {
            tokio::select! {
                () = talking => (),
                () = place.cut() => count("made_room"),
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(bounds.stop_patience, graceful.shutdown()).await.is_err() {
        tracing::warn!(listener = bounds.name, "some requests did not finish in time and were cut off");
    }
}
