//! Where browsers meet gateways, for the policy of the console's pages. Read when
//! a page is shown, and no more often than every few seconds: nobody has to sign
//! in to be shown one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Mutex;

use super::store;

/// The front of one gateway, or of several that share a name.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Door {
    pub public_url: String,
    /// Web services are below it, each at a name of its own.
    pub web_domain: String,
}

impl Door {
    /// Where its web services are: scheme and what follows the domain are the gateway's own.
    pub fn web_origin(&self, name: &str) -> String {
        let (scheme, rest) = match self.public_url.strip_prefix("wss://") {
            Some(rest) => ("https", rest),
            None => ("http", self.public_url.trim_start_matches("ws://")),
        };
        let port = rest.rsplit_once(':').map(|(_, port)| format!(":{port}")).unwrap_or_default();
        format!("{scheme}://{name}.{}{port}", self.web_domain)
    }
}

#[derive(Clone, Default)]
pub struct Doors(Arc<Mutex<DoorCache>>);

#[derive(Default)]
// cache: read again after `FRESH`
struct DoorCache {
    read_at: Option<Instant>,
    doors: Vec<Door>,
}

// bound: how late a page allows a gateway that is new
const FRESH: Duration = Duration::from_secs(2);
// bound: a page is shown without the newest list rather than not at all
const PATIENCE: Duration = Duration::from_secs(1);

impl Doors {
    /// Every gateway that was not removed, each front once; the last known ones
    /// while the database is away.
    pub async fn all(&self, db: &kernel::Db) -> Vec<Door> {
        let mut known = self.0.lock().await;
        if known.read_at.is_some_and(|at| at.elapsed() < FRESH) {
            return known.doors.clone();
        }
        match tokio::time::timeout(PATIENCE, store::doors(db)).await {
            Ok(Ok(doors)) => known.doors = doors,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the gateway addresses could not be read; the last known ones are still used")
            }
            Err(_) => {
                tracing::warn!("the gateway addresses could not be read in time; the last known ones are still used")
            }
        }
        known.read_at = Some(Instant::now());
        known.doors.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_services_are_where_their_gateway_is() {
        let door = |url: &str| Door { public_url: url.into(), web_domain: "web.example.net".into() };
        assert_eq!(door("wss://gw.example.com").web_origin("*"), "https://*.web.example.net");
        assert_eq!(door("wss://gw.example.com:8443").web_origin("80--a"), "https://80--a.web.example.net:8443");
        assert_eq!(door("ws://127.0.0.1:9443").web_origin("*"), "http://*.web.example.net:9443");
    }
}
