//! Shells on terminals: typing, exit codes, coming back, looking on, limits.

use crate::gateway::{Stream, again, run, shell};
use crate::streams::world::{World, gone, login};
use bytes::Bytes;
use jiff::SignedDuration;
use protocol::Verb;
use protocol::stream::{Closing, Frame, Kind, Size, StreamEnded, refusals};

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_is_typed_into_resized_and_its_exit_code_arrives() {
    let world = World::new().await;
    let (_, mut stream) = world.open(shell()).await;
    // Before anything has come: flow control alone holds it.
    stream.typed("id -u; echo $((6*7)); stty size; echo $0\n");
    assert!(matches!(stream.frame().await, Some(Frame::Opened(opened)) if opened.offset == 0 && !opened.resumed));
    let said = stream.until("-bash\r\n").await;
    assert!(said.contains("1000") && said.contains("42") && said.contains("24 80"), "{said}");
    for (asked, got) in
        [((132, 50), "50 132"), ((0, 0), "1 2"), ((u16::MAX, u16::MAX), "500 1000"), ((80, 24), "24 80")]
    {
        stream.send(&Frame::Resize(Size { columns: asked.0, rows: asked.1 }));
        stream.typed("clear; echo \"size: $(stty size).\"\n");
        stream.until(&format!("size: {got}.")).await;
    }
    stream.send(&Frame::Ping(Bytes::from_static(b"1")));
    while stream.frame().await.unwrap() != Frame::Pong(Bytes::from_static(b"1")) {}
    stream.typed("exit 7\n");
    assert_eq!(stream.rest().await.1, Some(Frame::Exit(StreamEnded { code: 7, signal: None })));
    assert!(stream.frame().await.is_none());
    world.nobody_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_stopped_and_continued_and_the_end_of_input_ends_the_shell() {
    let world = World::new().await;
    let (_, mut stream) = world.open(shell()).await;
    stream.typed("PS1=; sh -c 'echo started$((1+1)); exec sleep 100'\n");
    stream.until("started2").await;
    stream.typed("\x1a");
    stream.until("Stopped").await;
    // The shell does not end while it knows of a stopped job.
    stream.typed("kill -9 %1; while jobs %1 >/dev/null 2>&1; do sleep 0.05; done; PS1='la''st> '\n");
    stream.until("last> ").await;
    stream.send(&Frame::EndOfInput);
    assert!(matches!(stream.rest().await.1, Some(Frame::Exit(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_shell_ends_with_its_code_or_signal() {
    let world = World::new().await;
    let (_, mut stream) = world.open(run("echo out; exit 3")).await;
    let (said, end) = stream.rest().await;
    assert_eq!((said, end), (b"out\r\n".to_vec(), Some(Frame::Exit(StreamEnded { code: 3, signal: None }))));
    let (_, mut stream) = world.open(run("kill -TERM $$")).await;
    assert_eq!(stream.rest().await.1, Some(Frame::Exit(StreamEnded { code: 143, signal: Some("TERM".into()) })));
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_comes_back_gets_exactly_the_bytes_that_it_missed() {
    let world = World::new().await;
    let (grant, mut stream) = world.open(run("echo one; read line; echo two; read line; echo three")).await;
    stream.until("one").await;
    let seen = stream.seen;
    stream.typed("\n");
    stream.until("two").await;
    drop(stream);
    let mut stream = world.gateway.open(&world.plane, &again(&grant, Some(seen), false)).await.unwrap();
    let Some(Frame::Opened(opened)) = stream.frame().await else { panic!("not opened") };
    assert!(opened.resumed && opened.offset == seen);
    stream.typed("\n");
    let (said, end) = stream.rest().await;
    assert_eq!(String::from_utf8(said).unwrap(), "\r\ntwo\r\n\r\nthree\r\n");
    assert_eq!(end, Some(Frame::Exit(StreamEnded { code: 0, signal: None })));
}

/// The next frame; who left just before may have been told of.
async fn next(stream: &mut Stream) -> Frame {
    loop {
        match stream.frame().await.expect("more comes") {
            Frame::Notice(_) => {}
            frame => return frame,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_the_recording_lacks_comes_first_and_is_marked() {
    let world = World::new().await;
    let (grant, mut stream) = world.open(run("echo one; read line; echo two; read line; echo three")).await;
    stream.until("one\r\n").await;
    let seen = stream.seen;
    drop(stream);
    let back = |offset: Option<u64>| {
        let mut grant = again(&grant, offset, false);
        if let Kind::Terminal { recorded, .. } = &mut grant.kind {
            *recorded = Some(2);
        }
        grant
    };
    // Somebody who knows where they stopped.
    let mut stream = world.gateway.open(&world.plane, &back(Some(seen))).await.unwrap();
    let Some(Frame::Opened(opened)) = stream.frame().await else { panic!("not opened") };
    assert_eq!((opened.offset, opened.shown_from), (2, Some(seen)));
    assert_eq!(next(&mut stream).await, Frame::Output(2, Bytes::from_static(b"e\r\n")));
    stream.typed("\n");
    stream.until("two\r\n").await;
    let end = stream.seen;
    drop(stream);
    // Somebody who needs the screen: the output before it comes whole, up to it.
    let mut stream = world.gateway.open(&world.plane, &back(None)).await.unwrap();
    let Some(Frame::Opened(opened)) = stream.frame().await else { panic!("not opened") };
    assert_eq!((opened.offset, opened.shown_from), (2, Some(end)));
    assert_eq!(next(&mut stream).await, Frame::Output(2, Bytes::from_static(b"e\r\n\r\ntwo\r\n")));
    let (offset, screen) = stream.screen().await;
    assert!(offset == end && String::from_utf8_lossy(&screen).contains("two"));
    stream.typed("\n");
    assert!(String::from_utf8(stream.rest().await.0).unwrap().ends_with("three\r\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_ended_unwatched_shows_its_last_output_to_a_client_that_comes_back() {
    let world = World::new().await;
    let (grant, mut stream) = world.open(run("echo one; sleep 0.2; echo last words; exit 9")).await;
    stream.until("one").await;
    drop(stream);
    // A client that comes back before its end gets the same; this one comes after it.
    let (_, mut other) = world.open(run("while pgrep -f 'last [w]ords' > /dev/null; do sleep 0.01; done")).await;
    other.rest().await;
    let mut stream = world.gateway.open(&world.plane, &again(&grant, Some(0), false)).await.unwrap();
    let (said, end) = stream.rest().await;
    assert!(String::from_utf8_lossy(&said).contains("last words"));
    assert_eq!(end, Some(Frame::Exit(StreamEnded { code: 9, signal: None })));
    world.nobody_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_screen_program_is_restored_to_who_missed_too_much() {
    let world = World::new().await;
    let edit = r"echo before; printf '\e[?1049h\e[2J\e[5;7Hedited\e[1;1H'; read line; printf '\e[?1049l'; echo after";
    let (grant, mut stream) = world.open(run(edit)).await;
    stream.until("edited").await;
    drop(stream);
    let mut stream = world.gateway.open(&world.plane, &again(&grant, None, false)).await.unwrap();
    let Some(Frame::Opened(opened)) = stream.frame().await else { panic!("not opened") };
    let (offset, bytes) = stream.screen().await;
    assert_eq!(opened.offset, offset);
    let (rows, columns) = (24.try_into().unwrap(), 80.try_into().unwrap());
    let mut shown = vt100::Parser::new(rows, columns, 0);
    shown.process(&bytes);
    assert!(shown.screen().alternate_screen());
    assert_eq!(shown.screen().contents().lines().nth(4), Some("      edited"));
    assert_eq!(shown.screen().cursor_position(), (0, 0));
    stream.typed("\n");
    let (said, _) = stream.rest().await;
    shown.process(&said);
    let contents = shown.screen().contents();
    assert!(contents.contains("before") && contents.contains("after") && !contents.contains("edited"), "{contents}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_window_takes_over_and_both_are_notified() {
    let world = World::new().await;
    let (grant, mut first) = world.open(shell()).await;
    first.typed("echo $((40+2))\n");
    first.until("42").await;
    let mut second = world.gateway.open(&world.plane, &again(&grant, None, false)).await.unwrap();
    assert_eq!(first.closed_with().await, Closing::TakenOver);
    assert!(matches!(second.frame().await, Some(Frame::Opened(opened)) if opened.resumed));
    assert!(
        matches!(second.frame().await, Some(Frame::Notice(text)) if text.contains("was taken over by another window"))
    );
    assert!(String::from_utf8_lossy(&second.screen().await.1).contains("42"));
    first.typed("echo from the old window\n");
    second.typed("exit\n");
    let (said, end) = second.rest().await;
    assert!(matches!(end, Some(Frame::Exit(_))));
    assert!(!String::from_utf8_lossy(&said).contains("old window"));
}

#[tokio::test(flavor = "multi_thread")]
async fn watcher_neither_types_nor_takes_over() {
    let world = World::new().await;
    let (grant, mut typist) = world.open(shell()).await;
    typist.typed("echo $((40+2))\n");
    typist.until("42").await;
    let mut watcher = world.gateway.open(&world.plane, &again(&grant, None, true)).await.unwrap();
    watcher.until("42").await;
    loop {
        if let Frame::Notice(text) = typist.frame().await.unwrap() {
            assert!(text.contains("viewer is watching"), "{text}");
            break;
        }
    }
    watcher.typed("exit 1\n");
    watcher.send(&Frame::Hangup);
    typist.typed("echo $((50+5))\n");
    typist.until("55").await;
    watcher.until("55").await;
    drop(watcher);
    typist.typed("exit 4\n");
    assert_eq!(typist.rest().await.1, Some(Frame::Exit(StreamEnded { code: 4, signal: None })));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphaned_shell_ends_after_its_grace_and_with_it_what_it_ran() {
    let world = World::new().await;
    let mut grant = world.grant(run("trap '' HUP; echo $$; sleep 600; sleep 601"));
    grant.limits.grace_seconds = 1;
    let mut stream = world.gateway.open(&world.plane, &grant).await.unwrap();
    stream.until("\n").await;
    drop(stream);
    world.nobody_left().await;
    assert_eq!(world.refusal(&again(&grant, None, false)).await, (404, refusals::NO_SESSION.into()));
    let (_, mut stream) = world.open(run("ps -eo args | grep -c '^sleep 60'")).await;
    assert_eq!(stream.rest().await.0, b"0\r\n", "nothing of it is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_at_its_time_limit_when_it_is_idle_and_when_ordered() {
    let world = World::new().await;
    let mut grant = world.grant(run("while sleep 0.1; do echo; done"));
    grant.limits.until = grant.issued_at + SignedDuration::from_mins(10);
    let mut stream = world.gateway.open(&world.plane, &grant).await.unwrap();
    stream.until("\n").await;
    // By the control plane's clock, whatever the host's says.
    world.plane.state().now += SignedDuration::from_mins(11);
    assert_eq!(stream.closed_with().await, Closing::TimeLimit);
    world.plane.state().now -= SignedDuration::from_mins(11);
    crate::streams::world::polled(&world.plane).await;
    let mut grant = world.grant(shell());
    grant.limits.idle_seconds = 1;
    let mut stream = world.gateway.open(&world.plane, &grant).await.unwrap();
    assert_eq!(stream.closed_with().await, Closing::Idle);
    let (_, mut stream) = world.open(shell()).await;
    stream.until("$").await;
    stream.send(&Frame::Hangup);
    assert_eq!(stream.closed_with().await, Closing::Ended);
    world.nobody_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_frames_end_their_own_stream_and_no_shell() {
    let world = World::new().await;
    let (_, mut other) = world.open(shell()).await;
    for rubbish in
        [&[17, 0xff, 0xff, 0xff, 0xff][..], &[99, 0, 0, 0, 0], &[2, 0, 0, 0, 1, 9], b"GET / HTTP/1.1\r\n\r\n"]
    {
        let (grant, mut stream) = world.open(shell()).await;
        stream.typed("echo $((40+2))\n");
        stream.until("42").await;
        stream.send_raw(Bytes::copy_from_slice(rubbish));
        assert_eq!(stream.closed_with().await, Closing::BadFrame);
        let mut stream = world.gateway.open(&world.plane, &again(&grant, None, false)).await.unwrap();
        stream.until("42").await;
        // What only a host says is rubbish from a gateway.
        stream.send(&Frame::Exit(StreamEnded { code: 0, signal: None }));
        assert_eq!(stream.closed_with().await, Closing::BadFrame);
    }
    other.send(&Frame::Input(Bytes::from_static(b"\xff\xfe\n")));
    other.typed("echo $((50+5))\n");
    other.until("55").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_before_an_allocation_is_stopped_and_its_home_stays_until_it_is_gone() {
    let world = World::new().await;
    let (_, mut stream) = world.open(shell()).await;
    stream.typed("echo kept > ~/file; setsid -f sleep 700; echo $((40+2))\n");
    stream.until("42").await;
    world.perform(2, Verb::EnsureStopped { workload: login("u"), gpus: vec![] }).await;
    assert_eq!(stream.closed_with().await, Closing::AllocationEnded);
    assert_eq!(world.refusal(&world.grant(shell())).await, (404, refusals::NO_ALLOCATION.into()));
    world.perform(3, crate::streams::world::allocation("u", vec![])).await;
    let (_, mut stream) = world.open(run("cat ~/file; ps -eo args | grep -c '^sleep 700'")).await;
    assert_eq!(stream.rest().await.0, b"kept\r\n0\r\n");
    let (_, mut stream) = world.open(shell()).await;
    stream.until("$").await;
    world.perform(4, gone("u")).await;
    assert_eq!(stream.closed_with().await, Closing::AllocationEnded);
    world.perform(5, crate::streams::world::allocation("u", vec![])).await;
    let (_, mut stream) = world.open(run("ls -A ~ | wc -l")).await;
    assert_eq!(stream.rest().await.0, b"0\r\n", "a new allocation finds nothing of the old one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_agent_notifies_its_streams_and_leaves_nothing() {
    let world = World::new().await;
    let (_, mut stream) = world.open(shell()).await;
    stream.until("$").await;
    world.fleet.stop();
    assert_eq!(stream.closed_with().await, Closing::GoingAway);
    world.nobody_left().await;
}
