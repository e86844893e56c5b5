//! Terminals from ticket to farewell.

use crate::stage::client::ClientMessage;
use crate::stage::{Client, Stage, eventually};
use bytes::Bytes;
use futures_util::SinkExt;
use protocol::stream::{Closing, Frame, Size, refusals};
use tokio_tungstenite::tungstenite::{self, Message};

#[tokio::test(flavor = "multi_thread")]
async fn a_person_types_and_reads_and_the_exit_code_arrives() {
    let (stage, host) = Stage::with_host().await;
    let session = stage.plane.terminal("t1", "echo");
    let mut client = stage.terminal("t1").await;
    assert_eq!(client.opened().await, 0);
    client.type_in("id\n").await;
    assert_eq!(client.output(3).await, b"id\n");
    client.send(Frame::Resize(Size { columns: 120, rows: 40 })).await;
    client.type_in("\u{fffd}x").await;
    assert_eq!(client.output(4).await, "\u{fffd}x".as_bytes());
    let resized = Frame::Resize(Size { columns: 120, rows: 40 });
    assert!(host.seen.frames().contains(&resized));
    eventually("all is acknowledged", || host.seen.acknowledged.load(std::sync::atomic::Ordering::SeqCst) == 7).await;
    client.send(Frame::Ping(Bytes::from_static(b"7"))).await;
    assert_eq!(client.hear().await, ClientMessage::Frame(Frame::Pong(Bytes::from_static(b"7"))));
    eventually("a beat tells its bytes", || {
        let beats = stage.plane.beats();
        beats
            .iter()
            .flat_map(|it| &it.sessions)
            .any(|it| it.session == session && it.bytes_in == 7 && it.bytes_out == 7)
    })
    .await;
    drop(client);
    eventually("the control plane hears it", || stage.plane.left(session).is_some()).await;
    let left = stage.plane.left(session).unwrap();
    assert_eq!((left.reason.as_str(), left.is_over, left.bytes_in, left.bytes_out), ("client_left", false, 7, 7));

    let session = stage.plane.terminal("t2", "say bye|3");
    let mut client = stage.terminal("t2").await;
    client.opened().await;
    assert_eq!(client.output(3).await, b"bye");
    assert!(matches!(client.hear().await, ClientMessage::Frame(Frame::Exit(ended)) if ended.code == 3));
    assert_eq!(client.hear().await, ClientMessage::Closed(1000));
    eventually("the control plane hears it", || stage.plane.left(session).is_some()).await;
    let left = stage.plane.left(session).unwrap();
    assert_eq!((left.reason.as_str(), left.is_over, left.exit_code), ("exit", true, Some(3)));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_ticket_gets_the_same_answer() {
    let (stage, _host) = Stage::with_host().await;
    stage.plane.terminal("good", "echo");
    stage.plane.refuse("expired", 401);
    stage.plane.refuse("malformed", 400);
    stage.plane.refuse("policy", 403);
    stage.plane.refuse("many", 429);
    stage.plane.refuse("broken", 500);
    let mut client = stage.terminal("good").await;
    client.opened().await;
    for (ticket, code) in [
        ("good", 4401),
        ("unknown", 4401),
        ("expired", 4401),
        ("malformed", 4401),
        ("a/../b", 4401),
        ("policy", 4403),
        ("many", 4429),
        ("broken", 4503),
    ] {
        assert_eq!(stage.terminal(ticket).await.closed().await, code, "{ticket}");
    }
    let mut without = Client::open(stage.public, "/v1/terminal", &[]).await;
    assert_eq!(without.closed().await, 4401);
    stage.plane.is_away.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(stage.terminal("any").await.closed().await, 4503);
    client.type_in("still here").await;
    assert_eq!(client.output(10).await, b"still here", "a session outlives the control plane");
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_comes_back_takes_over_its_session() {
    let (stage, _host) = Stage::with_host().await;
    let session = stage.plane.terminal("first", "echo");
    let mut first = stage.terminal("first").await;
    first.opened().await;
    stage.plane.resume("second", session, "echo");
    let mut second = stage.terminal("second").await;
    second.opened().await;
    drop(first);
    eventually("the control plane hears of the first", || stage.plane.left(session).is_some()).await;
    let left = stage.plane.left(session).unwrap();
    assert_eq!((left.reason.as_str(), left.is_over), ("taken_over", false), "the session is not lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn caller_that_guesses_tickets_has_to_wait() {
    let (stage, _host) = Stage::with_host().await;
    for number in 0..20 {
        assert_eq!(stage.terminal(&format!("guess{number}")).await.closed().await, 4401);
    }
    assert_eq!(stage.terminal("guess").await.closed().await, 4429);
    assert_eq!(stage.plane.exchanged().len(), 20, "the control plane is not asked any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn ticket_used_a_hundred_times_at_once_opens_once() {
    let (stage, _host) = Stage::with_host().await;
    stage.plane.terminal("once", "echo");
    let tries: Vec<_> = (0..100)
        .map(|_| {
            let address = stage.public;
            tokio::spawn(async move {
                let mut client = Client::open(address, "/v1/terminal", &["gpuaas.ticket.once"]).await;
                match client.hear().await {
                    ClientMessage::Frame(Frame::Opened(_)) => true,
                    ClientMessage::Closed(4401 | 4429) => false,
                    other => panic!("{other:?}"),
                }
            })
        })
        .collect();
    let mut winners = 0;
    for one in tries {
        winners += usize::from(one.await.unwrap());
    }
    assert_eq!(winners, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_of_the_host_reaches_the_client() {
    let (stage, host) = Stage::with_host().await;
    for (code, close) in [
        (refusals::FORGED, 4403),
        (refusals::OTHER_NODE, 4403),
        (refusals::EXPIRED, 4403),
        (refusals::NO_ALLOCATION, 4404),
        (refusals::NO_SESSION, 4404),
        (refusals::TOO_MANY, 4429),
        (refusals::TOO_MANY_STREAMS, 4429),
    ] {
        stage.plane.terminal(code, &format!("refuse {code}"));
        assert_eq!(stage.terminal(code).await.closed().await, close, "{code}");
    }
    drop(host);
    eventually("the gateway misses it", || stage.plane.beats().last().is_some_and(|it| it.nodes == 0)).await;
    let session = stage.plane.terminal("late", "echo");
    assert_eq!(stage.terminal("late").await.closed().await, 4404);
    eventually("the control plane hears it", || stage.plane.left(session).is_some()).await;
    assert!(stage.plane.left(session).unwrap().is_over, "nothing of it ever began");
    let session = uuid::Uuid::now_v7();
    stage.plane.resume("again", session, "echo");
    assert_eq!(stage.terminal("again").await.closed().await, 4404);
    eventually("the control plane hears it", || stage.plane.left(session).is_some()).await;
    assert!(!stage.plane.left(session).unwrap().is_over, "the shell may still be there when the host is back");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_frames_end_their_own_session_and_no_other() {
    let (stage, host) = Stage::with_host().await;
    stage.plane.terminal("other", "echo");
    let mut other = stage.terminal("other").await;
    other.opened().await;
    let bad: Vec<Message> = vec![
        Message::Binary(Bytes::from_static(b"garbage")),
        Message::Binary(Bytes::new()),
        Message::Binary(Bytes::from_static(&[99, 0, 0, 0, 0])),
        Message::Binary(Bytes::from_static(&[1, 0xff, 0xff, 0xff, 0xff])),
        Message::Binary(vec![1; 300_000].into()),
        Message::text("hello"),
        Message::Binary(Frame::Output(0, Bytes::from_static(b"forged")).to_bytes()),
        Message::Binary(Frame::Exit(protocol::stream::StreamEnded { code: 0, signal: None }).to_bytes()),
    ];
    for (number, message) in bad.into_iter().enumerate() {
        let ticket = format!("bad{number}");
        let session = stage.plane.terminal(&ticket, "echo");
        let mut client = stage.terminal(&ticket).await;
        client.opened().await;
        client.socket.send(message).await.unwrap();
        assert_eq!(client.closed().await, 4400, "message {number}");
        eventually("the control plane hears it", || stage.plane.left(session).is_some()).await;
        assert_eq!(stage.plane.left(session).unwrap().reason, "bad_frame");
    }
    for size in [(0, 0), (65_535, 65_535)] {
        other.send(Frame::Resize(Size { columns: size.0, rows: size.1 })).await;
    }
    other.send(Frame::Input(Bytes::from_static(b"\xff\xfe"))).await;
    assert_eq!(other.output(2).await, b"\xff\xfe", "what is no text is still data");
    let sizes: Vec<_> = host.seen.frames().into_iter().filter(|it| matches!(it, Frame::Resize(_))).collect();
    let size = |columns, rows| Frame::Resize(Size { columns, rows });
    assert_eq!(sizes, [size(2, 1), size(Size::MOST_COLUMNS, Size::MOST_ROWS)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn input_before_the_shell_is_open_arrives() {
    let (stage, _host) = Stage::with_host().await;
    stage.plane.terminal("early", "echo");
    let mut client = stage.terminal("early").await;
    client.type_in("early").await;
    client.opened().await;
    assert_eq!(client.output(5).await, b"early");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_origins_cannot_connect() {
    let (stage, _host) = Stage::with_host().await;
    stage.plane.terminal("t", "echo");
    let offers = ["gpuaas.ticket.t"];
    let open = |origin| Client::try_open(stage.public, "/v1/terminal", &offers, Some(origin));
    for origin in ["https://evil.example", "null", "https://console.example.evil.example"] {
        let refused = open(origin).await.err().unwrap();
        assert!(matches!(refused, tungstenite::Error::Http(response) if response.status() == 403), "{origin}");
    }
    assert!(stage.plane.exchanged().is_empty(), "no ticket is spent by it");
    open("https://console.example").await.unwrap().opened().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_or_a_stop_ends_sessions_with_its_reason() {
    let (stage, host) = Stage::with_host().await;
    let session = stage.plane.terminal("t1", "echo");
    let mut client = stage.terminal("t1").await;
    client.opened().await;
    stage.plane.order_end(session, Closing::Ended);
    assert_eq!(client.hear().await, ClientMessage::Frame(Frame::Close(Closing::Ended)));
    assert_eq!(client.closed().await, 4410);
    assert!(host.seen.frames().contains(&Frame::Hangup), "the shell ends too");
    eventually("the control plane hears it", || stage.plane.left(session).is_some()).await;
    let left = stage.plane.left(session).unwrap();
    assert_eq!((left.reason.as_str(), left.is_over), ("ended", true));

    let session = stage.plane.terminal("t2", "echo");
    let mut client = stage.terminal("t2").await;
    client.opened().await;
    stage.stop.cancel();
    assert_eq!(client.hear().await, ClientMessage::Frame(Frame::Close(Closing::GoingAway)));
    assert_eq!(client.closed().await, 4503);
    let plane = stage.plane.clone();
    stage.end().await;
    let left = plane.left(session).unwrap();
    assert_eq!((left.reason.as_str(), left.is_over), ("going_away", false));
}
