//! The sessions that go through this gateway: what each has carried, how it is
//! told to end, and that the control plane hears when it does. SSH, terminals,
//! forwards and web services all hold one of these.

use crate::Gateway;
use crate::agents::Stream;
use crate::control::ControlError;
use crate::recorder::Progress;
use crate::{leaving, locked};
use jiff::Timestamp;
use protocol::gateway::{GrantRequest, LeftRequest, RecordingOrder, SessionAnswer, SessionBeat};
use protocol::stream::{Closing, Environment, Kind, SignedGrant};
use protocol::{PROTOCOL, Problem};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;
use tokio::sync::watch;
use uuid::Uuid;

const SLACK: Duration = Duration::from_secs(5); // bound: the host ends it at its time, and says so better

/// By what a person came in, as metrics name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    Terminal,
    Forward,
    Web,
    Ssh,
}

impl Surface {
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Forward => "forward",
            Self::Web => "web",
            Self::Ssh => "ssh",
        }
    }
}

/// How a session was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEnd {
    /// Nobody can come back to it.
    pub is_over: bool,
    pub reason: String,
    pub exit_code: Option<i32>,
}

impl SessionEnd {
    pub fn client_left(is_over: bool) -> Self {
        Self { is_over, reason: "client_left".into(), exit_code: None }
    }

    pub fn exit(code: i32) -> Self {
        Self { is_over: true, reason: "exit".into(), exit_code: Some(code) }
    }

    /// What a reason for closing means for the session itself.
    pub fn closed(closing: Closing) -> Self {
        let is_over = match closing {
            Closing::TimeLimit | Closing::Idle | Closing::AllocationEnded | Closing::Ended => true,
            Closing::TakenOver | Closing::BadFrame | Closing::GoingAway | Closing::HostGone | Closing::Unrecorded => {
                false
            }
        };
        Self { is_over, reason: name(closing), exit_code: None }
    }
}

