//! Floods and readers that stall.

use crate::gateway::{Stream, again, run, shell};
use crate::streams::world::World;
use protocol::stream::{Frame, WINDOW_BYTES};
use std::time::{Duration, Instant};

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How long so many echoes took, the shortest first.
async fn echoes(stream: &mut Stream, count: usize) -> Vec<Duration> {
    let mut took = Vec::new();
    for round in 0..count {
        let word = format!("echo {round};");
        let began = Instant::now();
        stream.typed(&word);
        stream.until(&word).await;
        took.push(began.elapsed());
        // pause: the pace of somebody who types fast
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    took.sort();
    took
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_readers_cost_a_window_each_and_others_do_not_notice() {
    let world = World::new().await;
    let (_, mut quick) = world.open(run("stty -echo raw; echo ready; cat")).await;
    quick.until("ready").await;
    let usual = echoes(&mut quick, 100).await[50];
    let before = resident_kib();
    let mut stalled = Vec::new();
    for _ in 0..10 {
        let (grant, mut stream) = world.open(run("yes")).await;
        stream.acknowledges = false;
        stalled.push((grant, stream));
    }
    for (_, stream) in &mut stalled {
        // Everything that comes without an acknowledgment, and not a byte more.
        while stream.seen < WINDOW_BYTES {
            stream.frame().await.unwrap();
        }
        let more = tokio::time::timeout(Duration::from_millis(50), stream.frame()).await;
        assert!(more.is_err(), "{more:?}");
        assert_eq!(stream.seen, WINDOW_BYTES);
    }
    let took = echoes(&mut quick, 200).await;
    let grown = resident_kib().saturating_sub(before);
    let (median, late) = (took[100], took[198]);
    println!("10 stalled: {grown} KiB more; echo p50 {median:?}, p99 {late:?}; before anybody stalled p50 {usual:?}");
    assert!(grown < 20 * 1024, "{grown} KiB");
    // Single late echoes are a busy machine's; whoever waits for stalled readers waits at every one.
    // It is compared with this very machine a moment before.
    let bar = 20 * usual.max(Duration::from_millis(25));
    assert!(median < bar, "{median:?}, p99 {late:?}; before anybody stalled p50 {usual:?}");
    // Nothing was lost: it goes on where it stood.
    let (_, stream) = &mut stalled[0];
    stream.acknowledges = true;
    stream.send(&Frame::Ack(stream.seen));
    let Some(Frame::Output(offset, bytes)) = stream.frame().await else { panic!("no output") };
    let whole = b"y\r\n".repeat(bytes.len() / 3 + 2);
    let at = usize::try_from(offset % 3).unwrap();
    assert_eq!(&bytes[..], &whole[at..at + bytes.len()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_arrives_whole_and_who_comes_back_in_it_is_shown_the_screen() {
    let world = World::new().await;
    let lines = 400_000_u32;
    let (grant, mut stream) = world.open(run(&format!("seq {lines}; read line; echo end"))).await;
    let began = Instant::now();
    let (mut bytes, mut last) = (0_u64, Vec::new());
    while !last.ends_with(format!("\n{lines}\r\n").as_bytes()) {
        if let Frame::Output(offset, piece) = stream.frame().await.unwrap() {
            assert_eq!(offset, bytes, "no gap");
            bytes += piece.len() as u64;
            last = [&last[last.len().saturating_sub(16)..], &piece[..]].concat();
        }
    }
    let expected: u64 = (1..=lines).map(|line| u64::from(line.ilog10()) + 3).sum();
    assert_eq!(bytes, expected);
    println!("{:.1} MB/s through one terminal", bytes as f64 / 1e6 / began.elapsed().as_secs_f64());
    drop(stream);
    let mut stream = world.gateway.open(&world.plane, &again(&grant, Some(7), false)).await.unwrap();
    let Some(Frame::Opened(opened)) = stream.frame().await else { panic!("not opened") };
    assert_eq!(opened.offset, bytes, "what was so long ago is not kept");
    let (_, screen) = stream.screen().await;
    let mut shown = vt100::Parser::new(24.try_into().unwrap(), 80.try_into().unwrap(), 0);
    shown.process(&screen);
    let wanted: Vec<String> = (lines - 22..=lines).map(|line| line.to_string()).collect();
    assert_eq!(shown.screen().contents().trim_end(), wanted.join("\n"));
    stream.typed("\n");
    stream.until("end").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_paste_reaches_the_program_while_its_output_waits() {
    let world = World::new().await;
    let (_, mut stream) = world.open(run("stty -echo raw; echo ready; head -c 200000 | sha256sum; echo end")).await;
    stream.until("ready").await;
    let text = "x".repeat(1000);
    for _ in 0..200 {
        stream.typed(&text);
    }
    let said = stream.until("end").await;
    let sum = protocol::agent_binary::sha256_hex(text.repeat(200).as_bytes());
    assert!(said.contains(&sum), "{said}");
    let (_, mut other) = world.open(shell()).await;
    other.until("$").await;
}
