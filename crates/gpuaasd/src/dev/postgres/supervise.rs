//! Keeps the server running: a thread that starts it, waits for it, starts it
//! again when it dies, and stops it when asked. All state is on that thread;
//! others send it events.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use tokio::sync::watch;

use super::{
    DevError, leftovers, log,
    place::at,
    server::{Server, Spec},
};

/// Crash recovery of a laptop's database takes seconds, not minutes.
const START_LIMIT: Duration = Duration::from_secs(60);
const READY_POLL: Duration = Duration::from_millis(10);
const LOG_CHECK: Duration = Duration::from_secs(30);
const MAX_RESTARTS: u32 = 10;
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LAST_DELAY: Duration = Duration::from_secs(5);
/// A server that ran this long has got over what made it die.
const STABLE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Ready,
    Restarting,
    /// It died too often; the log says why. Only a new start helps.
    GivenUp,
    Stopped,
}

pub(super) enum Event {
    Exited,
    Stop(StopDeadline),
}

/// How long a stop may take before the next, harder one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopDeadline {
    /// Sessions are ended and a checkpoint is written.
    Fast,
    /// As if the machine had crashed; the next start recovers.
    Immediate,
}

impl StopDeadline {
    fn steps(self) -> &'static [(Signal, Duration)] {
        const STEPS: [(Signal, Duration); 3] = [
            (Signal::SIGINT, Duration::from_secs(20)),
            (Signal::SIGQUIT, Duration::from_secs(10)),
            (Signal::SIGKILL, Duration::from_secs(10)),
        ];
        match self {
            Self::Fast => &STEPS,
            Self::Immediate => &STEPS[1..],
        }
    }
}

pub(super) struct Supervisor {
    spec: Spec,
    server: Option<Server>,
    ready_since: Instant,
    restarts: u32,
    status: watch::Sender<Status>,
    sender: SyncSender<Event>,
    events: Receiver<Event>,
}

/// What ended a wait for the server.
enum Start {
    Ready,
    StopAsked(StopDeadline),
}

impl Supervisor {
    /// Starts the server for the first time; here a failure is the caller's.
    pub fn launch(spec: Spec) -> Result<Self, DevError> {
        let (sender, events) = sync_channel(4);
        let mut supervisor = Self {
            spec,
            server: None,
            ready_since: Instant::now(),
            restarts: 0,
            status: watch::Sender::new(Status::Ready),
            sender,
            events,
        };
        supervisor.start_once()?;
        Ok(supervisor)
    }

    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub fn events(&self) -> SyncSender<Event> {
        self.sender.clone()
    }

    pub fn run_on_thread(self) -> Result<JoinHandle<()>, DevError> {
        let dir = self.spec.place.dir.clone();
        thread::Builder::new().name("postgres".into()).spawn(move || self.run()).map_err(at(&dir))
    }

    fn run(mut self) {
        loop {
            let patience = match self.events.recv_timeout(LOG_CHECK) {
                Ok(Event::Stop(patience)) => Some(patience),
                Ok(Event::Exited) => self.recover(),
                Err(RecvTimeoutError::Timeout) => {
                    // A log that cannot be trimmed is tried again, and harms nothing.
                    let _ = log::trim(&self.spec.place.log);
                    None
                }
                Err(RecvTimeoutError::Disconnected) => Some(StopDeadline::Fast),
            };
            if let Some(patience) = patience {
                self.stop_server(patience);
                self.status.send_replace(Status::Stopped);
                return;
            }
        }
    }

    /// Brings a dead server back. Returns early if a stop is asked meanwhile.
    fn recover(&mut self) -> Option<StopDeadline> {
        self.status.send_replace(Status::Restarting);
        let status = self.server.take().and_then(|it| it.reap().ok());
        let place = &self.spec.place;
        tracing::error!(
            status = status.map(|it| it.to_string()),
            log = %place.log.display(),
            "the private PostgreSQL died; starting it again"
        );
        if self.ready_since.elapsed() > STABLE {
            self.restarts = 0;
        }
        while self.restarts < MAX_RESTARTS {
            let delay = FIRST_DELAY * 2_u32.pow(self.restarts);
            self.restarts += 1;
            if let Ok(Event::Stop(patience)) = self.events.recv_timeout(delay.min(LAST_DELAY)) {
                return Some(patience);
            }
            match leftovers::sweep(&self.spec.place).and_then(|()| self.start_once()) {
                Ok(Start::Ready) => {
                    tracing::info!(restarts = self.restarts, "the private PostgreSQL is running again");
                    self.status.send_replace(Status::Ready);
                    return None;
                }
                Ok(Start::StopAsked(patience)) => return Some(patience),
                Err(error) => {
                    tracing::warn!(%error, restarts = self.restarts, "the private PostgreSQL did not start");
                }
            }
        }
        tracing::error!(
            restarts = self.restarts,
            log = %self.spec.place.log.display(),
            "the private PostgreSQL fails repeatedly and is not restarted: check its log, then start gpuaasd again"
        );
        self.status.send_replace(Status::GivenUp);
        None
    }

    /// Returns when the server is ready, has failed, or is not wanted any more.
    fn start_once(&mut self) -> Result<Start, DevError> {
        let sender = self.sender.clone();
        // Nobody is left to be told if the supervisor is gone.
        let on_exit = move || drop(sender.send(Event::Exited));
        self.server = Some(Server::spawn(&self.spec, on_exit)?);
        let place = &self.spec.place;
        let started = Instant::now();
        while started.elapsed() < START_LIMIT {
            if self.server.as_ref().is_some_and(|it| it.is_ready(place)) {
                self.ready_since = Instant::now();
                return Ok(Start::Ready);
            }
            match self.events.recv_timeout(READY_POLL) {
                Ok(Event::Stop(patience)) => return Ok(Start::StopAsked(patience)),
                Ok(Event::Exited) => {
                    let _ = self.server.take().map(Server::reap);
                    return Err(DevError::Ended { log: place.log.clone(), said: log::tail(&place.log) });
                }
                Err(_) => {}
            }
        }
        let log = place.log.clone();
        self.stop_server(StopDeadline::Immediate);
        Err(DevError::TooSlow { program: "postgres", limit_s: START_LIMIT.as_secs(), log })
    }

    fn stop_server(&mut self, patience: StopDeadline) {
        let Some(server) = self.server.take() else {
            return;
        };
        for (signal, limit) in patience.steps() {
            server.signal(*signal);
            if self.exits_within(*limit) {
                let _ = server.reap();
                return;
            }
            tracing::warn!(%signal, "the private PostgreSQL takes too long to stop");
        }
    }

    fn exits_within(&self, limit: Duration) -> bool {
        let started = Instant::now();
        while let Some(left) = limit.checked_sub(started.elapsed()) {
            match self.events.recv_timeout(left) {
                Ok(Event::Exited) => return true,
                // It is stopping already.
                Ok(Event::Stop(_)) => {}
                Err(_) => return false,
            }
        }
        false
    }
}
