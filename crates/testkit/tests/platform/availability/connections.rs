//! Connections that say nothing, or only half of what they should.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use gpuaasd::roles::Role;
use testkit::{Database, Server, World, rounds, server::eventually};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

const HALF_PREFACE: &[u8] = b"PRI * HT";
// bound: long past every deadline of the server
const PATIENCE: Duration = Duration::from_secs(30);

async fn server(max_connections: usize) -> Server {
    let database = Arc::new(Database::new().await);
    Server::with(database, &[Role::Api], |config| config.http.max_connections = max_connections).await
}

fn listener(server: &Server) -> SocketAddr {
    server.base.trim_start_matches("http://").parse().unwrap()
}

async fn connect(from: &str, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
    socket.connect(to).await.unwrap()
}

/// A client with one address and a new connection for every request.
fn client(from: &str) -> reqwest::Client {
    let address: IpAddr = from.parse().unwrap();
    let builder = reqwest::Client::builder().local_address(address).pool_max_idle_per_host(0);
    builder.timeout(Duration::from_secs(5)).build().unwrap()
}

async fn is_answered(client: &reqwest::Client, server: &Server) -> bool {
    let answer = client.get(format!("{}/healthz", server.base)).send().await;
    answer.is_ok_and(|it| it.status() == 200)
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_are_closed_after_the_deadline() {
    let server = server(4).await;
    let to = listener(&server);
    let mut quiet = Vec::new();
    for _ in 0..4 {
        quiet.push(connect("127.0.0.1", to).await);
    }
    let mut half = connect("127.0.0.1", to).await;
    half.write_all(HALF_PREFACE).await.unwrap();
    quiet.push(half);
    let client = client("127.0.0.1");
    eventually("an answer beside the silent connections", || is_answered(&client, &server)).await;
    for mut stream in quiet {
        let closed = tokio::time::timeout(PATIENCE, stream.read(&mut [0; 64])).await;
        assert!(matches!(closed, Ok(Ok(0) | Err(_))), "a silent connection is still open: {closed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_of_one_address_leave_room_for_others() {
    let server = server(64).await;
    let to = listener(&server);
    let mut quiet = Vec::new();
    for at in 0..100 {
        let mut stream = connect("127.0.0.2", to).await;
        if at % 2 == 0 {
            stream.write_all(HALF_PREFACE).await.unwrap();
        }
        quiet.push(stream);
    }
    let client = client("127.0.0.3");
    for nth in 0..20 {
        assert!(is_answered(&client, &server).await, "request {nth} of another address was not answered");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_connection_that_answers_no_ping_is_closed() {
    let server = server(64).await;
    let mut stream = connect("127.0.0.1", listener(&server)).await;
    // The preface and empty settings; nothing is ever answered after them.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00").await.unwrap();
    let closed = tokio::time::timeout(2 * PATIENCE, stream.read_to_end(&mut Vec::new())).await;
    assert!(closed.is_ok(), "a connection without answers to pings is still open after {:?}", 2 * PATIENCE);
}

#[tokio::test(flavor = "multi_thread")]
async fn open_watches_count_against_their_address() {
    let database = Arc::new(Database::new().await);
    let server = Server::with(database, &[Role::Api], |config| config.http.connections_per_address = 4).await;
    let world = World::on(server).await;
    let (organization, owner) = world.organization().await;
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(world.watch(organization, &owner.token, "").await);
    }
    let refused = world.try_watch(organization, &owner.token).await;
    assert!(refused.is_err(), "a fifth connection of this address was let in");
    assert!(is_answered(&client("127.0.0.3"), &world.server).await, "another address was not answered");
    open.pop();
    eventually("room for another watch", async || world.try_watch(organization, &owner.token).await.is_ok()).await;
}

/// Prints what another address notices of 8,192 silent sockets and 4,096 half
/// prefaces of one; a tenth of them unless `GPUAAS_SOAK` is set.
#[tokio::test(flavor = "multi_thread")]
async fn flood_of_silent_connections_is_not_noticed_by_another_address() {
    let server = server(rounds(4096)).await;
    let to = listener(&server);
    let (silent, half) = (rounds(8192), rounds(4096));
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, 20_000, 20_000).unwrap_or_default();
    let client = client("127.0.0.3");
    let measure = async |what: &str| {
        let mut times = Vec::new();
        for nth in 0..200 {
            let asked = Instant::now();
            assert!(is_answered(&client, &server).await, "request {nth} {what} was not answered");
            times.push(asked.elapsed());
        }
        times.sort_unstable();
        (times[100], times[198])
    };
    let before = measure("before").await;
    let mut open = Vec::new();
    let during = {
        let flood = async {
            for at in 0..silent + half {
                let mut stream = connect("127.0.0.2", to).await;
                if at >= silent {
                    // One that was closed already cannot be written to.
                    let _ = stream.write_all(HALF_PREFACE).await;
                }
                open.push(stream);
            }
        };
        let (during, ()) = tokio::join!(measure("during"), flood);
        during
    };
    let after = measure("with all of them open").await;
    println!(
        "{silent} silent sockets and {half} half prefaces from 127.0.0.2; requests from 127.0.0.3: \
         before p50 {:?} p99 {:?}, while they connect p50 {:?} p99 {:?}, with all of them open p50 {:?} p99 {:?}",
        before.0, before.1, during.0, during.1, after.0, after.1
    );
    drop(open);
}
