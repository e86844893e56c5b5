//! What ends a tour from outside: Ctrl-C, a service manager, a terminal that closed.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub fn listen() -> Result<Self, Failure> {
        let on = |kind| signal(kind).map_err(|error| Failure::usage(format!("cannot listen for Ctrl-C: {error}"), ""));
        Ok(Self {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hang_up: on(SignalKind::hangup())?,
        })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
            _ = self.hang_up.recv() => (),
        }
    }
}
