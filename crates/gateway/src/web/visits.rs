//! Who a cookie belongs to, remembered for seconds, and the connections to the web service
//! that are kept for the next request.

use super::WebOrigin;
use crate::control::ControlError;
use crate::public::Visitor;
use crate::sessions::{Session, Surface};
use crate::{Gateway, locked};
use http::StatusCode;
use hyper::client::conn::http1::SendRequest;
use protocol::PROTOCOL;
use protocol::gateway::WebVisitRequest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

use super::proxy::UpBody;

const TRUSTED: Duration = Duration::from_secs(15); // bound: how late a revoked cookie stops working
const KEPT: Duration = Duration::from_secs(300); // bound: then the browser has left
const MOST: usize = 10_000; // bound: browsers at web services of this gateway
const MOST_IDLE: usize = 6; // bound: what a browser opens at once
const IDLE_TIME: Duration = Duration::from_secs(20); // bound: below what servers usually keep
const MOST_REQUESTS: usize = 64; // bound: at once, by one browser at one web service
const MOST_VOUCHED: usize = 64; // bound: as many connections as requests; more count against their address

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Unknown,
    Away,
    TooMany,
}

/// A browser at a web service.
pub struct Visit {
    pub session: Arc<Session>,
    pub places: Arc<Semaphore>,
    /// Connections that its cookie vouches for.
    pub vouched: Arc<Semaphore>,
    idle: Mutex<Vec<(SendRequest<UpBody>, Instant)>>,
}

impl Visit {
    /// A connection to the web service that is free.
    pub fn take(&self) -> Option<SendRequest<UpBody>> {
        let mut idle = locked(&self.idle);
        idle.retain(|(line, since)| since.elapsed() < IDLE_TIME && line.is_ready());
        idle.pop().map(|(line, _)| line)
    }

    pub fn keep(&self, line: SendRequest<UpBody>) {
        let mut idle = locked(&self.idle);
        if idle.len() < MOST_IDLE && !line.is_closed() {
            idle.push((line, Instant::now()));
        }
    }
}

/// By web service and hash of the cookie.
#[derive(Default)]
pub struct Visits(Mutex<HashMap<(String, u16, String), CachedVisit>>);

struct CachedVisit {
    visit: Arc<Visit>,
    asked: Instant,
    used: Instant,
}

impl Visits {
    /// Forgets browsers that have left; their sessions end with it.
    pub fn sweep(&self) {
        let gone: Vec<CachedVisit> = {
            let mut known = locked(&self.0);
            known.extract_if(|_, it| it.used.elapsed() > KEPT).map(|(_, it)| it).collect()
        };
        drop(gone);
    }

    /// Forgets everybody, when the gateway stops.
    pub fn clear(&self) {
        let gone = std::mem::take(&mut *locked(&self.0));
        drop(gone);
    }
}

/// Who the cookie belongs to. The control plane is asked when it was not of late.
pub async fn find(
    gateway: &Arc<Gateway>,
    visitor: &Visitor,
    web: &WebOrigin,
    hash: &str,
) -> Result<Arc<Visit>, Refused> {
    let key = (web.allocation.clone(), web.port, hash.to_owned());
    if let Some(known) = locked(&gateway.visits.0).get_mut(&key)
        && known.asked.elapsed() < TRUSTED
    {
        known.used = Instant::now();
        return Ok(known.visit.clone());
    }
    let request = WebVisitRequest {
        protocol: PROTOCOL,
        cookie_sha256: hash.to_owned(),
        allocation: web.allocation.clone(),
        port: web.port,
        address: visitor.address.to_string(),
    };
    let answer = match gateway.control.web_visit(&request).await {
        Ok(answer) => answer,
        Err(error) => {
            if error.is_refusal() {
                locked(&gateway.visits.0).remove(&key);
            }
            tracing::info!(address = %visitor.address, %error, "a browser was denied access to a web service");
            return Err(match error {
                ControlError::Refused { status: StatusCode::TOO_MANY_REQUESTS, .. } => Refused::TooMany,
                ControlError::Refused { status, .. } if status.is_client_error() => Refused::Unknown,
                _ => Refused::Away,
            });
        }
    };
    let now = Instant::now();
    let mut known = locked(&gateway.visits.0);
    if let Some(known) = known.get_mut(&key)
        && known.visit.session.id == answer.session
    {
        (known.asked, known.used) = (now, now);
        return Ok(known.visit.clone());
    }
    if known.len() >= MOST {
        return Err(Refused::TooMany);
    }
    let session = Session::begin(gateway, Surface::Web, &answer);
    let places = Arc::new(Semaphore::new(MOST_REQUESTS));
    let vouched = Arc::new(Semaphore::new(MOST_VOUCHED));
    let visit = Arc::new(Visit { session, places, vouched, idle: Mutex::default() });
    let replaced = known.insert(key, CachedVisit { visit: visit.clone(), asked: now, used: now });
    drop(known);
    drop(replaced);
    Ok(visit)
}
