//! What goes to a client on one channel. It waits for the client's window, so that
//! a client which does not read costs a few packets.

use crate::sessions::Session;
use bytes::Bytes;
use protocol::stream::StreamEnded;
use russh::server::{Handle, Msg};
use russh::{ChannelWriteHalf, Sig};
use std::future::Future;
use std::time::Duration;

const STALL: Duration = Duration::from_millis(250); // bound: slower than that is a reader who makes others wait
const LONGEST_STALL: Duration = Duration::from_secs(3600); // bound: then nobody looks any more
const ERRORS: u32 = 1; // the number of the stream that SSH has for errors

/// The client does not take anything any more.
#[derive(Debug)]
pub struct ClientGone;

pub struct Writer {
    half: ChannelWriteHalf<Msg>,
    handle: Handle,
}

impl Writer {
    pub fn new(half: ChannelWriteHalf<Msg>, handle: Handle) -> Self {
        Self { half, handle }
    }

    pub async fn output(&self, session: &Session, bytes: Bytes) -> Result<(), ClientGone> {
        let length = bytes.len();
        patiently(session, self.half.data_bytes(bytes)).await?;
        session.count_out(length);
        Ok(())
    }

    pub async fn error_output(&self, session: &Session, bytes: Bytes) -> Result<(), ClientGone> {
        let length = bytes.len();
        patiently(session, self.half.extended_data_bytes(ERRORS, bytes)).await?;
        session.count_out(length);
        Ok(())
    }

    /// Tells the person something that the host did not say.
    pub async fn tell(&self, session: &Session, text: &str) {
        let line: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
        let line = Bytes::from(format!("gpuaas: {line}\r\n"));
        let _ = tokio::time::timeout(STALL, self.error_output(session, line)).await;
    }

    /// How the program ended.
    pub async fn exit(&self, ended: &StreamEnded) {
        let id = self.half.id();
        let told = match &ended.signal {
            Some(signal) => {
                let name = Sig::Custom(signal.trim_start_matches("SIG").to_owned());
                self.handle.exit_signal_request(id, name, false, String::new(), String::new()).await
            }
            None => self.handle.exit_status_request(id, u32::try_from(ended.code & 0xff).unwrap_or(1)).await,
        };
        // A client that has gone does not want to know.
        let _ = told;
    }

    /// Nothing more will come.
    pub async fn end(&self) {
        let _ = self.half.eof().await;
    }

    pub async fn close(&self) {
        let _ = self.half.eof().await;
        let _ = self.half.close().await;
    }
}

async fn patiently(
    session: &Session,
    written: impl Future<Output = Result<(), russh::Error>>,
) -> Result<(), ClientGone> {
    tokio::pin!(written);
    let result = match tokio::time::timeout(STALL, &mut written).await {
        Ok(result) => result,
        Err(_) => {
            session.count_stall();
            tokio::time::timeout(LONGEST_STALL, written).await.map_err(|_| ClientGone)?
        }
    };
    result.map_err(|_| ClientGone)
}
