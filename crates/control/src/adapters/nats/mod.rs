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
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::policies::{Policies, keys};

pub const STREAM: &str = "GPUAAS_EVENTS";
/// Before the event's own subject.
pub const PREFIX: &str = "gpuaas.events.";
pub const SUBJECTS: &str = "gpuaas.events.>";

// bound: within this the server itself drops what a relay repeats; consumers
// drop repetitions of any age
const DUPLICATES: Duration = Duration::from_secs(120);
// bound: how long a consumer that fell silent keeps its message; one that
// works on it says so well before
pub const ACK_WAIT: Duration = Duration::from_secs(30);
// bound: the longest pause after which a server that was away is tried again
const SLOWEST_RETRY: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Nats {
    pub connection: Connection,
    pub db: Db,
    pub settings: LiveSettings,
    pub policies: Policies,
    pub ack_wait: Duration,
}

impl Bus for Nats {
    fn run(&self, consumers: Vec<Arc<dyn Consumer>>, stop: CancellationToken) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let names: Vec<&str> = consumers.iter().map(|it| it.name()).collect();
            if let Err(error) = readers::forget(&self.db, &names).await {
                tracing::warn!(%error, "positions of the embedded bus stay; they keep events from expiring until the next start");
            }
            let mut running = JoinSet::new();
            running.spawn(relay::run(self.clone(), stop.clone()));
            for consumer in consumers {
                running.spawn(consume::run(self.clone(), consumer, stop.clone()));
            }
            while running.join_next().await.is_some() {}
        })
    }
}

impl Nats {
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
            description: Some("what happened in the control plane".to_owned()),
            subjects: vec![SUBJECTS.to_owned()],
            retention: RetentionPolicy::Limits,
            discard: DiscardPolicy::Old,
            storage: StorageType::File,
            num_replicas: 1,
            max_age: keys::days(self.policies.number(keys::EVENTS_DAYS)),
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
