//! A terminal as a person's program holds it: opened with a ticket, typed into,
//! read until something appears.

use std::time::Duration;

use bytes::Bytes;
use client::{
    ClientError,
    stream::{self, Hello, Receiver, Sender, StreamMessage},
};
use contract::{
    access_tickets::{AccessTicketSpec, CreateAccessTicket, NewAccessTicket, TicketKind},
    allocations::AllocationPath,
    id::{AccessSessionId, AllocationId},
};
use protocol::stream::{Closing, Frame, Size, StreamOpened};

use crate::Tenant;

const PATIENCE: Duration = Duration::from_secs(30);

pub struct Shell {
    pub to: Sender,
    pub from: Receiver,
    pub opened: StreamOpened,
    /// Everything that was printed since it was opened.
    pub text: String,
    /// Up to where output was seen.
    pub seen: u64,
    /// What the person was told beside the output.
    pub notices: Vec<String>,
}

/// How a terminal ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Close(Closing),
    /// Of the WebSocket, without a word before it.
    Closed(u16, String),
}

/// What a plain terminal is asked for with.
pub fn terminal() -> AccessTicketSpec {
    AccessTicketSpec {
        kind: TicketKind::Terminal,
        port: None,
        node_id: None,
        resume: None,
        watch: false,
        command: None,
        plain: false,
        share: false,
    }
}

impl Tenant {
    pub async fn ticket(
        &self,
        allocation: AllocationId,
        spec: AccessTicketSpec,
    ) -> Result<NewAccessTicket, ClientError> {
        let path = AllocationPath { project_id: self.project, allocation_id: allocation };
        self.client.call::<CreateAccessTicket>(path, Default::default(), spec).await
    }

    /// A new shell through the gateway that the ticket names.
    pub async fn shell(&self, allocation: AllocationId) -> (AccessSessionId, Shell) {
        let ticket = self.ticket(allocation, terminal()).await.expect("a ticket is given");
        match Shell::open(&ticket.url, &ticket, None).await {
            Ok(shell) => (ticket.session_id, shell),
            Err(end) => panic!("the shell does not open: {end:?}"),
        }
    }

    /// The shell of a session, from where it was seen, through a gateway of choice.
    pub async fn back(
        &self,
        allocation: AllocationId,
        session: AccessSessionId,
        gateway: Option<&str>,
        seen: Option<u64>,
    ) -> Result<Shell, End> {
        let spec = AccessTicketSpec { resume: Some(session), ..terminal() };
        let ticket = self.ticket(allocation, spec).await.expect("a ticket is given");
        Shell::open(gateway.unwrap_or(&ticket.url), &ticket, seen).await
    }
}

impl Shell {
    pub async fn open(gateway: &str, ticket: &NewAccessTicket, seen: Option<u64>) -> Result<Shell, End> {
        let hello = Hello { seen, size: Some(Size { columns: 100, rows: 30 }) };
        let opened = stream::terminal(gateway, ticket.ticket.expose(), &hello).await;
        let (to, mut from) = opened.map_err(|error| End::Closed(0, error.to_string()))?;
        match tokio::time::timeout(PATIENCE, from.next_frame()).await.expect("the gateway answers").map_err(broken)? {
            StreamMessage::Frame(Frame::Opened(opened)) => {
                Ok(Shell { to, from, seen: opened.offset, opened, text: String::new(), notices: Vec::new() })
            }
            StreamMessage::Frame(Frame::Close(closing)) => Err(End::Close(closing)),
            StreamMessage::Closed(code, reason) => Err(End::Closed(code, reason)),
            other => panic!("a shell begins with its opening, not {other:?}"),
        }
    }

    pub async fn types(&mut self, text: &str) {
        let frame = Frame::Input(Bytes::copy_from_slice(text.as_bytes()));
        self.to.send_frame(&frame).await.expect("the gateway listens");
    }

    /// Reads until the text appears; everything that was printed so far.
    pub async fn shows(&mut self, text: &str) -> String {
        let found = tokio::time::timeout(PATIENCE, async {
            while !self.text.contains(text) {
                if let Some(end) = self.read().await {
                    panic!("it ended with {end:?} before `{text}` appeared in {:?}", self.text);
                }
            }
        });
        if found.await.is_err() {
            panic!("`{text}` did not appear within {PATIENCE:?}: {:?}", self.text);
        }
        self.text.clone()
    }

    /// Reads until somebody is told what contains the text.
    pub async fn told(&mut self, text: &str) {
        let told = tokio::time::timeout(PATIENCE, async {
            while !self.notices.iter().any(|it| it.contains(text)) {
                if let Some(end) = self.read().await {
                    panic!("it ended with {end:?} before `{text}` was told: {:?}", self.notices);
                }
            }
        });
        if told.await.is_err() {
            panic!("`{text}` was not told within {PATIENCE:?}: {:?}", self.notices);
        }
    }

    /// Runs a line and returns what it printed.
    pub async fn runs(&mut self, line: &str) -> String {
        self.text.clear();
        // The mark is put together by the shell, so that the echo of the line is not it.
        self.types(&format!("{line}; echo \"d\"one.$?.\r")).await;
        let shown = self.shows("done.").await;
        shown.split("done.").next().unwrap_or_default().to_owned()
    }

    /// The next piece; how it ended, if it did.
    pub async fn read(&mut self) -> Option<End> {
        match self.from.next_frame().await.map_err(broken) {
            Ok(StreamMessage::Frame(Frame::Output(offset, bytes))) => {
                let skip = usize::try_from(self.seen.saturating_sub(offset)).unwrap_or(usize::MAX).min(bytes.len());
                self.text.push_str(&String::from_utf8_lossy(&bytes[skip..]));
                self.seen = self.seen.max(offset + bytes.len() as u64);
            }
            Ok(StreamMessage::Frame(Frame::Screen(offset, bytes))) => {
                self.text.push_str(&String::from_utf8_lossy(&bytes));
                self.seen = offset;
            }
            Ok(StreamMessage::Frame(Frame::Notice(text))) => self.notices.push(text),
            Ok(StreamMessage::Frame(Frame::Exit(ended))) => return Some(End::Exit(ended.code)),
            Ok(StreamMessage::Frame(Frame::Close(closing))) => return Some(End::Close(closing)),
            Ok(StreamMessage::Closed(code, reason)) => return Some(End::Closed(code, reason)),
            Ok(_) => (),
            Err(end) => return Some(end),
        }
        None
    }

    /// Reads until the gateway closes it; with which code, and what a person reads.
    pub async fn closes(&mut self) -> (u16, String) {
        loop {
            if let End::Closed(code, words) = self.ends().await {
                return (code, words);
            }
        }
    }

    /// Reads to the end.
    pub async fn ends(&mut self) -> End {
        let end = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Some(end) = self.read().await {
                    return end;
                }
            }
        });
        end.await.expect("it ends in time")
    }
}

fn broken(error: ClientError) -> End {
    End::Closed(stream::BROKEN, error.to_string())
}
