//! The listener for SSH clients. The name before the `@` is an allocation; who
//! comes is known by a key alone, which the control plane is asked about. Every
//! channel becomes a stream of its own on the host.

mod algorithms;
mod closing;
mod feed;
mod framed;
mod host_key;
mod line;
mod person;
mod raw;
mod reel;
mod wishes;
mod write;

pub use algorithms::HostKeyError;
pub use host_key::HostKey;

use crate::Gateway;
use crate::public::refused;
use crate::sessions::Session;
use feed::Gate;
use line::Line;
use listen::{ConnectionPermit, Places, keep_alive};
use person::Person;
use protocol::stream::{Closing, Kind};
use russh::Disconnect;
use russh::server::{Config, Handle, RunningSession, run_stream};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const GREETING: Duration = Duration::from_secs(10); // bound: a client says its version at once
const LOGIN: Duration = Duration::from_secs(60); // bound: time to unlock a key, or to touch one
const FAREWELL: Duration = Duration::from_secs(2); // bound: for a client to hear why, and to hang up
const STOP: Duration = Duration::from_secs(10); // bound: then those who do not go are cut off
const PAUSE: Duration = Duration::from_millis(50); // bound: a pause when file handles are short, not a limit

/// Serves until stopped, and then until everybody has gone.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener, mut configs: watch::Receiver<Option<Arc<Config>>>) {
    let places = Places::new(gateway.settings.limits());
    loop {
        let (stream, peer) = tokio::select! {
            () = gateway.stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "accepting an SSH client failed");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
        };
        // Who comes before there is a certificate waits for it: nobody could know us.
        let config = tokio::select! {
            () = gateway.stop.cancelled() => break,
            config = configs.wait_for(Option::is_some) => config.ok().and_then(|it| it.clone()),
        };
        let Some(config) = config else { break };
        let address = peer.ip().to_canonical();
        if !gateway.failures.may_try(address) {
            refused("ssh_address");
            continue;
        }
        let Some(place) = places.take(address) else {
            refused("ssh_no_place");
            continue;
        };
        keep_alive(&stream);
        tokio::spawn(welcome(gateway.clone(), config, stream, address, place));
    }
    drop(listener);
    if tokio::time::timeout(STOP, places.empty()).await.is_err() {
        tracing::warn!("some SSH clients did not disconnect in time and were closed");
    }
}

/// One client, from its greeting to its end.
async fn welcome(
    gateway: Arc<Gateway>,
    config: Arc<Config>,
    stream: TcpStream,
    address: IpAddr,
    place: ConnectionPermit,
) {
    let (cut, gate) = (CancellationToken::new(), Arc::new(Gate::default()));
    // Whatever happens here, its line is cut at the end.
    let _guard = cut.clone().drop_guard();
    let line = match Line::new(stream, gate.clone(), cut) {
        Ok(line) => line,
        Err(error) => return tracing::debug!(%error, "a client disconnected before the banner was sent"),
    };
    let (login, logins) = watch::channel(None);
    let person = Person::new(gateway.clone(), address, gate, login);
    let greeted = tokio::select! {
        greeted = tokio::time::timeout(GREETING, run_stream(config, line, person)) => greeted,
        () = place.cut() => return refused("ssh_made_room"),
    };
    let running = match greeted {
        Ok(Ok(running)) => running,
        Ok(Err(_)) | Err(_) => return refused("ssh_greeting"),
    };
    let mut known = logins.clone();
    let vouched = async {
        // Who logged in keeps the place; who has not may have to make room.
        let is_known = known.wait_for(Option::is_some).await.is_ok();
        if is_known {
            place.vouch();
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = attend(running, logins) => (),
        () = place.cut() => refused("ssh_made_room"),
        () = vouched => (),
    }
}

/// Waits until the client goes, does not log in, or its session must end.
async fn attend(running: RunningSession<Person>, logins: watch::Receiver<Option<Arc<Session>>>) {
    let handle = running.handle();
    tokio::pin!(running);
    let order = tokio::select! {
        ended = &mut running => {
            if let Err(error) = ended {
                tracing::debug!(%error, "an SSH connection ended");
            }
            return;
        }
        order = ordered(logins) => order,
    };
    match order {
        Some((session, order)) => {
            session.part(crate::sessions::SessionEnd { is_over: true, ..crate::sessions::SessionEnd::closed(order) });
            // Its channels say why, each to its person, before they close.
            if tokio::time::timeout(FAREWELL, &mut running).await.is_ok() {
                return;
            }
            say_goodbye(&handle, closing::words(order)).await;
        }
        None => {
            refused("ssh_slow_login");
            say_goodbye(&handle, "login timed out; connect again").await;
        }
    }
    let _ = tokio::time::timeout(FAREWELL, running).await;
}

/// Why the connection must end; nothing when nobody logged in.
async fn ordered(mut logins: watch::Receiver<Option<Arc<Session>>>) -> Option<(Arc<Session>, Closing)> {
    let waited = async { logins.wait_for(Option::is_some).await.ok().and_then(|it| it.clone()) };
    let Some(session) = tokio::time::timeout(LOGIN, waited).await.ok()? else {
        // The connection is ending by itself.
        return std::future::pending().await;
    };
    let order = session.ended().await;
    Some((session, order))
}

async fn say_goodbye(handle: &Handle, why: &str) {
    let told = handle.disconnect(Disconnect::ByApplication, format!("gpuaas: {why}"), String::new());
    // Who does not listen is cut off.
    let _ = tokio::time::timeout(FAREWELL, told).await;
}

/// Whether the session may open this kind at all.
fn may_open(session: &Session, kind: &Kind) -> bool {
    session.kinds.iter().any(|it| it == kind.name())
}
