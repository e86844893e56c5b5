//! What many sessions, and readers who stall, cost the gateway.

use crate::stage::{Client, NODE, Stage, eventually};
use bytes::Bytes;
use protocol::stream::Frame;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

/// How long so many echoes took, the shortest first.
async fn echoes(client: &mut Client, count: usize) -> Vec<Duration> {
    let mut echoes = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        client.type_in("x").await;
        client.output(1).await;
        echoes.push(began.elapsed());
        // pause: the pace of somebody who types fast
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    echoes.sort();
    echoes
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_who_stall_cost_a_window_each_and_nobody_else_waits() {
    let (stage, process) = Stage::with_process().await;
    let host = stage.host(NODE).await;
    stage.plane.terminal("warm", "flood 4000000");
    stage.terminal("warm").await.closed().await;
    stage.plane.terminal("other", "echo");
    let mut other = stage.terminal("other").await;
    other.opened().await;
    let usual = echoes(&mut other, 100).await[50];
    let before = process.memory_kib();
    let mut stalled = Vec::new();
    for number in 0..10 {
        let ticket = format!("stalled{number}");
        stage.plane.terminal(&ticket, "flood 100000000000");
        stalled.push(stage.terminal(&ticket).await);
    }
    let echoes = echoes(&mut other, 300).await;
    let grown = process.memory_kib() - before;
    assert!(grown < 10 * 1024, "it grew by {grown} KiB");
    // Other tests run beside this one: how fast it is alone is for the benchmark,
    // here it is compared with this very machine a moment before, at the median, because
    // whoever waits for stalled readers waits at every echo.
    let (median, late) = (echoes[150], echoes[297]);
    println!("echo p50 {median:?}, p99 {late:?}; before anybody stalled p50 {usual:?}");
    let bar = 20 * usual.max(Duration::from_millis(25));
    assert!(median < bar, "{median:?}, p99 {late:?}; before anybody stalled p50 {usual:?}");
    // What was held back is still there, in order, when a reader comes back.
    let mut reader = stalled.pop().unwrap();
    reader.opened().await;
    let mut next = 0;
    while next < 3_000_000 {
        let crate::stage::client::ClientMessage::Frame(Frame::Output(offset, bytes)) = reader.hear().await else {
            panic!()
        };
        assert_eq!(offset, next);
        next += bytes.len() as u64;
    }
    assert!(host.seen.sent.load(SeqCst) > 0);
    eventually("stalls are told", || {
        stage.plane.beats().last().is_some_and(|it| it.sessions.iter().any(|it| it.stalls > 0))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_costs_less_than_a_hundred_kib() {
    let (stage, process) = Stage::with_process().await;
    let mut hosts = Vec::new();
    hosts.push(stage.host(NODE).await);
    let mut open = Vec::new();
    let count = 200;
    let mut before = 0;
    for number in 0..count + 20 {
        if number == 20 {
            before = process.memory_kib();
        }
        let ticket = format!("t{number}");
        stage.plane.terminal(&ticket, "echo");
        let mut client = stage.terminal(&ticket).await;
        client.opened().await;
        client.send(Frame::Input(Bytes::from_static(b"ls\n"))).await;
        client.output(3).await;
        open.push(client);
    }
    let each = (process.memory_kib() - before) / count;
    assert!(each < 100, "an idle session costs {each} KiB");
    let _: &Client = &open[0];
}
