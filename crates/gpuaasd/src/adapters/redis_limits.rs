//! Rate limits shared by several processes through Redis, whose clock and
//! whose single thread make the count exact.

use std::time::Duration;

use kernel::bus::BoxFuture;
use platform::ports::limits::{SharedLimits, SharedLimitsError, Verdict};
use redis::{
    Script,
    aio::{ConnectionManager, ConnectionManagerConfig},
};

#[derive(Clone)]
pub struct RedisLimits {
    connection: ConnectionManager,
    script: std::sync::Arc<Script>,
}

/// One cell of the generic cell rate algorithm, as in `http::limiter`.
const CELL: &str = r"
local now_parts = redis.call('TIME')
local now = now_parts[1] * 1000000 + now_parts[2]
local interval = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local arrival = tonumber(redis.call('GET', KEYS[1]) or now)
if arrival < now then arrival = now end
local earliest = arrival + interval - window
if earliest > now then return earliest - now end
if ARGV[3] == '0' then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', arrival + interval), 'PX', math.ceil((arrival + interval - now) / 1000) + 1000)
return 0
";

// bound: an answer later than this is worth less than counting here
const PATIENCE: Duration = Duration::from_millis(250);
const MINUTE_US: u64 = 60_000_000;

#[derive(Debug, thiserror::Error)]
pub enum RedisError {
    #[error("Redis returned an error: {0}")]
    Redis(#[from] redis::RedisError),
    #[error("Redis did not respond in time")]
    Late,
}

impl RedisLimits {
    /// Connects on first use, and again whenever the connection is lost.
    pub fn open(url: &str) -> Result<Self, RedisError> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE))
            .set_number_of_retries(0);
        let connection = redis::Client::open(url)?.get_connection_manager_lazy(config)?;
        Ok(Self { connection, script: std::sync::Arc::new(Script::new(CELL)) })
    }

    async fn ask(
        &self,
        lane: &str,
        who: &str,
        per_minute: u64,
        counts: bool,
    ) -> Result<Result<(), Duration>, RedisError> {
        let interval = (MINUTE_US / per_minute.max(1)).max(1);
        let mut connection = self.connection.clone();
        let key = format!("gpuaas:limit:{lane}:{who}");
        let mut call = self.script.prepare_invoke();
        call.key(key).arg(interval).arg(MINUTE_US.max(interval)).arg(u8::from(counts));
        let wait: u64 = tokio::time::timeout(PATIENCE, call.invoke_async(&mut connection))
            .await
            .map_err(|_| RedisError::Late)??;
        Ok(if wait == 0 { Ok(()) } else { Err(Duration::from_micros(wait)) })
    }

    pub async fn ping(&self) -> Result<(), RedisError> {
        let mut connection = self.connection.clone();
        let ping = redis::cmd("PING");
        tokio::time::timeout(PATIENCE, ping.query_async::<String>(&mut connection))
            .await
            .map_err(|_| RedisError::Late)??;
        Ok(())
    }
}

impl SharedLimits for RedisLimits {
    fn judge<'a>(
        &'a self,
        lane: &'a str,
        who: &'a str,
        per_minute: u64,
        counts: bool,
    ) -> BoxFuture<'a, Result<Verdict, SharedLimitsError>> {
        Box::pin(async move {
            let answer = self.ask(lane, who, per_minute, counts).await;
            answer.map_err(|error| SharedLimitsError(Box::new(error)))
        })
    }
}
