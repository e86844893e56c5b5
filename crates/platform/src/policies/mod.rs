//! Policies: typed settings resolved project → organization → platform →
//! default. Platform values are remembered for at most a minute and forgotten
//! on every change; values that guard quotas are read in the transaction.

mod ports;
mod reactions;
mod read;
mod recording;
mod resolve;
mod routes;
pub mod settings;
mod store;
mod units;

pub use reactions::Reactions;
pub use recording::RecordingMode;
pub use resolve::{Levels, Resolved, resolve};
pub use routes::change;

use std::{
    collections::HashMap,
    sync::{Arc, RwLock},
    time::Duration,
};

use contract::{
    Label,
    id::OrganizationId,
    policies::{PolicyLevel, PolicySet},
};
use kernel::{Db, Tx, lifecycle::ParentEnd, money::Currency};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use ports::Ports;
use settings::{ChoiceKey, CurrencyKey, FlagKey, KeyInfo, NumberKey, PortsKey, TagKey};

use crate::{
    Platform,
    events::emit,
    forget::Forget,
    registry::{Registry, Retention},
};

pub fn register(registry: &mut Registry<Platform>) {
    registry.cache::<Policies>(&["policy"], |platform| &platform.policies);
    registry.table("policies", ParentEnd::Stays("settings stay for the record"));
    registry.retention(&["policies"], Retention::Removed("when they are unset"));
}

/// The platform's own values as last read.
#[derive(Clone, Default)]
pub struct Policies {
    platform: Arc<RwLock<Arc<HashMap<String, String>>>>,
    /// Readings take turns, so that an older one never replaces a newer one.
    reading: Arc<tokio::sync::Mutex<()>>,
    changed: Arc<Notify>,
}

// bound: the longest that a value may be remembered, by design
const REMEMBER: Duration = Duration::from_secs(60);

impl Policies {
    pub fn number(&self, key: NumberKey) -> u64 {
        key.read(self.snapshot().get(key.0.name).map(String::as_str))
    }

    pub fn flag(&self, key: FlagKey) -> bool {
        key.read(self.snapshot().get(key.0.name).map(String::as_str))
    }

    pub fn choice(&self, key: ChoiceKey) -> &'static str {
        key.read(self.snapshot().get(key.0.name).map(String::as_str))
    }

    pub fn currency(&self, key: CurrencyKey) -> Currency {
        key.read(self.snapshot().get(key.0.name).map(String::as_str))
    }

    fn snapshot(&self) -> Arc<HashMap<String, String>> {
        self.platform.read().expect("no code panics while it holds this lock").clone()
    }

    pub async fn refresh(&self, db: &Db) -> sqlx::Result<()> {
        let _turn = self.reading.lock().await;
        let values = store::platform(db).await?;
        *self.platform.write().expect("no code panics while it holds this lock") = Arc::new(values);
        Ok(())
    }

    /// Keeps the snapshot fresh until stopped.
    pub async fn run(self, db: Db, stop: CancellationToken) {
        while !stop.is_cancelled() {
            if let Err(error) = self.refresh(&db).await {
                tracing::warn!(%error, "reading policies failed; the last known values are still used");
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.changed.notified() => (),
                () = tokio::time::sleep(REMEMBER) => (),
            }
        }
    }
}

impl Forget for Policies {
    /// Reads the platform's values again soon, because one changed.
    fn forget(&self) {
        self.changed.notify_one();
    }
}

/// As [`number_in`], for a flag of the whole platform.
pub async fn flag_in(tx: &mut Tx, key: FlagKey) -> sqlx::Result<bool> {
    let levels = store::levels(tx, key.0.name, None, None).await?;
    Ok(key.read(Some(&resolve(key.0, &levels).value)))
}

/// As [`number_in`], for the key of a tag that an organization chooses.
pub async fn tag_in(tx: &mut Tx, key: TagKey, organization: OrganizationId) -> sqlx::Result<Option<Label>> {
    let levels = store::levels(tx, key.0.name, Some(organization.uuid()), None).await?;
    Ok(key.read(Some(&resolve(key.0, &levels).value)))
}

/// A value as it applies now, read in the transaction: for quotas and guards.
pub async fn number_in(
    tx: &mut Tx,
    key: NumberKey,
    organization: Option<Uuid>,
    project: Option<Uuid>,
) -> sqlx::Result<u64> {
    let levels = store::levels(tx, key.0.name, organization, project).await?;
    Ok(key.read(Some(&resolve(key.0, &levels).value)))
}

/// Whether somebody chose a value for the platform.
pub async fn is_chosen(tx: &mut Tx, key: FlagKey) -> sqlx::Result<bool> {
    Ok(store::levels(tx, key.0.name, None, None).await?.platform.is_some())
}

/// Chooses a value for the platform unless somebody did; whether nobody had.
pub async fn choose_once(tx: &mut Tx, key: FlagKey, value: bool) -> sqlx::Result<bool> {
    let value = value.to_string();
    if !store::set_if_unset(tx, key.0.name, &value).await? {
        return Ok(false);
    }
    let level = PolicyLevel::Platform.into();
    let event = PolicySet { key: key.0.name.into(), level, project_id: None, value };
    emit(tx, None, key.0.name, &event);
    tx.hook::<dyn Reactions>().platform_policy_changed(tx, key.0.name).await?;
    Ok(true)
}

/// Where a policy applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyScope {
    pub organization: Uuid,
    pub project: Uuid,
}

/// Reads several policies of one project, as they apply now.
pub struct ProjectPolicies<'a> {
    pub tx: &'a mut Tx,
    pub place: PolicyScope,
}

impl ProjectPolicies<'_> {
    pub async fn number(&mut self, key: NumberKey) -> sqlx::Result<u64> {
        Ok(key.read(Some(&self.value(key.0).await?)))
    }

    pub async fn flag(&mut self, key: FlagKey) -> sqlx::Result<bool> {
        Ok(key.read(Some(&self.value(key.0).await?)))
    }

    pub async fn choice(&mut self, key: ChoiceKey) -> sqlx::Result<&'static str> {
        Ok(key.read(Some(&self.value(key.0).await?)))
    }

    pub async fn ports(&mut self, key: PortsKey) -> sqlx::Result<Ports> {
        Ok(key.read(Some(&self.value(key.0).await?)))
    }

    async fn value(&mut self, key: &KeyInfo) -> sqlx::Result<String> {
        let PolicyScope { organization, project } = self.place;
        let levels = store::levels(self.tx, key.name, Some(organization), Some(project)).await?;
        Ok(resolve(key, &levels).value)
    }
}
