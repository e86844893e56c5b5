//! Streams without a terminal: commands, files and ports.

use crate::gateway::{run, shell};
use crate::streams::world::World;
use bytes::Bytes;
use protocol::stream::{Closing, Environment, Frame, Kind, Signal, StreamEnded, refusals};

fn exec(line: &str) -> Kind {
    Kind::Exec { command: line.into() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_its_output_and_errors_apart_and_its_input_ends() {
    let world = World::new().await;
    let (_, mut stream) = world.open(exec("tr a-z A-Z; echo error >&2; exit 5")).await;
    assert!(matches!(stream.frame().await, Some(Frame::Opened(_))));
    stream.typed("some ");
    stream.typed("words");
    stream.send(&Frame::EndOfInput);
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let end = loop {
        match stream.frame().await.unwrap() {
            Frame::Output(offset, bytes) => {
                assert_eq!(offset, out.len() as u64);
                out.extend(bytes);
            }
            Frame::ErrorOutput(bytes) => errors.extend(bytes),
            last => break last,
        }
    };
    assert_eq!((&out[..], &errors[..]), (&b"SOME WORDS"[..], &b"error\n"[..]));
    assert_eq!(end, Frame::Exit(StreamEnded { code: 5, signal: None }));
    world.nobody_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_with_its_stream_its_time_and_what_is_no_frame() {
    let world = World::new().await;
    let (_, stream) = world.open(exec("trap '' HUP; sleep 600")).await;
    drop(stream);
    world.nobody_left().await;
    let mut grant = world.grant(exec("sleep 600"));
    grant.limits.until = grant.issued_at + jiff::SignedDuration::from_secs(1);
    let mut stream = world.gateway.open(&world.plane, &grant).await.unwrap();
    assert_eq!(stream.closed_with().await, Closing::TimeLimit);
    let (_, mut stream) = world.open(exec("sleep 600")).await;
    stream.send_raw(Bytes::from_static(&[200, 0, 0, 0, 0]));
    assert_eq!(stream.closed_with().await, Closing::BadFrame);
    world.nobody_left().await;
    let (_, mut stream) = world.open(exec("ps -eo args | grep -c '^sleep 600'")).await;
    assert_eq!(stream.rest().await.0, b"0\n", "nothing of them is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_reaches_the_job_in_the_foreground_or_the_command() {
    let world = World::new().await;
    let signal = |name: &str| Frame::Signal(Signal::named(name).unwrap());
    // What set itself apart is not meant.
    let apart = "setsid sh -c 'trap \"echo apart\" TERM; echo ready; sleep 1; echo whole' &";
    let caught = format!("trap 'echo caught; wait; exit 4' TERM; {apart} sleep 100 & wait $!");
    let (_, mut stream) = world.open(exec(&caught)).await;
    stream.until("ready").await;
    stream.send(&signal("TERM"));
    assert_eq!(
        stream.rest().await,
        (b"caught\nwhole\n".to_vec(), Some(Frame::Exit(StreamEnded { code: 4, signal: None })))
    );
    let (_, mut stream) = world.open(exec("echo ready; exec sleep 100")).await;
    stream.until("ready").await;
    stream.send(&signal("KILL"));
    assert_eq!(stream.rest().await.1, Some(Frame::Exit(StreamEnded { code: 137, signal: Some("KILL".into()) })));
    let (_, mut stream) = world.open(shell()).await;
    stream.typed("PS1=; sh -c 'echo started$((1+1)); exec sleep 100'; echo \"ended\" $?\n");
    stream.until("started2").await;
    stream.send(&signal("USR1"));
    // The shell itself is not in the foreground and goes on.
    stream.until(&format!("ended {}", 128 + 10)).await;
    stream.typed("exit 3\n");
    assert_eq!(stream.rest().await.1, Some(Frame::Exit(StreamEnded { code: 3, signal: None })));
    world.nobody_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_sets_its_language_and_nothing_else() {
    let world = World::new().await;
    let line = "echo $LANG $LC_TIME ${LC_ALL-unset}; case $PATH in *evil*) echo $PATH;; esac";
    let mut environment = Environment::default();
    assert!(environment.set("LANG", "de_DE.UTF-8") && environment.set("LC_TIME", "C"));
    let header = environment.to_header().unwrap() + ";PATH=evil;LC_ALL=$(id)";
    for kind in [exec(line), run(line)] {
        let mut stream = world.gateway.open_in(&world.plane, &world.grant(kind), &header).await.unwrap();
        let said = String::from_utf8(stream.rest().await.0).unwrap();
        assert_eq!(said.trim_end(), "de_DE.UTF-8 C unset");
    }
    let (_, mut stream) = world.open(exec(line)).await;
    assert_eq!(stream.rest().await.0, b"C.UTF-8 unset\n", "what the host has of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_output_arrives_whole_and_waits_for_who_does_not_read() {
    let world = World::new().await;
    let (_, mut stream) = world.open(exec("head -c 3000000 /dev/zero | tr '\\0' x; sleep 0.1; echo end")).await;
    stream.acknowledges = false;
    let mut first = 0;
    while first < 256 * 1024 {
        let frame = stream.frame().await.expect("it goes on");
        first += if let Frame::Output(_, bytes) = frame { bytes.len() } else { 0 };
    }
    assert_eq!(first, 256 * 1024, "the window");
    let more = tokio::time::timeout(std::time::Duration::from_millis(500), stream.frame()).await;
    assert!(more.is_err(), "no more than that without an acknowledgment");
    stream.acknowledges = true;
    stream.send(&Frame::Ack(stream.seen));
    let (rest, end) = stream.rest().await;
    assert_eq!(first + rest.len(), 3_000_004);
    assert!(rest.ends_with(b"xend\n") && matches!(end, Some(Frame::Exit(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_served_by_the_sftp_server() {
    let world = World::new().await;
    let (_, mut stream) = world.open(Kind::File).await;
    // SSH_FXP_INIT of version 3, answered with SSH_FXP_VERSION.
    stream.send_raw(Bytes::from_static(&[0, 0, 0, 5, 1, 0, 0, 0, 3]));
    let mut answer = Vec::new();
    while answer.len() < 9 {
        answer.extend(stream.raw().await.expect("an answer"));
    }
    assert_eq!(answer[4..9], [2, 0, 0, 0, 3]);
    stream.finish();
    while stream.raw().await.is_some() {}
    world.nobody_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_inside_is_reached_and_each_half_ends_by_itself() {
    let world = World::new().await;
    let (_, mut terminal) = world.open(shell()).await;
    let serve = "python3 -c 'import socket\ns = socket.create_server((\"127.0.0.1\", 8080))\nprint(\"serving\" + str(6*7), flush=True)\nwhile True:\n  c, _ = s.accept()\n  got = b\"\"\n  while True:\n    b = c.recv(65536)\n    if not b: break\n    got += b\n  c.sendall(str(len(got)).encode() + got[:5])\n  c.close()\n'\n";
    terminal.typed(serve);
    terminal.until("serving42").await;
    for size in [5, 100_000] {
        let (_, mut stream) = world.open(Kind::Tcp { port: 8080 }).await;
        stream.send_raw(Bytes::from(vec![b'x'; size]));
        stream.finish();
        let mut answer = Vec::new();
        while let Some(bytes) = stream.raw().await {
            answer.extend(bytes);
        }
        assert_eq!(String::from_utf8(answer).unwrap(), format!("{size}xxxxx"));
    }
    assert_eq!(world.refusal(&world.grant(Kind::Tcp { port: 8081 })).await, (422, refusals::NOTHING_LISTENS.into()));
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    assert_eq!(world.refusal(&world.grant(Kind::Tcp { port })).await.1, refusals::NOTHING_LISTENS, "the host's own");
    let (_, mut stream) = world.open(run("exit 0")).await;
    stream.rest().await;
}
