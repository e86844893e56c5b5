//! The agent's conversation with the control plane: one long poll after another,
//! through outages, renewals and refusals, until it is told to stop.

mod absorb;
mod renew;
mod telemetry;

use crate::VERSION;
use crate::backoff::{self, Backoff};
use crate::engine::{Engine, EngineIdentity};
use crate::host::Host;
use crate::identity::Identity;
use crate::journal::Journal;
use crate::link::{Endpoint, Link, LinkError};
use crate::state::{StateFolder, Status};
use crate::steps::Points;
use crate::streams::Streams;
use crate::update::Guard;
use crate::workloads::Workloads;
use protocol::limits::{MAX_REPORTS_PER_POLL, MAX_WAIT_MS};
use protocol::{PROTOCOL, PollAnswer, PollRequest, Report, paths};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use telemetry::Telemetry;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use trust::{ControlClock, Trust, TrustError};

const GRACE: Duration = Duration::from_secs(15); // bound: an answer may be late by a slow line, not by more
const BRIEF: Duration = Duration::from_millis(20); // bound: a task that ends at once is reported at once
const FIRST_EAGER: Duration = Duration::from_millis(50); // bound: a running task's report waits no longer than
const LAST_EAGER: Duration = Duration::from_secs(1); // bound: the poll that is held when it ends

const STATUS_EVERY: Duration = Duration::from_secs(5); // bound: the status is for people

/// How often what happens; the defaults suit a host.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How long a poll is held when there is nothing to say.
    pub heartbeat: Duration,
    pub sample_every: Duration,
    pub inventory_every: Duration,
    pub backoff: Backoff,
    /// How often to ask again after the control plane said that we are not welcome.
    pub slow_retry: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(10),
            sample_every: Duration::from_secs(10),
            inventory_every: Duration::from_secs(300),
            backoff: Backoff::default(),
            slow_retry: Duration::from_secs(300),
        }
    }
}

/// Where identity and status are kept.
#[derive(Clone, Default)]
pub struct Keep {
    pub folder: Option<StateFolder>,
    /// For others in this process to see.
    pub identity: Option<Arc<Mutex<Option<Identity>>>>,
}

/// What an agent is started with.
pub struct Start<H> {
    pub identity: Identity,
    pub generation: u64,
    pub host: Arc<H>,
    pub workloads: Workloads,
    pub journal: Arc<Mutex<Journal>>,
    pub keep: Keep,
    pub timing: Timing,
    pub points: Points,
    /// Shared by agents that trust the same roots; made from the identity otherwise.
    pub trust: Option<Trust>,
    /// While false the agent says nothing.
    pub voice: Option<watch::Receiver<bool>>,
    /// The update that this start must prove.
    pub guard: Option<Guard>,
    /// Whether it serves streams: connects to gateways.
    pub streams: bool,
}

pub struct Agent<H> {
    engine: Engine<H>,
    identity: Identity,
    generation: u64,
    sequence: u64,
    keep: Keep,
    timing: Timing,
    clock: ControlClock,
    link: Link,
    telemetry: Telemetry,
    failures: u32,
    eager: Duration,
    voice: Option<watch::Receiver<bool>>,
    guard: Option<Guard>,
    streams: Option<Streams>,
    renew_asked: bool,
    status: Status,
    status_written: Option<Instant>,
}

/// When to poll again.
enum Next {
    Now,
    After(Duration),
}

impl<H: Host> Agent<H> {
    pub fn new(start: Start<H>) -> Result<Self, TrustError> {
        let Start { identity, generation, host, workloads, journal, keep, timing, .. } = start;
        let (points, voice, guard, streams) = (start.points, start.voice, start.guard, start.streams);
        let clock = ControlClock::default();
        let trust = match start.trust {
            Some(trust) => trust,
            None => Trust::in_roots(&identity.roots)?,
        };
        let endpoint = Endpoint::parse(&identity.url).map_err(|error| TrustError::Roots(error.to_string()))?;
        let link = Link::new(endpoint, trust.identified(&identity.pair, &clock)?);
        let (node, epoch) = (identity.node_id.clone(), identity.epoch);
        let keys = identity.task_keys.clone();
        let place = EngineIdentity { node, generation, epoch, keys, clock: clock.clone(), points };
        let status = Status {
            node_id: identity.node_id.clone(),
            url: identity.url.clone(),
            agent_version: VERSION.into(),
            generation,
            state: "starting".into(),
            certificate_until: identity.pair.lifetime().ok().map(|(_, until)| until),
            ..Status::default()
        };
        Ok(Self {
            engine: Engine::new(place, host, workloads, journal),
            identity,
            generation,
            sequence: 0,
            keep,
            timing,
            clock,
            link,
            telemetry: Telemetry::default(),
            failures: 0,
            eager: FIRST_EAGER,
            voice,
            guard,
            streams: streams.then(Streams::new),
            renew_asked: false,
            status,
            status_written: None,
        })
    }

