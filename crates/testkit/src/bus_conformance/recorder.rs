//! A consumer whose effect is a row, and which fails when told to.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use kernel::{
    Tx, audit,
    bus::{BoxFuture, ConsumeError, Consumer},
    outbox::{self, Message},
    work,
};
use uuid::Uuid;

use super::stand::event;

/// What a talking one says, records and wakes.
pub const SAID: &str = "recorder.heard";

#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct Effect {
    pub message_id: Uuid,
    pub subject: String,
    pub resource: String,
    pub version: i64,
    /// Of the transaction that made the effect.
    pub correlation_id: String,
    pub traceparent: Option<String>,
}

pub struct Recorder {
    name: &'static str,
    prefix: &'static str,
    broken: Mutex<HashSet<String>>,
    panicking: Mutex<HashSet<String>>,
    talks: bool,
    tries: Mutex<HashMap<(String, i64), usize>>,
}

impl Recorder {
    /// Records every event whose subject starts with `prefix`.
    pub fn new(name: &'static str, prefix: &'static str) -> Arc<Recorder> {
        Arc::new(Recorder::quiet(name, prefix))
    }

    /// Says, records and wakes something with every effect, too.
    pub fn talking(name: &'static str, prefix: &'static str) -> Arc<Recorder> {
        Arc::new(Recorder { talks: true, ..Recorder::quiet(name, prefix) })
    }

    fn quiet(name: &'static str, prefix: &'static str) -> Recorder {
        let (broken, panicking, tries) = Default::default();
        Recorder { name, prefix, broken, panicking, talks: false, tries }
    }

    /// Fails on events of this resource from now on.
    pub fn fail_on(&self, resource: &str) {
        self.broken.lock().unwrap().insert(resource.to_owned());
    }

    pub fn panic_on(&self, resource: &str) {
        self.panicking.lock().unwrap().insert(resource.to_owned());
    }

    pub fn recover(&self) {
        self.broken.lock().unwrap().clear();
    }

    /// How often it was handed this event.
    pub fn tries(&self, resource: &str, version: i64) -> usize {
        self.tries.lock().unwrap().get(&(resource.to_owned(), version)).copied().unwrap_or(0)
    }
}

impl Consumer for Recorder {
    fn name(&self) -> &'static str {
        self.name
    }

    fn wants(&self, subject: &str) -> bool {
        subject.starts_with(self.prefix)
    }

    fn handle<'a>(&'a self, tx: &'a mut Tx, message: &'a Message) -> BoxFuture<'a, Result<(), ConsumeError>> {
        Box::pin(async move {
            let (resource, version) = (message.resource.clone().unwrap(), message.version.unwrap());
            *self.tries.lock().unwrap().entry((resource.clone(), version)).or_default() += 1;
            let (cause, trace) = (tx.cause.to_string(), tx.trace.as_deref().map(str::to_owned));
            // The effect comes before the failure, which must take it back.
            sqlx::query(
                "INSERT INTO effects (consumer, message_id, subject, resource, version, correlation_id, traceparent)
                 VALUES ($1, $2, $3, $4, $5, $6, $7)",
            )
            .bind(self.name)
            .bind(message.id)
            .bind(&message.subject)
            .bind(&resource)
            .bind(version)
            .bind(cause)
            .bind(trace)
            .execute(tx.conn())
            .await?;
            if self.talks {
                outbox::emit(tx, event(SAID, &resource, version));
                audit::record(tx, entry(SAID));
                work::wake(tx, SAID, message.id);
            }
            assert!(!self.panicking.lock().unwrap().contains(&resource), "told to panic");
            if self.broken.lock().unwrap().contains(&resource) {
                return Err(ConsumeError::Failed("told to fail".into()));
            }
            Ok(())
        })
    }
}

fn entry(action: &str) -> audit::NewEntry {
    let detail = serde_json::json!({});
    audit::NewEntry { action: action.to_owned(), organization: None, resource: None, outcome: "done", detail }
}
