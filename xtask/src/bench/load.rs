//! The load on the server: as many connections as callers, each with a key of
//! its own, each asking again as soon as it was answered.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::http::{Connection, request};
use super::part::Part;
use super::places::{Caller, Fleet};
use super::sample::Sample;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Create a project.
    Writes,
    /// Get a project.
    Reads,
    /// Get a page of projects.
    Lists,
}

/// Projects on one page, which is what the API lists unless told otherwise.
const PAGE: usize = 50;

impl Load {
    /// The part of a run that it is.
    pub fn part(self) -> Part {
        match self {
            Load::Writes => Part::Writes,
            Load::Reads => Part::Reads,
            Load::Lists => Part::Lists,
        }
    }

    /// Projects that each organization has before; more than a page where pages are read.
    pub fn projects(self) -> usize {
        match self {
            Load::Writes | Load::Reads => 1,
            Load::Lists => PAGE + 10,
        }
    }
}

pub async fn run(address: SocketAddr, fleet: &Fleet, load: Load, lasting: Duration) -> Result<Sample, String> {
    let mut connections = Vec::new();
    for caller in &fleet.callers {
        connections.push((Connection::open(address).await?, caller.clone()));
    }
    let started = Instant::now();
    let until = started + lasting;
    let mut running = JoinSet::new();
    for (connection, caller) in connections {
        running.spawn(ask(connection, caller, load, until));
    }
    let mut latencies = Vec::new();
    while let Some(done) = running.join_next().await {
        latencies.extend(done.map_err(|error| format!("a connection failed: {error}"))??);
    }
    Ok(Sample::new(latencies.len(), started.elapsed().as_secs_f64(), latencies))
}

/// Asks until the time is over; every answer's latency in microseconds.
async fn ask(mut connection: Connection, caller: Caller, load: Load, until: Instant) -> Result<Vec<u32>, String> {
    let mut latencies = Vec::new();
    loop {
        let asked = Instant::now();
        if asked >= until {
            return Ok(latencies);
        }
        let place = &caller.places[latencies.len() % caller.places.len()];
        let text = match load {
            Load::Reads => request("GET", &format!("/v1/projects/{}", place.project), &caller.token, "", ""),
            Load::Lists => {
                let path = format!("/v1/organizations/{}/projects?limit={PAGE}", place.organization);
                request("GET", &path, &caller.token, "", "")
            }
            Load::Writes => {
                let name = uuid::Uuid::now_v7().simple();
                let path = format!("/v1/organizations/{}/projects", place.organization);
                let key = format!("idempotency-key: {name}\r\n");
                request("POST", &path, &caller.token, &key, &format!("{{\"name\":\"bench-{name}\"}}"))
            }
        };
        connection.send(text.as_bytes()).await?;
        latencies.push(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
}