    pub fn engine(&self) -> &Engine<H> {
        &self.engine
    }

    /// Polls until `stop` is canceled. Running tasks are left to the process.
    pub async fn run(mut self, stop: CancellationToken) {
        let ending = self.streams.as_ref().map(|streams| {
            let (workloads, sessions) = (self.engine.workloads().clone(), self.engine.sessions().clone());
            streams.start(workloads, sessions, self.timing.backoff, stop.clone())
        });
        self.poll(stop).await;
        if let Some(ending) = ending {
            // Every stream is told, and nothing that it ran is left.
            let _ = ending.await;
        }
    }

    async fn poll(&mut self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let turn = async {
                self.wait_for_voice().await;
                self.turn().await
            };
            let next = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                next = turn => next,
            };
            if let Next::After(pause) = next {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    async fn wait_for_voice(&mut self) {
        if let Some(voice) = &mut self.voice
            && !*voice.borrow()
        {
            self.link.close();
            // An error means that nobody can silence us any more.
            let _ = voice.wait_for(|may_speak| *may_speak).await;
        }
    }

    async fn turn(&mut self) -> Next {
        self.renew_if_due().await;
        let host = Arc::clone(self.engine.host());
        self.telemetry.refresh(&*host, &self.timing).await;
        let (request, wait) = self.request();
        let reports = request.reports.clone();
        let asked = Instant::now();
        let answer = {
            let call = self.link.post::<_, PollAnswer>(paths::POLL, &request, wait + GRACE);
            match &mut self.voice {
                None => call.await,
                Some(voice) => tokio::select! {
                    answer = call => answer,
                    Ok(_) = voice.wait_for(|may_speak| !*may_speak) => return Next::Now,
                },
            }
        };
        match answer {
            Ok(answer) if protocol::is_supported(answer.protocol) => {
                self.telemetry.delivered(&request);
                self.absorb(&reports, answer, asked, wait).await
            }
            Ok(answer) => {
                let detail = format!("the control plane speaks protocol {}", answer.protocol);
                self.failed(LinkError::Garbled(detail)).await
            }
            Err(error) => self.failed(error).await,
        }
    }

    fn request(&mut self) -> (PollRequest, Duration) {
        self.sequence += 1;
        let wait = if self.engine.is_busy() { self.eager } else { backoff::shortened(self.timing.heartbeat) };
        let wait = wait.min(Duration::from_millis(MAX_WAIT_MS.into()));
        let reports: Vec<Report> = self.engine.reports(MAX_REPORTS_PER_POLL);
        let mut request = PollRequest {
            protocol: PROTOCOL,
            generation: self.generation,
            sequence: self.sequence,
            agent_version: VERSION.to_owned(),
            inventory_hash: String::new(),
            inventory: None,
            health: Vec::new(),
            samples: Vec::new(),
            reports,
            refused: self.engine.refused(),
            wait_ms: wait.as_millis().try_into().unwrap_or(MAX_WAIT_MS),
        };
        self.telemetry.fill(&mut request);
        (request, wait)
    }

    /// Notes what went wrong and says when to try again.
    async fn failed(&mut self, error: LinkError) -> Next {
        self.failures = self.failures.saturating_add(1);
        let mut pause = self.timing.backoff.pause(self.failures);
        let mut state = "unreachable".to_owned();
        if let LinkError::Refused { problem, retry_after, .. } = &error {
            state = problem.code.clone();
            match problem.code.as_str() {
                protocol::codes::CERTIFICATE_REVOKED | protocol::codes::UNKNOWN_NODE => {
                    pause = backoff::shortened(self.timing.slow_retry);
                    self.link.close();
                }
                protocol::codes::CERTIFICATE_EXPIRED => self.renew_asked = true,
                _ => pause = pause.max(retry_after.unwrap_or_default().min(self.timing.slow_retry)),
            }
        }
        if self.failures.is_power_of_two() {
            tracing::warn!(%error, failures = self.failures, "a poll failed; trying again");
        }
        self.tell_status(&state, error.to_string());
        Next::After(pause)
    }

    fn tell_status(&mut self, state: &str, detail: String) {
        let is_recent = self.status_written.is_some_and(|at| at.elapsed() < STATUS_EVERY);
        if is_recent && self.status.state == state {
            return;
        }
        self.status_written = Some(Instant::now());
        self.status.state = state.to_owned();
        self.status.detail = detail;
        self.status.refused = self.engine.refused();
        let sessions = self.engine.sessions();
        self.status.sessions = sessions.live();
        self.status.streams_refused = sessions.refused().iter().map(|(code, count)| (code.to_owned(), count)).collect();
        self.status.tasks_running = self.engine.is_busy();
        if let Some(folder) = &self.keep.folder
            && let Err(error) = folder.save_status(&self.status)
        {
            tracing::warn!(%error, "the status could not be written");
        }
    }
}