/// As the protocol spells it.
pub fn name(closing: Closing) -> String {
    serde_json::to_value(closing).ok().and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A session that is open here. The control plane is told when it is dropped.
pub struct Session {
    pub id: Uuid,
    pub node: String,
    pub surface: Surface,
    /// Names of the kinds that it may open.
    pub kinds: Vec<String>,
    pub port: Option<u16>,
    pub title: String,
    pub until: Timestamp,
    key: OnceLock<String>,
    number: u64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    stalls: AtomicU64,
    end: watch::Sender<Option<Closing>>,
    parting: Mutex<SessionEnd>,
    /// The recordings of its streams, which should arrive before the news of its end.
    recordings: Mutex<Vec<watch::Receiver<Progress>>>,
    gateway: Arc<Gateway>,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the control plane did not issue a grant: {0}")]
    Control(#[from] ControlError),
    #[error("the host refused the stream ({}): {}", .0.code, .0.detail)]
    Host(Box<Problem>),
}

impl Session {
    pub fn begin(gateway: &Arc<Gateway>, surface: Surface, answer: &SessionAnswer) -> Arc<Self> {
        // A shell outlives who looks at it; what has no shell ends with its client.
        let is_over = !matches!(surface, Surface::Terminal | Surface::Web);
        let session = Arc::new(Self {
            id: answer.session,
            node: answer.node.clone(),
            surface,
            kinds: answer.kinds.clone(),
            port: answer.port,
            title: answer.title.clone(),
            until: answer.until,
            key: OnceLock::new(),
            number: gateway.sessions.counter.fetch_add(1, Relaxed),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            stalls: AtomicU64::new(0),
            end: watch::Sender::new(None),
            parting: Mutex::new(SessionEnd::client_left(is_over)),
            recordings: Mutex::new(Vec::new()),
            gateway: gateway.clone(),
        });
        locked(&gateway.sessions.open).insert(session.number, Arc::downgrade(&session));
        metrics::gauge!("gpuaas_gateway_sessions", "kind" => surface.name()).increment(1.0);
        session
    }

    /// Notes the fingerprint of the registered key that it was entered with.
    pub fn entered_with(&self, fingerprint: String) {
        // A session is entered once.
        let _ = self.key.set(fingerprint);
    }

    /// Opens a stream with the grant that came with the session.
    pub async fn open_granted(&self, grant: &SignedGrant) -> Result<Stream, OpenError> {
        let opened = self.gateway.hub.open(&self.node, grant, &Environment::default()).await;
        opened.map_err(|problem| OpenError::Host(Box::new(problem)))
    }

    /// Asks for a grant and opens one more stream; with how it is to be recorded.
    pub async fn open(&self, kind: Kind) -> Result<(Stream, Option<RecordingOrder>), OpenError> {
        self.open_in(kind, &Environment::default()).await
    }

    /// The same, in an environment that the client sets.
    pub async fn open_in(
        &self,
        kind: Kind,
        environment: &Environment,
    ) -> Result<(Stream, Option<RecordingOrder>), OpenError> {
        let request = GrantRequest { protocol: PROTOCOL, session: self.id, kind };
        let answer = self.gateway.control.grant(&request).await?;
        let stream = self.gateway.hub.open(&answer.node, &answer.grant, environment).await;
        Ok((stream.map_err(|problem| OpenError::Host(Box::new(problem)))?, answer.recording))
    }

    /// Counts what a person sent.
    pub fn count_in(&self, bytes: usize) {
        self.bytes_in.fetch_add(bytes as u64, Relaxed);
        metrics::counter!("gpuaas_gateway_bytes_total", "direction" => "in").increment(bytes as u64);
    }

    /// Counts what a person got.
    pub fn count_out(&self, bytes: usize) {
        self.bytes_out.fetch_add(bytes as u64, Relaxed);
        metrics::counter!("gpuaas_gateway_bytes_total", "direction" => "out").increment(bytes as u64);
    }

    /// Counts that its reader made it wait.
    pub fn count_stall(&self) {
        self.stalls.fetch_add(1, Relaxed);
        metrics::counter!("gpuaas_gateway_stalls_total").increment(1);
    }

    /// Says how it is left, in place of that the client went.
    pub fn part(&self, parting: SessionEnd) {
        *locked(&self.parting) = parting;
    }

    /// Tells everybody who serves it to stop.
    pub fn end(&self, closing: Closing) {
        self.end.send_if_modified(|end| {
            let is_first = end.is_none();
            *end = end.or(Some(closing));
            is_first
        });
    }

    /// Waits until it must end, and says why.
    pub async fn ended(&self) -> Closing {
        let mut orders = self.end.subscribe();
        let ordered = async {
            match orders.wait_for(Option::is_some).await {
                Ok(order) => order.unwrap_or(Closing::Ended),
                Err(_) => Closing::Ended,
            }
        };
        let time_limit = async {
            match self.gateway.clock.until(self.until) {
                Some(left) => tokio::time::sleep(left + SLACK).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            closing = ordered => closing,
            () = self.gateway.stop.cancelled() => Closing::GoingAway,
            () = time_limit => Closing::TimeLimit,
        }
    }

    pub(crate) fn await_recording(&self, done: watch::Receiver<Progress>) {
        locked(&self.recordings).push(done);
    }

    fn beat(&self) -> SessionBeat {
        SessionBeat {
            session: self.id,
            bytes_in: self.bytes_in.load(Relaxed),
            bytes_out: self.bytes_out.load(Relaxed),
            stalls: self.stalls.load(Relaxed),
            key: self.key.get().cloned(),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let goes_on = self.gateway.sessions.leave(self);
        metrics::gauge!("gpuaas_gateway_sessions", "kind" => self.surface.name()).decrement(1.0);
        let mut parting = locked(&self.parting).clone();
        if goes_on && !parting.is_over {
            // Another window here has it already, whatever became of this one.
            parting = SessionEnd::closed(Closing::TakenOver);
        }
        let SessionBeat { session, bytes_in, bytes_out, stalls, .. } = self.beat();
        let SessionEnd { is_over, reason, exit_code } = parting;
        let left = LeftRequest { protocol: PROTOCOL, session, is_over, reason, exit_code, bytes_in, bytes_out, stalls };
        let recordings = std::mem::take(&mut *locked(&self.recordings));
        leaving::tell(&self.gateway, left, recordings);
    }
}

/// Everything that is open here.
#[derive(Default)]
pub struct Sessions {
    open: Mutex<HashMap<u64, Weak<Session>>>,
    counter: AtomicU64,
}

impl Sessions {
    pub fn count(&self) -> usize {
        locked(&self.open).len()
    }

    fn all(&self) -> Vec<Arc<Session>> {
        locked(&self.open).values().filter_map(Weak::upgrade).collect()
    }

    /// Forgets one of the holders of a session; says whether there is another.
    fn leave(&self, session: &Session) -> bool {
        let mut open = locked(&self.open);
        open.remove(&session.number);
        let others: Vec<Arc<Session>> = open.values().filter_map(Weak::upgrade).collect();
        drop(open);
        others.iter().any(|it| it.id == session.id)
    }

    /// What each has carried. One that two windows hold for a moment is told once.
    pub(crate) fn beats(&self) -> Vec<SessionBeat> {
        let mut beats: HashMap<Uuid, SessionBeat> = HashMap::new();
        for beat in self.all().iter().map(|it| it.beat()) {
            let none = SessionBeat { bytes_in: 0, bytes_out: 0, stalls: 0, ..beat.clone() };
            let sum = beats.entry(beat.session).or_insert(none);
            sum.bytes_in += beat.bytes_in;
            sum.bytes_out += beat.bytes_out;
            sum.stalls += beat.stalls;
        }
        let mut beats: Vec<_> = beats.into_values().collect();
        beats.sort_by_key(|it| it.session);
        beats
    }

    pub(crate) fn end(&self, session: Uuid, closing: Closing) {
        for open in self.all().iter().filter(|it| it.id == session) {
            open.end(closing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_that_may_go_on_is_not_over() {
        assert!(!SessionEnd::closed(Closing::TakenOver).is_over);
        assert!(!SessionEnd::closed(Closing::GoingAway).is_over);
        assert_eq!(SessionEnd::closed(Closing::AllocationEnded).reason, "allocation_ended");
        assert_eq!(SessionEnd::exit(3).exit_code, Some(3));
    }
}
