//! The first bytes of a connection, within a deadline: enough to tell HTTP/1
//! from HTTP/2. The library tells them apart too, but would wait for ever; as it
//! would for a peer that takes none of what is written to it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};

/// What every connection of HTTP/2 begins with.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// bound: a peer that takes nothing of what is written for this long is gone
const WRITE_PATIENCE: Duration = Duration::from_secs(60);

/// A connection whose first bytes were read, and are read again.
pub struct PeekedConnection {
    head: [u8; PREFACE.len()],
    /// Where the rest of the first bytes begins, and where they end.
    rest: (usize, usize),
    stream: TcpStream,
    stalled: Stalled,
}

/// How long the peer has taken nothing of what is written.
struct Stalled {
    patience: Duration,
    /// Runs while a write waits.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Stalled {
    /// Passes on how a write went, unless it has waited for too long.
    fn check(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.patience)));
        match deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Waits for the first bytes; nothing if they do not come in time, or only some
/// of those that HTTP/2 begins with.
pub async fn open(stream: TcpStream, patience: Duration) -> Option<PeekedConnection> {
    tokio::time::timeout(patience, first_bytes(stream)).await.ok().flatten()
}

async fn first_bytes(mut stream: TcpStream) -> Option<PeekedConnection> {
    let mut head = [0; PREFACE.len()];
    let mut length = 0;
    // At most as often as the preface has bytes.
    while length < PREFACE.len() && head[..length] == PREFACE[..length] {
        match stream.read(&mut head[length..]).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => length += read,
        }
    }
    Some(PeekedConnection {
        head,
        rest: (0, length),
        stream,
        stalled: Stalled { patience: WRITE_PATIENCE, deadline: None },
    })
}

impl AsyncRead for PeekedConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (from, to) = self.rest;
        if from < to {
            let to = to.min(from + buffer.remaining());
            buffer.put_slice(&self.head[from..to]);
            self.rest.0 = to;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for PeekedConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.stalled.check(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.stalled.check(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt, net::TcpListener};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(200);

    /// What is read of what was said, in so many steps; nothing if it was cut off.
    async fn said(parts: &[&[u8]]) -> Option<Vec<u8>> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        client.set_nodelay(true).unwrap();
        for part in parts {
            client.write_all(part).await.unwrap();
        }
        let mut opened = open(stream, PATIENCE).await?;
        client.shutdown().await.unwrap();
        let mut all = Vec::new();
        opened.read_to_end(&mut all).await.unwrap();
        Some(all)
    }

    #[tokio::test]
    async fn first_bytes_of_a_connection_are_never_lost() {
        for text in
            [&b"GET / HTTP/1.1\r\n\r\n"[..], b"P", b"POST / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore"]
        {
            let expected = (text != b"P").then(|| text.to_vec());
            assert_eq!(said(&[text]).await, expected);
        }
        assert_eq!(said(&[b"PR", b"INT"]).await.unwrap(), b"PRINT");
    }

    #[tokio::test]
    async fn peer_that_takes_nothing_is_cut_off() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let stalled = Stalled { patience: PATIENCE, deadline: None };
        let mut opened = PeekedConnection { head: [0; PREFACE.len()], rest: (0, 0), stream, stalled };
        let cut_off = async {
            loop {
                if let Err(error) = opened.write_all(&[0; 64 * 1024]).await {
                    return error;
                }
            }
        };
        let error = tokio::time::timeout(Duration::from_secs(20), cut_off).await.expect("it is not waited for");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(client);
    }

    #[tokio::test]
    async fn silence_and_half_a_preface_are_cut_off() {
        assert_eq!(said(&[]).await, None);
        assert_eq!(said(&[b"PRI * HTTP/2.0\r\n\r\nSM\r\n"]).await, None);
    }
}
