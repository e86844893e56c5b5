//! Lists what a MAAS server has, wants machines up to the limit, and finds
//! those that MAAS holds for us without our knowing.

use std::{sync::Arc, time::Duration};

use contract::providers::ProviderState;
use kernel::{
    Tx,
    lifecycle::{Lifecycle, transition},
    secrets::{Keyring, SecretsError},
    work::{Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    lifecycle::{Event, ProviderLifecycle},
    store::{self, Supply},
};
use crate::machines::{self, Listed};
use platform::{
    policies::{Policies, settings},
    ports::metal::{MetalConnector, MetalError, MetalFilter},
};

pub struct ProviderReconciler {
    pub connector: Arc<dyn MetalConnector>,
    pub keyring: Arc<Keyring>,
    pub policies: Policies,
}

/// What asking the server came to.
pub enum ServerReply {
    Listed(Listed),
    Failed(String),
}

#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("the API key cannot be decrypted")]
    Sealed(#[from] SecretsError),
    #[error(transparent)]
    Metal(#[from] MetalError),
}

impl Reconciler for ProviderReconciler {
    const KIND: &'static str = ProviderLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::MACHINES;
    type Snapshot = Supply;
    type Observation = ServerReply;
    type Verdict = ServerReply;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Supply>, ReconcileError> {
        let found = store::supply(tx, id).await?;
        Ok(found.filter(|it| it.state != ProviderState::Removed))
    }

    async fn act(&self, seen: &Supply) -> Result<ServerReply, ReconcileError> {
        Ok(match self.ask(seen).await {
            Ok(listed) => ServerReply::Listed(listed),
            Err(error) => ServerReply::Failed(in_full(&error)),
        })
    }

    fn decide(&self, _: &Supply, heard: ServerReply) -> ServerReply {
        heard
    }

    async fn apply(&self, tx: &mut Tx, seen: Supply, heard: ServerReply) -> Result<Next, ReconcileError> {
        let id = seen.provider.id;
        let listed = match heard {
            ServerReply::Failed(why) => {
                if seen.provider.last_error.as_deref() != Some(why.as_str()) {
                    tracing::warn!(provider = %id, why, "a MAAS server cannot be used; see `gpuaas providers show`");
                }
                store::heard(tx, id, Some(&why)).await?;
                return Ok(Next::After(self.rest()));
            }
            ServerReply::Listed(listed) => listed,
        };
        store::heard(tx, id, None).await?;
        machines::take_in(tx, &seen, &listed).await?;
        match seen.state {
            ProviderState::Active => machines::want(tx, &seen, &listed).await?,
            ProviderState::Removing if machines::retire_all(tx, id).await? => {
                store::forget_key(tx, id).await?;
                transition::<ProviderLifecycle>(tx, seen.versioned(), Event::Removed, "").await?;
                return Ok(Next::Done);
            }
            ProviderState::Removing | ProviderState::Removed => (),
        }
        Ok(Next::After(self.rest()))
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::driven(tx, limit).await
    }
}

impl ProviderReconciler {
    async fn ask(&self, seen: &Supply) -> Result<Listed, AskError> {
        let metal = self.connector.connect(&seen.access(&self.keyring)?)?;
        let held = metal.list(&MetalFilter { holder: Some(seen.holder()), ..MetalFilter::default() }).await?;
        let fitting = MetalFilter {
            pool: seen.provider.maas_pool.as_ref().map(ToString::to_string),
            tags: seen.provider.tags.iter().map(ToString::to_string).collect(),
            ..MetalFilter::default()
        };
        Ok(Listed { fitting: metal.list(&fitting).await?, held })
    }

    fn rest(&self) -> Duration {
        settings::seconds(self.policies.number(settings::MACHINE_LOOK_SECONDS))
    }
}

fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
