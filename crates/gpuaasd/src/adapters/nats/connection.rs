//! The connection to the NATS servers. It comes up by itself, now or later,
//! and comes back by itself: nothing waits for it.

use std::{sync::atomic::Ordering, time::Duration};

use async_nats::{
    Client, ConnectOptions, Event, ServerAddr,
    connection::State,
    jetstream::{self, context::ContextBuilder},
};

use super::{STREAM, is_missing};

// bound: an answer later than this counts as none; the request is repeated
const PATIENCE: Duration = Duration::from_secs(5);
// bound: the slowest pace at which a lost server is tried again
const SLOWEST_RECONNECT: Duration = Duration::from_secs(2);
// bound: the first pause after a lost server
const FIRST_RECONNECT: Duration = Duration::from_millis(50);

#[derive(Clone)]
pub struct Connection {
    client: Client,
    pub(super) jetstream: jetstream::Context,
}

#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    #[error("the address is not valid: expected `nats://host:4222`, several separated by commas")]
    Address(#[source] std::io::Error),
    #[error("the connection could not be set up")]
    Connect(#[from] async_nats::ConnectError),
    #[error("the stream could not be read: is JetStream enabled on the server?")]
    ReadStream(#[from] jetstream::context::GetStreamError),
    #[error("the stream could not be created or changed")]
    ChangeStream(#[from] jetstream::context::CreateStreamError),
    #[error("the newest message of the stream could not be read")]
    Newest(#[from] jetstream::stream::LastRawMessageError),
    #[error("the durable consumer could not be created")]
    Durable(#[from] jetstream::stream::ConsumerError),
    #[error("a message was not accepted; if it says the payload is too large, raise `max_payload` on the server")]
    Publish(#[from] jetstream::context::PublishError),
    #[error("messages could not be fetched")]
    Fetch(#[source] async_nats::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("an event cannot be encoded as JSON")]
    Json(#[from] serde_json::Error),
}

impl Connection {
    /// Returns at once; the connection is made in the background.
    pub async fn open(url: &str) -> Result<Connection, NatsError> {
        let servers: Result<Vec<ServerAddr>, _> = url.split(',').map(|it| it.trim().parse()).collect();
        let client = ConnectOptions::new()
            .name("gpuaas")
            .retry_on_initial_connect()
            .connection_timeout(PATIENCE)
            .reconnect_delay_callback(|attempts| {
                FIRST_RECONNECT.saturating_mul(1 << attempts.min(8)).min(SLOWEST_RECONNECT)
            })
            .event_callback(|event| async move {
                match event {
                    Event::Disconnected => {
                        tracing::warn!("NATS is unavailable; events wait in the database until it is available");
                    }
                    Event::Connected => tracing::info!("NATS is connected"),
                    other => tracing::debug!(%other, "NATS"),
                }
            })
            .connect(servers.map_err(NatsError::Address)?)
            .await?;
        let jetstream = ContextBuilder::new().timeout(PATIENCE).build(client.clone());
        Ok(Connection { client, jetstream })
    }

    pub fn is_up(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// How often a connection was made; a change means that the server may be another.
    pub(super) fn life(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }

    /// Whether the server is there and has JetStream; for readiness.
    pub async fn check(&self, patience: Duration) -> Result<(), String> {
        if !self.is_up() {
            return Err("does not respond; events wait in the database".to_owned());
        }
        match tokio::time::timeout(patience, self.jetstream.get_stream(STREAM)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) if is_missing(&error) => Err("has no stream yet; events wait in the database".to_owned()),
            Ok(Err(_)) => Err("responds without JetStream; start it with `jetstream` enabled".to_owned()),
            Err(_) => Err("does not respond in time; events wait in the database".to_owned()),
        }
    }
}
