//! Forwarded ports.

use crate::stage::client::ClientMessage;
use crate::stage::{Client, Stage, bind, eventually};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use protocol::stream::{Closing, Kind};
use std::sync::atomic::Ordering::SeqCst;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;

/// A port on which everything comes back, twice at the end.
async fn echo() -> u16 {
    let listener = bind().await;
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    port
}

async fn key(control: &mut Client) -> String {
    let ClientMessage::Text(text) = control.hear().await else { panic!("no key came") };
    let said: serde_json::Value = serde_json::from_str(&text).unwrap();
    said["key"].as_str().unwrap().to_owned()
}

async fn read(client: &mut Client, length: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < length {
        match client.socket.next().await {
            Some(Ok(Message::Binary(bytes))) => all.extend_from_slice(&bytes),
            other => panic!("{other:?}"),
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn every_connection_goes_to_the_port_of_the_ticket() {
    let (stage, _host) = Stage::with_host().await;
    let port = echo().await;
    let session = stage.plane.ticket("t", Kind::Tcp { port }, None);
    let mut control = Client::open(stage.public, "/v1/forward", &["gpuaas.ticket.t"]).await;
    let key = key(&mut control).await;
    assert!(key.len() >= 43, "a key has 256 bits");
    let offer = format!("gpuaas.session.{key}");
    let mut first = Client::open(stage.public, "/v1/forward", &[&offer]).await;
    let mut second = Client::open(stage.public, "/v1/forward", &[&offer]).await;
    let big: Vec<u8> = (0..1_000_000_u32).map(|it| it as u8).collect();
    for client in [&mut first, &mut second] {
        client.socket.send(Message::Binary(Bytes::from_static(b"hello"))).await.unwrap();
        assert_eq!(read(client, 5).await, b"hello");
    }
    let (mut sink, mut stream) = first.socket.split();
    let sending = async {
        for piece in big.chunks(50_000) {
            sink.send(Message::Binary(Bytes::copy_from_slice(piece))).await.unwrap();
        }
    };
    let receiving = async {
        let mut all = Vec::new();
        while all.len() < big.len() {
            if let Some(Ok(Message::Binary(bytes))) = stream.next().await {
                all.extend_from_slice(&bytes);
            }
        }
        all
    };
    let ((), came) = tokio::join!(sending, receiving);
    assert!(came == big);
    assert_eq!(stage.plane.grants.load(SeqCst), 2, "one grant for each connection");
    drop(control);
    assert_eq!(second.closed().await, 4410, "connections end with their forward");
    eventually("the control plane hears it", || stage.plane.left(session).is_some()).await;
    let left = stage.plane.left(session).unwrap();
    assert_eq!((left.is_over, left.bytes_in, left.bytes_out), (true, 1_000_010, 1_000_010));
    let mut late = Client::open(stage.public, "/v1/forward", &[&offer]).await;
    assert_eq!(late.closed().await, 4401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forward_needs_its_own_kind_of_ticket_and_a_port_that_listens() {
    let (stage, _host) = Stage::with_host().await;
    stage.plane.terminal("shell", "echo");
    let mut wrong = Client::open(stage.public, "/v1/forward", &["gpuaas.ticket.shell"]).await;
    assert_eq!(wrong.closed().await, 4401);
    let mut guessed = Client::open(stage.public, "/v1/forward", &["gpuaas.session.guessed"]).await;
    assert_eq!(guessed.closed().await, 4401);
    let listener = bind().await;
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let session = stage.plane.ticket("t", Kind::Tcp { port }, None);
    let mut control = Client::open(stage.public, "/v1/forward", &["gpuaas.ticket.t"]).await;
    let key = key(&mut control).await;
    let mut client = Client::open(stage.public, "/v1/forward", &[&format!("gpuaas.session.{key}")]).await;
    assert_eq!(client.closed().await, 4403);
    stage.plane.order_end(session, Closing::TimeLimit);
    assert_eq!(control.closed().await, 4408);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_far_end_closing_is_passed_on() {
    let (stage, _host) = Stage::with_host().await;
    let listener = bind().await;
    let port = listener.local_addr().unwrap().port();
    stage.plane.ticket("t", Kind::Tcp { port }, None);
    let mut control = Client::open(stage.public, "/v1/forward", &["gpuaas.ticket.t"]).await;
    let offer = format!("gpuaas.session.{}", key(&mut control).await);
    let mut client = Client::open(stage.public, "/v1/forward", &[&offer]).await;
    let (mut stream, _) = listener.accept().await.unwrap();
    stream.write_all(b"bye").await.unwrap();
    drop(stream);
    assert_eq!(read(&mut client, 3).await, b"bye");
    assert_eq!(client.closed().await, 1000);
    let client = Client::open(stage.public, "/v1/forward", &[&offer]).await;
    let (mut stream, _) = listener.accept().await.unwrap();
    drop(client);
    assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0, "who leaves closes the far end too");
}
