//! A client's connection as the SSH library sees it: not read while too much waits
//! to be taken, and over when it is cut.

use super::feed::Gate;
use rustix::net::sockopt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

const RECEIVE_BYTES: usize = 256 * 1024; // bound: what waits in the kernel, see `feed`
const PROBE_AFTER: Duration = Duration::from_secs(60); // bound: how long a dead line may look silent
const PROBE_EVERY: Duration = Duration::from_secs(20); // bound: between two probes
const PROBES: u32 = 6; // bound: unanswered ones until the line is dead

pub struct Line {
    stream: TcpStream,
    gate: Arc<Gate>,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Line {
    pub fn new(stream: TcpStream, gate: Arc<Gate>, cut: CancellationToken) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        sockopt::set_socket_recv_buffer_size(&stream, RECEIVE_BYTES)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, PROBE_AFTER)?;
        sockopt::set_tcp_keepintvl(&stream, PROBE_EVERY)?;
        sockopt::set_tcp_keepcnt(&stream, PROBES)?;
        Ok(Self { stream, gate, cut: Box::pin(cut.cancelled_owned()) })
    }

    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.cut.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check(context)?;
        if !self.gate.is_open(context) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
