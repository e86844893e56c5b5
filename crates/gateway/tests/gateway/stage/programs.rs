//! What a host really runs, for those who bring their own client: a command of the
//! shell with its three streams, and the server for files.

use super::host::push;
use bytes::{Bytes, BytesMut};
use h2::{RecvStream, SendStream};
use protocol::stream::*;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::{Mutex, watch};

const FILE_SERVER: &str = "/usr/lib/openssh/sftp-server";

pub async fn command(command: &str, environment: &Environment, mut body: RecvStream, send: SendStream<Bytes>) {
    let mut child = Command::new("sh");
    child.args(["-c", command]).env("LANG", "C").envs(environment.iter()).kill_on_drop(true);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let send = Arc::new(Mutex::new(send));
    let opened =
        StreamOpened { offset: 0, resumed: false, size: Size::DEFAULT, shown_from: None, takes_signals: false };
    let opened = Frame::Opened(opened);
    push(&mut *send.lock().await, opened.to_bytes()).await;
    let (acknowledged, credit) = watch::channel(0_u64);
    let mut stdin = child.stdin.take();
    // Acknowledgments must not wait behind input that nobody reads.
    let (typed, mut input) = tokio::sync::mpsc::channel::<(Bytes, usize)>(100_000);
    let mut flow = body.flow_control().clone();
    let writing = async move {
        while let Some((bytes, room)) = input.recv().await {
            let is_open = match &mut stdin {
                Some(pipe) if !bytes.is_empty() => pipe.write_all(&bytes).await.is_ok(),
                _ => false,
            };
            if !is_open {
                stdin = None;
            }
            let _ = flow.release_capacity(room);
        }
        std::future::pending::<()>().await
    };
    let reading = async move {
        let mut buffer = BytesMut::new();
        while let Some(Ok(piece)) = body.data().await {
            buffer.extend_from_slice(&piece);
            loop {
                let before = buffer.len();
                let Some(frame) = Frame::take(&mut buffer).unwrap() else { break };
                let room = before - buffer.len();
                match frame {
                    Frame::Input(bytes) => typed.try_send((bytes, room)).unwrap(),
                    Frame::EndOfInput => typed.try_send((Bytes::new(), room)).unwrap(),
                    Frame::Hangup => return,
                    other => {
                        if let Frame::Ack(offset) = other {
                            acknowledged.send_replace(offset);
                        }
                        let _ = body.flow_control().release_capacity(room);
                    }
                }
            }
        }
    };
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (to_out, to_err) = (send.clone(), send.clone());
    let out = async move {
        let (mut offset, mut credit, mut buffer) = (0_u64, credit, vec![0; 32 * 1024]);
        while let Ok(length @ 1..) = stdout.read(&mut buffer).await {
            let frame = Frame::Output(offset, Bytes::copy_from_slice(&buffer[..length]));
            push(&mut *to_out.lock().await, frame.to_bytes()).await;
            offset += length as u64;
            if credit.wait_for(|it| offset - *it <= WINDOW_BYTES).await.is_err() {
                return;
            }
        }
    };
    let err = async move {
        let mut buffer = vec![0; 32 * 1024];
        while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
            let frame = Frame::ErrorOutput(Bytes::copy_from_slice(&buffer[..length]));
            push(&mut *to_err.lock().await, frame.to_bytes()).await;
        }
    };
    tokio::pin!(writing);
    let running = async {
        tokio::join!(out, err);
        child.wait().await.unwrap()
    };
    tokio::pin!(running);
    tokio::pin!(reading);
    let status = tokio::select! {
        () = &mut reading => return,
        () = &mut writing => return,
        status = &mut running => status,
    };
    let signal = status.signal().map(|it| if it == 9 { "SIGKILL".to_owned() } else { format!("SIG{it}") });
    let code = status.code().unwrap_or(128 + status.signal().unwrap_or(0));
    let mut send = send.lock().await;
    push(&mut send, Frame::Exit(StreamEnded { code, signal }).to_bytes()).await;
    let _ = send.send_data(Bytes::new(), true);
}

pub async fn files(mut body: RecvStream, mut send: SendStream<Bytes>) {
    let mut child = Command::new(FILE_SERVER);
    let mut child = child.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let up = async move {
        while let Some(Ok(piece)) = body.data().await {
            if stdin.write_all(&piece).await.is_err() {
                break;
            }
            let _ = body.flow_control().release_capacity(piece.len());
        }
    };
    let down = async {
        let mut buffer = vec![0; 32 * 1024];
        while let Ok(length @ 1..) = stdout.read(&mut buffer).await {
            push(&mut send, Bytes::copy_from_slice(&buffer[..length])).await;
        }
        let _ = send.send_data(Bytes::new(), true);
    };
    tokio::join!(up, down);
}
