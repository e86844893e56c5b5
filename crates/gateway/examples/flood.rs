//! How fast output goes through a gateway: a scripted host floods one terminal,
//! without and with recording, over loopback.
//! `cargo run --release -p gateway --example flood`

#![allow(dead_code, unused_imports, clippy::unwrap_used)]

#[path = "../tests/gateway/stage/mod.rs"]
mod stage;

use futures_util::StreamExt;
use protocol::gateway::RecordingOrder;
use stage::{Stage, plane::shell};
use std::time::Instant;
use uuid::Uuid;

const BYTES: u64 = 2_000_000_000;

#[tokio::main]
async fn main() {
    let (stage, _host) = Stage::with_host().await;
    for (name, is_recorded) in [("plain", false), ("recorded", true)] {
        let recording = Uuid::now_v7();
        let order = RecordingOrder { recording, segment: 0, from: 0, input: false, is_required: true };
        let bytes = if is_recorded { BYTES / 4 } else { BYTES };
        stage.plane.ticket(name, shell(&format!("flood {bytes}")), is_recorded.then_some(order));
        let began = Instant::now();
        let mut client = stage.terminal(name).await;
        let mut got = 0;
        while let Some(Ok(message)) = client.socket.next().await {
            got += message.len();
        }
        let rate = got as f64 / began.elapsed().as_secs_f64() / 1e6;
        println!("{name}: {rate:.0} MB/s of {} MB", got / 1_000_000);
    }
    println!("recorded pieces: {}", stage.plane.chunks().len());
}
