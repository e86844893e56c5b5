//! Which gateways live, as hosts are told: read once a second for all of them,
//! so that a poll costs no look at the database. While the database is away, or
//! was a moment ago, nobody is declared dead: silence may be ours.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use contract::id::RegionId;
use kernel::Tx;
use protocol::{gateway::limits::MAX_GATEWAYS, stream::GatewayRef};
use tokio::sync::watch::{self, Receiver, Sender};
use tokio_util::sync::CancellationToken;

use super::{
    CarriedSessions,
    store::{self, LiveGateway},
};
use crate::FleetArea;
use platform::policies::settings;

type Regions = HashMap<RegionId, Vec<GatewayRef>>;

#[derive(Clone)]
pub struct Live(Arc<Sender<Regions>>);

impl Default for Live {
    fn default() -> Self {
        Self(Arc::new(watch::channel(Regions::new()).0))
    }
}

// bound: how late hosts learn of a gateway that came or went
const LOOK: Duration = Duration::from_secs(1);
// bound: how long one may have been silent that is believed to live after a pause of ours
const BELIEVED: Duration = Duration::from_secs(3600);
// bound: how late sessions are noticed whose gateway no longer speaks of them
const JUDGE: Duration = Duration::from_secs(3);

impl Live {
    /// The gateways that a host of the region should be connected to.
    pub fn of(&self, region: RegionId) -> Vec<GatewayRef> {
        self.0.borrow().get(&region).cloned().unwrap_or_default()
    }

    /// Tells when the list changes from now on.
    pub fn changes(&self) -> Receiver<Regions> {
        self.0.subscribe()
    }

    /// Learns the list for the first time; waits for it while the database is away.
    pub async fn learn(&self, area: &FleetArea, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            match store::heard(&area.db).await {
                Ok(heard) => return self.set(heard, BELIEVED),
                Err(error) => tracing::warn!(%error, "the list of gateways could not be read; trying again"),
            }
            pause(stop).await;
        }
    }

    fn set(&self, heard: Vec<LiveGateway>, patience: Duration) {
        let mut regions = Regions::new();
        for it in heard.into_iter().filter(|it| it.ago < patience) {
            let list = regions.entry(it.region).or_default();
            if list.len() < MAX_GATEWAYS {
                list.push(GatewayRef { id: it.id.to_string(), url: it.agent_url });
            }
        }
        self.0.send_if_modified(|known| {
            let is_news = *known != regions;
            *known = regions;
            is_news
        });
    }
}

/// Keeps the list fresh, and finds sessions that lost their gateway, until stopped.
pub async fn watch(area: Arc<FleetArea>, stop: CancellationToken) {
    let (mut steady_since, mut judged) = (Instant::now(), Instant::now());
    while !stop.is_cancelled() {
        pause(&stop).await;
        let silent = settings::seconds(area.policies.number(settings::ACCESS_GATEWAY_SECONDS));
        let is_steady = steady_since.elapsed() > silent;
        match store::heard(&area.db).await {
            Ok(heard) => area.gateways.set(heard, if is_steady { silent } else { BELIEVED }),
            Err(error) => {
                tracing::warn!(%error, "the list of gateways could not be read; the last known one is still used");
                steady_since = Instant::now();
                continue;
            }
        }
        if is_steady && judged.elapsed() >= JUDGE {
            judged = Instant::now();
            if let Err(error) = lose_unheard(&area, silent).await {
                tracing::warn!(%error, "looking for sessions without a gateway failed; trying again");
            }
        }
    }
}

async fn lose_unheard(area: &FleetArea, silent: Duration) -> Result<(), kernel::lifecycle::TransitionError> {
    let mut tx = Tx::system(&area.db, "gateways", kernel::Access::Write).await?;
    let lost = tx.hook::<dyn CarriedSessions>().lose_unheard(&mut tx, silent).await?;
    tx.commit().await?;
    if lost > 0 {
        tracing::warn!(lost, "access sessions lost their gateway");
    }
    Ok(())
}

async fn pause(stop: &CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => (),
        () = tokio::time::sleep(LOOK) => (),
    }
}
