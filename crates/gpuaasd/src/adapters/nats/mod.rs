//! Events over NATS JetStream: a relay copies the outbox into one stream, and
//! every consumer reads the stream through a durable of its own. The server
//! holds nothing that the database could not fill it with again.

mod connection;
mod consume;
mod envelope;
mod relay;

pub use connection::{Connection, NatsError};
pub use relay::READER;

use std::{sync::Arc, time::Duration};

use async_nats::jetstream::{
    self,
    stream::{Config, DiscardPolicy, RetentionPolicy, StorageType, Stream},
};
use kernel::{
    Db,
    bus::{BoxFuture, Bus, Consumer, LiveSettings, Settings, readers},
    outbox::Message,
};
use tokio::{sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;

use platform::policies::{Policies, settings};

pub const STREAM: &str = "GPUAAS_EVENTS";
pub const SUBJECTS: &str = "gpuaas.events.>";
// bound: how many messages one consumer has in flight at once; each resource
// belongs to one partition, and a partition hands out one message at a time
pub const PARTITIONS: u32 = 8;

/// Where an event is published: the partition of its resource, then its own subject.
fn subject_of(message: &Message) -> String {
    format!("gpuaas.events.{}.{}", partition(message), message.subject)
}

/// What a consumer of one partition reads.
fn subjects_of(partition: u32) -> String {
    format!("gpuaas.events.{partition}.>")
}

/// Events of one resource share a partition, so that they stay in order. The
/// hash (FNV-1a) is fixed: replicas of two releases publish side by side.
fn partition(message: &Message) -> u32 {
    let id = message.id.to_string();
    let owner = message.resource.as_deref().unwrap_or(&id);
    let hash = owner.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % PARTITIONS
}

// bound: within this the server itself drops what a relay repeats; consumers
// drop repetitions of any age
const DUPLICATES: Duration = Duration::from_secs(120);
// bound: how long a replica that died keeps the messages it was working on; one
// that is alive marks them as in progress three times in this time
pub const ACK_WAIT: Duration = Duration::from_secs(3);
// bound: the longest pause after which a server that was away is tried again
const SLOWEST_RETRY: Duration = Duration::from_secs(5);

// bound: the part of the process's database connections that consumers use at
// once; requests and visits have the rest
const SHARE_OF_CONNECTIONS: usize = 4;

#[derive(Clone)]
pub struct Nats {
    connection: Connection,
    db: Db,
    settings: LiveSettings,
    policies: Policies,
    ack_wait: Duration,
    /// One for each message that is being handed to a consumer.
    turns: Arc<Semaphore>,
}

/// How many messages a process with so many connections hands to consumers at once.
pub fn in_flight(connections: usize) -> usize {
    (connections / SHARE_OF_CONNECTIONS).max(1)
}

impl Bus for Nats {
    fn run(&self, consumers: Vec<Arc<dyn Consumer>>, stop: CancellationToken) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let names: Vec<&str> = consumers.iter().map(|it| it.name()).collect();
            if let Err(error) = readers::forget(&self.db, &names).await {
                tracing::warn!(%error, "positions of the embedded bus remain; they prevent events from expiring until the next start");
            }
            let mut running = JoinSet::new();
            running.spawn(relay::run(self.clone(), stop.clone()));
            for consumer in consumers {
                for partition in 0..PARTITIONS {
                    running.spawn(consume::run(self.clone(), consumer.clone(), partition, stop.clone()));
                }
            }
            while running.join_next().await.is_some() {}
        })
    }
}

impl Nats {
    /// `ack_wait` is [`ACK_WAIT`] where nobody tests how a shorter one behaves.
    pub fn new(connection: Connection, db: Db, settings: LiveSettings, policies: Policies, ack_wait: Duration) -> Self {
        let turns = Arc::new(Semaphore::new(in_flight(db.pool_use().1)));
        Self { connection, db, settings, policies, ack_wait, turns }
    }

    /// Makes the stream, or brings what is ours of its settings in line. The
    /// rest, such as the number of copies, is the operator's.
    async fn stream(&self) -> Result<Stream, NatsError> {
        let jetstream = &self.connection.jetstream;
        let known = match jetstream.get_stream(STREAM).await {
            Ok(stream) => stream,
            Err(error) if is_missing(&error) => return Ok(jetstream.create_stream(self.wanted()).await?),
            Err(error) => return Err(error.into()),
        };
        let (config, wanted) = (&known.cached_info().config, self.wanted());
        let ours = |it: &Config| (it.subjects.clone(), it.max_age, it.duplicate_window);
        if ours(config) != ours(&wanted) {
            let Config { subjects, max_age, duplicate_window, .. } = wanted;
            jetstream.update_stream(Config { subjects, max_age, duplicate_window, ..config.clone() }).await?;
        }
        Ok(known)
    }

    fn wanted(&self) -> Config {
        Config {
            name: STREAM.to_owned(),
            description: Some("events of the control plane".to_owned()),
            subjects: vec![SUBJECTS.to_owned()],
            retention: RetentionPolicy::Limits,
            discard: DiscardPolicy::Old,
            storage: StorageType::File,
            num_replicas: 1,
            max_age: settings::days(self.policies.number(settings::EVENTS_DAYS)),
            duplicate_window: DUPLICATES,
            ..Config::default()
        }
    }

    fn settings(&self) -> Settings {
        (self.settings)()
    }

    /// How long to rest after so many failures in a row.
    fn rest(&self, failures: i32) -> Duration {
        self.settings().backoff(failures).min(SLOWEST_RETRY)
    }
}

fn is_missing(error: &jetstream::context::GetStreamError) -> bool {
    use jetstream::{ErrorCode, context::GetStreamErrorKind::JetStream};
    matches!(error.kind(), JetStream(cause) if cause.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(resource: Option<&str>) -> Message {
        Message {
            id: uuid::Uuid::from_u128(7),
            subject: "project.created".into(),
            organization: None,
            resource: resource.map(str::to_owned),
            version: None,
            at: jiff::Timestamp::UNIX_EPOCH,
            correlation_id: "c".into(),
            traceparent: None,
            data: serde_json::json!({}),
        }
    }

    #[test]
    fn partition_of_a_resource_never_changes() {
        // Written down: another release must publish to the same partitions.
        let names = ["proj-1", "proj-2", "alloc-01m7g2c936exvrsc7jxk9mbe4f", ""];
        assert_eq!(names.map(|it| partition(&event(Some(it)))), [0, 1, 4, 5]);
        assert_eq!(subject_of(&event(Some("proj-1"))), "gpuaas.events.0.project.created");
        assert!(partition(&event(None)) < PARTITIONS);
    }

    #[test]
    fn partitions_are_all_used() {
        let used: std::collections::BTreeSet<u32> =
            (0..200).map(|it| partition(&event(Some(&format!("proj-{it}"))))).collect();
        assert_eq!(used.len(), PARTITIONS as usize);
    }
}
