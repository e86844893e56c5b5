//! What clients do while processes die around them: projects made and deleted
//! and credit granted, each under a key of its own and repeated until it is
//! answered. Every answer is counted, and those that no client should see kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use contract::id::OrganizationId;
use reqwest::{Client, Method, header::RETRY_AFTER};
use serde_json::{Value, json};

/// The amount of each grant of credit.
pub const GRANT_MICROS: i64 = 1_000_000;
/// How long a client rests between two writes, and before it repeats one.
const PACE: Duration = Duration::from_millis(120);

/// What the clients were told.
#[derive(Default)]
pub struct Book {
    /// The id of each project whose creation was acknowledged, by its name.
    pub projects: BTreeMap<String, String>,
    /// The names of those whose deletion was.
    pub deleted: BTreeSet<String>,
    pub grants: i64,
    pub statuses: BTreeMap<u16, u64>,
    /// Requests whose connection was refused or ended without an answer.
    pub cut: u64,
    /// Answers that are a fault: 5xx that do not say when to come back, and refusals.
    pub faults: Vec<String>,
}

#[derive(Clone)]
pub struct Load {
    pub bases: [String; 2],
    pub organization: OrganizationId,
    pub owner: String,
    pub operator: String,
    pub book: Arc<Mutex<Book>>,
    pub over: Arc<AtomicBool>,
}

impl Load {
    /// One client, until the load is over; what it began it finishes.
    pub async fn run(self, number: usize) {
        let http = Client::builder().timeout(Duration::from_secs(15)).build().unwrap();
        let mut step = 0;
        while !self.over.load(Ordering::Relaxed) {
            let name = format!("c{number}-{step}");
            self.write(&http, &name, step).await;
            step += 1;
            tokio::time::sleep(PACE).await;
        }
    }

    async fn write(&self, http: &Client, name: &str, step: usize) {
        let projects = format!("/v1/organizations/{}/projects", self.organization);
        let body = json!({ "name": name });
        let Some(made) = self.until_answered(http, Method::POST, &projects, Some((name, body))).await else { return };
        let id = made["id"].as_str().unwrap().to_owned();
        self.book.lock().unwrap().projects.insert(name.to_owned(), id.clone());
        if step.is_multiple_of(2) {
            let project = format!("/v1/projects/{id}");
            if self.until_answered(http, Method::DELETE, &project, None).await.is_some() {
                self.book.lock().unwrap().deleted.insert(name.to_owned());
            }
        }
        if step.is_multiple_of(3) {
            let credits = format!("/v1/platform/organizations/{}/credits", self.organization);
            let body = json!({ "currency": "USD", "amount_micros": GRANT_MICROS, "reason": name });
            let key = format!("grant-{name}");
            if self.until_answered(http, Method::POST, &credits, Some((&key, body))).await.is_some() {
                self.book.lock().unwrap().grants += 1;
            }
        }
    }

    /// Repeats the request at one replica and the other until it succeeds;
    /// `None` when it was refused, which is a fault.
    async fn until_answered(
        &self,
        http: &Client,
        method: Method,
        address: &str,
        write: Option<(&str, Value)>,
    ) -> Option<Value> {
        let token = if address.starts_with("/v1/platform") { &self.operator } else { &self.owner };
        for attempt in 0.. {
            let base = &self.bases[attempt % 2];
            let mut request = http.request(method.clone(), format!("{base}{address}")).bearer_auth(token);
            if let Some((key, body)) = &write {
                request = request.header("idempotency-key", *key).json(body);
            }
            match self.ask(request, &format!("{method} {address}")).await {
                Answer::Done(body) => return Some(body),
                // The answer to an earlier attempt was lost.
                Answer::Refused(404 | 409) if method == Method::DELETE && attempt > 0 => return Some(Value::Null),
                Answer::Refused(status) => {
                    self.fault(format!("{method} {address}: {status}"));
                    return None;
                }
                Answer::Later => tokio::time::sleep(PACE).await,
            }
        }
        None
    }

    async fn ask(&self, request: reqwest::RequestBuilder, what: &str) -> Answer {
        let Ok(answer) = request.send().await else { return self.was_cut() };
        let (status, waits) = (answer.status().as_u16(), answer.headers().contains_key(RETRY_AFTER));
        let Ok(body) = answer.json::<Value>().await else { return self.was_cut() };
        *self.book.lock().unwrap().statuses.entry(status).or_default() += 1;
        match status {
            200..300 => Answer::Done(body),
            503 if waits => Answer::Later,
            500.. => {
                self.fault(format!("{what}: {status}, Retry-After {waits}: {body}"));
                Answer::Later
            }
            // Another attempt of the same write is still at work.
            409 if body["code"] == "request_in_progress" => Answer::Later,
            _ => Answer::Refused(status),
        }
    }

    fn was_cut(&self) -> Answer {
        self.book.lock().unwrap().cut += 1;
        Answer::Later
    }

    fn fault(&self, what: String) {
        self.book.lock().unwrap().faults.push(what);
    }
}

enum Answer {
    Done(Value),
    Later,
    Refused(u16),
}
