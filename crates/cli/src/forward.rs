//! Ports of an allocation on this machine: every connection that is made here is
//! one stream through the gateway.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use client::stream::{self, Pass, Receiver, Sender, StreamMessage};
use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinSet,
    time::timeout,
};

use crate::{
    failure::{Class, Done, Failure},
    output::Output,
    terminal::{Ticket, closed},
};

const MOST_CONNECTIONS: usize = 256; // bound: a browser makes six
const PIECE: usize = 32 * 1024; // bound: one message's size
const FIRST_WORD: Duration = Duration::from_secs(15); // bound: the gateway answers at once or not at all

/// What the gateway says first.
#[derive(Deserialize)]
struct Welcome {
    key: String,
}

/// Serves connections on `listener` until the session ends.
pub async fn run(output: Output, listener: TcpListener, ticket: &Ticket) -> Done {
    let (_to, mut from) = stream::forward(&ticket.url, &Pass::Ticket(&ticket.ticket)).await?;
    let key: Arc<str> = welcome(&mut from).await?.into();
    let gateway: Arc<str> = ticket.url.as_str().into();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            ended = from.next() => match ended {
                Ok(StreamMessage::Closed(code, reason)) => return Err(closed(code, &reason)),
                Ok(_) => (),
                Err(error) => return Err(error.into()),
            },
            accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => {
                let Ok((local, peer)) = accepted else { continue };
                let (gateway, key) = (gateway.clone(), key.clone());
                connections.spawn(async move { (peer, carry(local, &gateway, &key).await) });
            }
            Some(done) = connections.join_next() => {
                if let Ok((peer, Err(failure))) = done {
                    complain(output, peer, &failure);
                }
            }
        }
    }
}

async fn welcome(from: &mut Receiver) -> Result<String, Failure> {
    let silent = || Failure::new(Class::Unavailable, "the gateway did not respond", "Try again in a moment.");
    match timeout(FIRST_WORD, from.next()).await.map_err(|_| silent())?? {
        StreamMessage::Text(text) => serde_json::from_str::<Welcome>(&text).map(|it| it.key).map_err(|_| silent()),
        StreamMessage::Closed(code, reason) => Err(closed(code, &reason)),
        StreamMessage::Bytes(_) | StreamMessage::Frame(_) => Err(silent()),
    }
}

fn complain(output: Output, peer: SocketAddr, failure: &Failure) {
    output.warn(format!("connection from {peer} failed: {}", failure.detail()));
}

/// Carries one connection, both ways concurrently.
async fn carry(local: TcpStream, gateway: &str, key: &str) -> Done {
    let (to, from) = stream::forward(gateway, &Pass::Session(key)).await?;
    let (reader, writer) = local.into_split();
    // The far end's goodbye ends it; ours leaves time for what is still to come.
    tokio::select! {
        done = down(from, writer) => done,
        done = up(to, reader) => done,
    }
}

async fn up(mut to: Sender, mut reader: OwnedReadHalf) -> Done {
    let mut buffer = vec![0; PIECE];
    loop {
        let count = reader.read(&mut buffer).await.unwrap_or(0);
        if count == 0 {
            // An empty message is the end of what is sent.
            to.send(Bytes::new()).await?;
            return std::future::pending().await;
        }
        to.send(Bytes::copy_from_slice(&buffer[..count])).await?;
    }
}

async fn down(mut from: Receiver, mut writer: OwnedWriteHalf) -> Done {
    loop {
        match from.next().await? {
            StreamMessage::Bytes(bytes) => writer.write_all(&bytes).await?,
            StreamMessage::Closed(1000 | 1001 | stream::BROKEN, _) => return Ok(()),
            StreamMessage::Closed(code, reason) => return Err(closed(code, &reason)),
            StreamMessage::Text(_) | StreamMessage::Frame(_) => (),
        }
    }
}
