//! One stream to a shell: what comes from it is obeyed, and everything that its
//! viewer must see is sent, both until either ends.

use super::{Joining, Next, Terminal};
use crate::streams::refusal::Refused;
use crate::streams::wire::{Incoming, Lost, Outgoing};
use protocol::stream::{Closing, Frame, Limits, Size, refusals};
use std::sync::Arc;
use std::time::Duration;

const LAST_WORD: Duration = Duration::from_secs(5); // bound: a gateway that takes nothing is cut off

/// A viewer that has joined and is not served yet.
pub struct Joined {
    terminal: Arc<Terminal>,
    id: u64,
    opened: protocol::stream::StreamOpened,
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.terminal.leave(self.id);
    }
}

/// What a grant says about how somebody joins.
#[derive(Clone, Copy, Debug)]
pub struct AttachOptions {
    pub size: Size,
    pub from: Option<u64>,
    /// Up to where the recording reaches.
    pub recorded: Option<u64>,
    pub is_watching: bool,
    pub limits: Limits,
}

impl Joined {
    pub fn new(terminal: &Arc<Terminal>, wish: AttachOptions) -> Result<Self, Refused> {
        let AttachOptions { size, from, recorded, is_watching, limits } = wish;
        let joining = Joining { size, from, recorded, is_watching, limits };
        let joined = terminal.join(joining);
        let (id, opened) =
            joined.ok_or_else(|| Refused::new(refusals::TOO_MANY, "too many viewers watch this session"))?;
        Ok(Self { terminal: Arc::clone(terminal), id, opened })
    }
}

/// Serves the viewer until the stream or the shell ends.
pub async fn serve(joined: Joined, mut incoming: Incoming, mut outgoing: Outgoing) {
    let (terminal, id) = (&joined.terminal, joined.id);
    let mut changed = terminal.changed.subscribe();
    if outgoing.send_frame(&Frame::Opened(joined.opened.clone())).await.is_err() {
        return;
    }
    let mut is_listening = true;
    loop {
        match terminal.next_for(id) {
            Next::Bytes(bytes) => {
                let sending = outgoing.send(bytes);
                tokio::pin!(sending);
                // Acknowledgments come while the other side makes no room.
                loop {
                    tokio::select! {
                        biased;
                        sent = &mut sending => match sent {
                            Ok(()) => break,
                            Err(_) => return,
                        },
                        is_on = listen(terminal, id, &mut incoming), if is_listening => is_listening = is_on,
                    }
                }
            }
            Next::Last(bytes) => {
                terminal.told(id);
                let sent = tokio::time::timeout(LAST_WORD, outgoing.send(bytes)).await;
                return if matches!(sent, Ok(Ok(()))) { outgoing.finish() } else { outgoing.cut() };
            }
            Next::Wait => tokio::select! {
                _ = changed.changed() => {}
                is_on = listen(terminal, id, &mut incoming), if is_listening => is_listening = is_on,
                () = outgoing.given_up() => return,
            },
        }
        if !is_listening && !terminal.is_closing(id) {
            // The gateway ended its half: the viewer is gone.
            return outgoing.finish();
        }
    }
}

/// Obeys one frame; false when no more will be listened to.
async fn listen(terminal: &Terminal, id: u64, incoming: &mut Incoming) -> bool {
    let is_good = match incoming.frame().await {
        Ok((frame, room)) => terminal.obey(id, frame, room),
        Err(Lost::Bad) => false,
        Err(Lost::Gone) => return false,
    };
    if !is_good {
        terminal.dismiss(id, Closing::BadFrame);
    }
    is_good
}
