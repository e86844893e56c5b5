//! What nobody should send, through everything: each gets a clear answer, and
//! sessions of others go on.

use bytes::Bytes;
use client::stream::{self, Hello, StreamMessage};
use contract::{
    Nothing, Within,
    access_tickets::{AccessTicketSpec, TicketKind},
    id::RecordingId,
    recordings::{DownloadRecording, RecordingPart, RecordingState},
};
use protocol::{
    PROTOCOL,
    gateway::ChunkRequest,
    stream::{Closing, Frame, Size, StreamEnded},
};
use testkit::{
    server::eventually,
    shell::{End, Shell},
    world::set_policy,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::sessions::stand::{Stand, code, terminal};

#[tokio::test(flavor = "multi_thread")]
async fn bad_frames_close_their_own_window_and_no_other() {
    let stand = Stand::new().await;
    let (_, mut other) = stand.tenant.shell(stand.allocation).await;
    let bad: Vec<(&str, Bytes)> = vec![
        ("garbage", Bytes::from_static(b"garbage")),
        ("nothing", Bytes::new()),
        ("an unknown kind", Bytes::from_static(&[99, 0, 0, 0, 0])),
        ("a length that lies", Bytes::from_static(&[1, 0xff, 0xff, 0xff, 0xff])),
        ("far too much", vec![1; 300_000].into()),
        ("what only hosts say", Frame::Output(0, Bytes::from_static(b"forged")).to_bytes()),
        ("an exit", Frame::Exit(StreamEnded { code: 0, signal: None }).to_bytes()),
    ];
    for (what, bytes) in bad {
        let (_, mut shell) = stand.tenant.shell(stand.allocation).await;
        let _ = shell.to.send(bytes).await;
        let end = shell.ends().await;
        assert!(matches!(&end, End::Closed(4400, words) if words.contains("malformed message")), "{what}: {end:?}");
        assert!(other.runs(&format!("echo '{what}'")).await.contains(what), "another session goes on");
    }
    println!("seven kinds of malformed messages: 4400 each, and another shell of the allocation went on");
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_that_no_window_has_are_limited_to_those_that_one_may_have() {
    let stand = Stand::new().await;
    let (_, mut shell) = stand.tenant.shell(stand.allocation).await;
    for ((columns, rows), expected) in [((0, 0), "1 2"), ((65_535, 65_535), "500 1000"), ((120, 40), "40 120")] {
        shell.to.send_frame(&Frame::Resize(Size { columns, rows })).await.unwrap();
        let mut looked = 0;
        while !shell.runs("stty size").await.contains(expected) {
            looked += 1;
            assert!(looked < 50, "{expected} is not reached");
        }
    }
    let ticket = stand.ticket(terminal()).await;
    let hello = Hello { seen: None, size: Some(Size { columns: 0, rows: 65_535 }) };
    let (_to, mut from) = stream::terminal(&ticket.url, ticket.ticket.expose(), &hello).await.unwrap();
    let Ok(StreamMessage::Frame(Frame::Opened(opened))) = from.next_frame().await else { panic!("it opens") };
    assert_eq!(opened.size, Size { columns: 2, rows: Size::MOST_ROWS });
}

#[tokio::test(flavor = "multi_thread")]
async fn input_before_the_shell_is_open_arrives() {
    let stand = Stand::new().await;
    let (_, mut first) = stand.tenant.shell(stand.allocation).await;
    first.runs("true").await;
    let ticket = stand.ticket(terminal()).await;
    let (mut to, mut from) = stream::terminal(&ticket.url, ticket.ticket.expose(), &Hello::default()).await.unwrap();
    to.send_frame(&Frame::Input(Bytes::from_static(b"echo ear$((0))ly\r"))).await.unwrap();
    to.send_frame(&Frame::Resize(Size { columns: 77, rows: 33 })).await.unwrap();
    let Ok(StreamMessage::Frame(Frame::Opened(opened))) = from.next_frame().await else { panic!("it opens first") };
    let mut shell = Shell { to, from, seen: opened.offset, opened, text: String::new(), notices: Vec::new() };
    shell.shows("ear0ly").await;
    assert!(shell.runs("stty size").await.contains("33 77"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_text_are_typed_shown_and_recorded() {
    let stand = Stand::new().await;
    set_policy(stand.operator(), "access.recording", "on").await;
    set_policy(stand.operator(), "access.record_input", "true").await;
    let (session, mut shell) = stand.tenant.shell(stand.allocation).await;
    shell
        .types("stty raw -echo; echo \"re\"ady; head -c 4 | od -An -tx1; stty sane; printf '\\377\\376tail\\n'\r")
        .await;
    shell.shows("ready").await;
    shell.to.send_frame(&Frame::Input(Bytes::from_static(b"\xff\xc3\x28\xfe"))).await.unwrap();
    shell.shows("ff c3 28 fe").await;
    shell.shows("tail").await;
    shell.to.send_frame(&Frame::Hangup).await.unwrap();
    assert_eq!(shell.ends().await, End::Close(Closing::Ended));
    eventually("the recording to be sealed", || async {
        stand.recordings().await.iter().any(|it| it.session_id == session && it.state == RecordingState::Sealed)
    })
    .await;
    let recordings = stand.recordings().await;
    let one = recordings.iter().find(|it| it.session_id == session).unwrap();
    let path = stand.recording(one.id);
    let cast = stand.tenant.client.call::<DownloadRecording>(path, RecordingPart::default(), Nothing {}).await.unwrap();
    let text = String::from_utf8(cast.bytes).expect("a recording is text, whatever was shown");
    for line in text.lines().skip(1) {
        serde_json::from_str::<(f64, String, String)>(line).expect("every line is an event");
    }
    assert!(text.contains("ff c3 28 fe") && text.contains("tail") && text.contains('\u{fffd}'), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_outside_the_set_are_refused_by_name() {
    let stand = Stand::new().await;
    set_policy(stand.operator(), "access.tcp_ports", "8000-8080").await;
    for kind in [TicketKind::Tcp, TicketKind::Http] {
        for port in [1, 22, 7999, 8081, 65_535] {
            let spec = AccessTicketSpec { kind, port: Some(Within::new(port).unwrap()), ..terminal() };
            let refused = stand.try_ticket(&stand.tenant.client, spec).await.unwrap_err();
            assert!(refused.to_string().contains("access.tcp_ports"), "{refused}");
            assert_eq!(code(refused), "access_refused", "{kind} {port}");
        }
    }
    for port in ["0", "65536", "-1", "\"22\"", "1.5"] {
        let path = format!("/v1/projects/{}/allocations/{}/access-tickets", stand.tenant.project, stand.allocation);
        let body = format!("{{\"kind\":\"tcp\",\"port\":{port}}}");
        assert_eq!(status(&stand, "POST", &path, &body).await, 400, "{port}");
    }
}

/// The status of an answer to a request whose path goes out exactly as it stands here.
async fn status(stand: &Stand, method: &str, path: &str, body: &str) -> u16 {
    let address = stand.cloud.world().server.base.strip_prefix("http://").unwrap();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nIdempotency-Key: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        stand.tenant.owner.token,
        uuid::Uuid::now_v7(),
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer);
    answer.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{path}: {answer}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_name_of_a_recording_leads_out_of_the_store() {
    let stand = Stand::new().await;
    std::fs::write(stand.recordings_folder().join("secret"), "not a recording").unwrap();
    let real = RecordingId::generate();
    let tricks = [
        "..".to_owned(),
        "../secret".to_owned(),
        "%2e%2e%2fsecret".to_owned(),
        "..%5csecret".to_owned(),
        "/etc/passwd".to_owned(),
        "%2fetc%2fpasswd".to_owned(),
        "secret%00".to_owned(),
        format!("{real}%2f..%2f..%2fsecret"),
        format!("{real}%00"),
        format!("{real}/../../secret"),
        "recording-".to_owned() + &"a".repeat(5000),
    ];
    for trick in &tricks {
        for end in ["", "/asciicast", "/verify"] {
            let path = format!("/v1/organizations/{}/recordings/{trick}{end}", stand.id());
            let status = status(&stand, "GET", &path, "").await;
            assert!((400..500).contains(&status), "{path}: {status}");
        }
    }
    // What a gateway says about pieces chooses no path either.
    let control = stand.gateway.control();
    let piece = |segment, number| ChunkRequest {
        protocol: PROTOCOL,
        recording: real.uuid(),
        segment,
        number,
        sha256: protocol::agent_binary::sha256_hex(b"x"),
        bytes: "eA==".into(),
        from: 0,
        to: 1,
        began_ms: 0,
        ended_ms: 1,
        is_last: false,
    };
    for (segment, number) in [(0, 0), (u32::MAX, 0), (0, u32::MAX), (i32::MAX as u32 + 1, 7)] {
        let refused = control.chunk(&piece(segment, number)).await.unwrap_err();
        assert!(refused.is_refusal(), "{refused}");
    }
    let left: Vec<_> =
        std::fs::read_dir(stand.recordings_folder()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["secret"], "nothing was written, nothing was removed");
    println!("{} names of recordings that are none: refused, each", tricks.len());
}
