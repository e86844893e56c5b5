//! Recordings: whole, in order, and there after a crash.

use crate::stage::client::ClientMessage;
use crate::stage::plane::shell;
use crate::stage::{NODE, Process, Stage, eventually};
use bytes::Bytes;
use protocol::gateway::RecordingOrder;
use protocol::stream::{Closing, Frame, Size};
use serde_json::Value;
use std::sync::atomic::Ordering::SeqCst;
use uuid::Uuid;

fn order() -> RecordingOrder {
    RecordingOrder { recording: Uuid::now_v7(), segment: 0, from: 0, input: false, is_required: true }
}

/// What the events of a kind say, put together.
fn said(cast: &[Value], code: &str) -> String {
    cast.iter().filter(|it| it[1] == code).map(|it| it[2].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_recorded_from_its_first_byte_to_its_last() {
    let (stage, _host) = Stage::with_host().await;
    let order = RecordingOrder { input: true, ..order() };
    let session = stage.plane.ticket("t", shell("echo"), Some(order.clone()));
    let mut client = stage.terminal("t").await;
    client.opened().await;
    // A character that comes in two pieces.
    for piece in [&b"caf\xc3"[..], b"\xa9 \x1b[1m\"x\"\r\n"] {
        client.send(Frame::Input(Bytes::from_static(piece))).await;
        client.output(piece.len()).await;
    }
    client.send(Frame::Resize(Size { columns: 100, rows: 30 })).await;
    client.type_in("end").await;
    client.output(3).await;
    drop(client);
    eventually("the control plane hears the end", || stage.plane.left(session).is_some()).await;
    assert!(stage.plane.chunks().last().unwrap().is_last, "the recording is there before the news of the end");
    let cast = stage.plane.cast(order.recording);
    assert_eq!(
        (&cast[0]["version"], &cast[0]["width"], &cast[0]["title"]),
        (&2.into(), &80.into(), &"ada in alloc_1".into())
    );
    assert_eq!(cast[0]["gpuaas"]["from"], 0);
    assert!(cast[0]["timestamp"].as_i64().unwrap() > 1_600_000_000);
    assert_eq!(said(&cast, "o"), "café \u{1b}[1m\"x\"\r\nend");
    assert_eq!(said(&cast, "i"), "café \u{1b}[1m\"x\"\r\nend");
    assert_eq!(said(&cast, "r"), "100x30");
    let chunks = stage.plane.chunks();
    assert_eq!((chunks[0].from, chunks.last().unwrap().to), (0, 18));
    let spool = stage.folder.path().join("spool");
    eventually("nothing stays on disk", || std::fs::read_dir(&spool).unwrap().next().is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_input_is_recorded_only_where_policy_says_so() {
    let (stage, _host) = Stage::with_host().await;
    let order = order();
    let session = stage.plane.ticket("t", shell("silent"), Some(order.clone()));
    let mut client = stage.terminal("t").await;
    client.opened().await;
    client.type_in("a password").await;
    client.send(Frame::Hangup).await;
    assert_eq!(client.closed().await, 4410);
    eventually("the control plane hears the end", || stage.plane.left(session).is_some()).await;
    assert_eq!(said(&stage.plane.cast(order.recording), "i"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_part_begins_where_the_earlier_ended_or_says_what_is_missing() {
    let (stage, _host) = Stage::with_host().await;
    for (ticket, recorded, from, kept) in [("replayed", 103, 103, "def"), ("gap", 50, 100, "abcdef")] {
        let order = RecordingOrder { segment: 1, from: recorded, ..order() };
        let session = stage.plane.ticket(ticket, shell("from 100 abcdef"), Some(order.clone()));
        let mut client = stage.terminal(ticket).await;
        assert_eq!(client.opened().await, 100);
        assert_eq!(client.output(6).await, b"abcdef");
        drop(client);
        eventually("the control plane hears the end", || stage.plane.left(session).is_some()).await;
        let cast = stage.plane.cast(order.recording);
        assert_eq!((cast[0]["gpuaas"]["segment"].as_u64(), cast[0]["gpuaas"]["from"].as_u64()), (Some(1), Some(from)));
        assert_eq!(said(&cast, "o"), kept, "{ticket}");
        let chunks: Vec<_> = stage.plane.chunks().into_iter().filter(|it| it.recording == order.recording).collect();
        assert_eq!((chunks[0].from, chunks.last().unwrap().to), (from, 106));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_an_earlier_gateway_did_not_record_is_recorded_and_not_shown_again() {
    let (stage, host) = Stage::with_host().await;
    let order = RecordingOrder { segment: 1, from: 100, ..order() };
    let session = stage.plane.ticket("t", shell("from 100-104 abcdef"), Some(order.clone()));
    let mut client = stage.terminal("t").await;
    assert_eq!(client.opened().await, 104, "where the client stopped");
    assert_eq!(client.output(2).await, b"ef");
    eventually("all is acknowledged", || host.seen.acknowledged.load(SeqCst) == 106).await;
    drop(client);
    eventually("the control plane hears the end", || stage.plane.left(session).is_some()).await;
    assert_eq!(said(&stage.plane.cast(order.recording), "o"), "abcdef");
    let chunks = stage.plane.chunks();
    assert_eq!((chunks[0].from, chunks.last().unwrap().to), (100, 106));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_begins_with_its_first_piece_and_nothing_is_shown_before() {
    let (stage, _host) = Stage::with_host().await;
    // Nothing was opened: nothing is heard of a recording.
    let refused = order();
    let session = stage.plane.ticket("refused", shell("refuse could_not_start"), Some(refused.clone()));
    assert_eq!(stage.terminal("refused").await.closed().await, 4403);
    eventually("the control plane hears the end", || stage.plane.left(session).is_some()).await;
    assert!(stage.plane.chunks().is_empty());

    // The control plane does not take the first piece.
    stage.plane.refuse_chunks.store(true, SeqCst);
    let required = order();
    stage.plane.ticket("required", shell("say secret|0"), Some(required.clone()));
    assert_eq!(stage.terminal("required").await.closed().await, 4403, "and shows nothing");
    let wanted = RecordingOrder { is_required: false, ..order() };
    stage.plane.ticket("wanted", shell("echo"), Some(wanted));
    stage.terminal("wanted").await.opened().await;
    let spool = stage.folder.path().join("spool");
    eventually("nothing stays on disk", || std::fs::read_dir(&spool).unwrap().next().is_none()).await;
    stage.plane.refuse_chunks.store(false, SeqCst);

    let order = order();
    stage.plane.ticket("t", shell("echo"), Some(order.clone()));
    stage.terminal("t").await.opened().await;
    let first = stage.plane.chunks().remove(0);
    assert_eq!((first.recording, first.number, first.is_last), (order.recording, 0, false), "before it was opened");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_waits_on_disk_while_the_control_plane_is_away() {
    let (stage, _host) = Stage::with_host().await;
    let order = order();
    stage.plane.ticket("t", shell("echo"), Some(order.clone()));
    let mut client = stage.terminal("t").await;
    client.opened().await;
    stage.plane.is_away.store(true, SeqCst);
    client.type_in("while it is away ").await;
    client.output(17).await;
    let folder = stage.folder.path().join("spool").join(format!("{}-0", order.recording));
    let is_closed = |it: std::fs::DirEntry| it.path().extension().is_some_and(|it| it == "chunk");
    eventually("a piece waits on disk", || std::fs::read_dir(&folder).unwrap().flatten().any(is_closed)).await;
    assert_eq!(stage.plane.chunks().len(), 1, "the first piece alone");
    stage.plane.is_away.store(false, SeqCst);
    client.type_in("and back").await;
    client.output(8).await;
    drop(client);
    eventually("all of it arrives", || stage.plane.chunks().last().is_some_and(|it| it.is_last)).await;
    assert_eq!(said(&stage.plane.cast(order.recording), "o"), "while it is away and back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_must_be_recorded_ends_when_it_cannot_be() {
    let (stage, _host) = Stage::with_host().await;
    let order = order();
    let session = stage.plane.ticket("t", shell("echo"), Some(order.clone()));
    let mut client = stage.terminal("t").await;
    client.opened().await;
    client.type_in("x").await;
    client.output(1).await;
    let folder = stage.folder.path().join("spool").join(format!("{}-0", order.recording));
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "no folder").unwrap();
    let closing = loop {
        client.type_in("y").await;
        match client.hear().await {
            ClientMessage::Frame(Frame::Output(..)) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            other => break other,
        }
    };
    assert_eq!(closing, ClientMessage::Frame(Frame::Close(Closing::Unrecorded)));
    assert_eq!(client.closed().await, 4403);
    eventually("the control plane hears the end", || stage.plane.left(session).is_some()).await;
    assert_eq!(stage.plane.left(session).unwrap().reason, "unrecorded");

    // And one does not even begin.
    std::fs::remove_dir_all(stage.folder.path().join("spool")).unwrap();
    std::fs::write(stage.folder.path().join("spool"), "no folder").unwrap();
    stage.plane.ticket("required", shell("echo"), Some(self::order()));
    assert_eq!(stage.terminal("required").await.closed().await, 4403);
    stage.plane.ticket("wanted", shell("echo"), Some(RecordingOrder { is_required: false, ..self::order() }));
    stage.terminal("wanted").await.opened().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_gateway_loses_nothing_that_was_acknowledged() {
    let (mut stage, process) = Stage::with_process().await;
    let host = stage.host(NODE).await;
    let order = order();
    stage.plane.ticket("t", shell("echo"), Some(order.clone()));
    let mut client = stage.terminal("t").await;
    client.opened().await;
    let mut typed = String::new();
    for number in 0..30 {
        let word = format!("word {number} é\n");
        client.type_in(&word).await;
        client.output(word.len()).await;
        typed.push_str(&word);
        if number == 10 {
            // So that a piece is closed before the kill.
            eventually("a piece arrives", || stage.plane.chunks().len() > 1).await;
        }
    }
    eventually("all is acknowledged", || host.seen.acknowledged.load(SeqCst) == typed.len() as u64).await;
    process.kill().await;
    assert!(!stage.plane.chunks().iter().any(|it| it.is_last));
    assert_eq!(client.hear().await, ClientMessage::Broken);

    let process = Process::start(stage.folder.path()).await;
    eventually("the rest arrives", || stage.plane.chunks().last().is_some_and(|it| it.is_last)).await;
    assert_eq!(said(&stage.plane.cast(order.recording), "o"), typed);
    assert_eq!(stage.plane.chunks().last().unwrap().to, typed.len() as u64);
    eventually("a beat tells of the new start", || stage.plane.beats().last().is_some_and(|it| it.generation == 2))
        .await;
    (stage.agents, stage.public) = (process.agents, process.public);
    let _host = stage.host(NODE).await;
    stage.plane.terminal("again", "echo");
    stage.terminal("again").await.opened().await;
    let spool = stage.folder.path().join("spool");
    eventually("nothing stays on disk", || std::fs::read_dir(&spool).unwrap().next().is_none()).await;
}
