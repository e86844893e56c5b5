//! What every handler can reach.

use std::{sync::Arc, time::Duration};

use kernel::{Db, secrets::Keyring};
use tokio_util::sync::CancellationToken;

use crate::{
    adapters::{maas::MaasConnector, nats, redis_limits::RedisLimits},
    agents::Agents,
    ca::{Ca, CaError},
    config::Config,
    events::Feed,
    gateways::{Doors, Live},
    http::{Readiness, Refusals, Turns, limiter::Limiter},
    identity::{Oidc, Recognizer, passwords::Passwords, signing::Signing},
    mails::Sending,
    node_api::{Samples, Standings},
    placement::Placement,
    policies::{Policies, keys},
    ports::{metal::MetalConnector, payments::PaymentProvider, recording_store::RecordingStore},
    recordings,
    tasks::{SignerError, TaskSigner},
};

pub struct App {
    pub config: Config,
    pub db: Db,
    pub keyring: Arc<Keyring>,
    pub policies: Policies,
    pub signing: Signing,
    pub recognizer: Recognizer,
    pub passwords: Passwords,
    pub limiter: Limiter,
    pub turns: Turns,
    pub refusals: Refusals,
    pub readiness: Readiness,
    pub feed: Feed,
    pub signer: TaskSigner,
    pub ca: Ca,
    /// The agents that hosts can be given.
    pub agents: Arc<Agents>,
    /// Whether the certificates of nodes that are connected here still work.
    pub standings: Standings,
    /// The gateways that hosts are told of.
    pub gateways: Live,
    /// Where browsers meet gateways.
    pub doors: Doors,
    /// Where recordings are kept, when that is configured.
    pub recordings: Option<Arc<dyn RecordingStore>>,
    /// Downloads of recordings under way here.
    pub downloads: recordings::Downloads,
    /// What nodes that are connected here measured.
    pub samples: Samples,
    /// This process's picture of the fleet.
    pub placement: Placement,
    /// Opens the suppliers of bare machines.
    pub metal: Arc<dyn MetalConnector>,
    pub redis: Option<RedisLimits>,
    pub nats: Option<nats::Connection>,
    /// Who carries mail away, when somebody is configured.
    pub sending: Option<Sending>,
    /// Who takes people's money, when somebody is configured.
    pub payments: Option<Arc<dyn PaymentProvider>>,
    /// The external issuer, when one is configured.
    pub oidc: Option<Oidc>,
    /// Canceled when the process is asked to stop.
    pub stopping: CancellationToken,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Schema(#[from] crate::migrations::SchemaError),
    #[error("the database cannot be used: check `database.url`")]
    Database(#[from] sqlx::Error),
    #[error("the vault cannot be opened")]
    Vault(#[from] kernel::vault::VaultError),
    #[error("the platform's SSH keys cannot be used")]
    Ssh(#[from] crate::ssh_certificates::AuthorityError),
    #[error("the CA cannot be used")]
    Ca(#[from] CaError),
    #[error("the keys that sign tasks cannot be used")]
    Signer(#[from] SignerError),
    #[error("redis cannot be used: check `redis.url`")]
    Redis(#[from] crate::adapters::redis_limits::RedisError),
    #[error("NATS cannot be used: check `nats.url`")]
    Nats(#[from] nats::NatsError),
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    #[error("the secrets key cannot be used: check `secrets.keys` or `secrets.key_file`")]
    Secrets(#[from] kernel::secrets::SecretsError),
}

impl App {
    /// Connects to everything that the configuration names.
    pub async fn start(config: Config, stopping: CancellationToken) -> Result<Arc<App>, StartError> {
        crate::telemetry::start_counting();
        let keyring = Arc::new(config.keyring()?);
        crate::migrations::check(&config.database.url).await?;
        let mut db = Db::connect(&config.db_settings()).await?;
        if kernel::installation::settle_epoch(&db).await? != db.epoch() {
            tracing::warn!("the database was restored into another cluster; a new epoch starts");
            db.close();
            db = Db::connect(&config.db_settings()).await?;
        }
        crate::roles::teach_machines(&db).await?;
        let policies = Policies::default();
        policies.refresh(&db).await?;
        let signing = Signing::new(db.clone(), &config.identity.issuer, keyring.clone());
        signing.refresh(keys::days(policies.number(keys::SIGNING_KEY_DAYS))).await?;
        let redis = match &config.redis.url {
            None => None,
            Some(url) => Some(RedisLimits::open(url)?),
        };
        let nats = match &config.nats.url {
            None => None,
            Some(url) => Some(nats::Connection::open(url).await?),
        };
        let oidc = config.oidc.clone().map(|it| Oidc::new(it, db.clock.clone(), policies.clone()));
        let sending = config.sending()?;
        let payments = config.payments()?;
        let recordings = match config.recordings.store(&db.clock)? {
            Some(store) => Some(recordings::sealed(&db, &keyring, store).await?),
            None => None,
        };
        let intermediate_for = keys::days(policies.number(keys::NODE_INTERMEDIATE_DAYS));
        let ca = Ca::load(db.clone(), keyring.clone(), intermediate_for).await?;
        crate::ssh_certificates::prepare(&db, &keyring).await?;
        let app = App {
            recognizer: Recognizer::new(db.clone(), signing.clone(), policies.clone()),
            passwords: Passwords::default(),
            limiter: Limiter::new(redis.clone()),
            turns: Turns::default(),
            refusals: Refusals::default(),
            readiness: Readiness::default(),
            feed: Feed::default(),
            signer: TaskSigner::load(&db, &keyring).await?,
            ca,
            agents: Arc::new(Agents::new(config.node.agents_dir.clone())),
            standings: Standings::default(),
            downloads: recordings::Downloads::default(),
            gateways: Live::default(),
            doors: Doors::default(),
            recordings,
            samples: Samples::default(),
            placement: Placement::default(),
            metal: Arc::new(MaasConnector::new(db.clock.clone())),
            config,
            db,
            keyring,
            policies,
            signing,
            redis,
            nats,
            sending,
            payments,
            oidc,
            stopping,
        };
        Ok(Arc::new(app))
    }

    /// Each dependency and whether it answers, asked all at once.
    pub async fn dependencies(&self, patience: Duration) -> Vec<Dependency> {
        let database = async {
            let answer = match tokio::time::timeout(patience, self.db.ping()).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err("does not answer".to_owned()),
                Err(_) => Err("does not answer in time".to_owned()),
            };
            Some(Dependency { name: "database", is_vital: true, answer })
        };
        let redis = async {
            let answer = self.redis.as_ref()?.ping().await;
            let answer = answer.map_err(|_| "does not answer; limits are counted per process".to_owned());
            Some(Dependency { name: "redis", is_vital: false, answer })
        };
        let nats = async {
            let answer = self.nats.as_ref()?.check(patience).await;
            Some(Dependency { name: "nats", is_vital: false, answer })
        };
        let oidc = || {
            let answer = self.oidc.as_ref()?.standing()?;
            Some(Dependency { name: "oidc", is_vital: false, answer: answer.map_err(str::to_owned) })
        };
        let (database, redis, nats) = tokio::join!(database, redis, nats);
        [database, redis, nats, oidc()].into_iter().flatten().collect()
    }
}

/// Something outside that this process uses.
pub struct Dependency {
    pub name: &'static str,
    /// Without it requests fail. Without the others news is late or limits
    /// are counted apart, and taking the process out of service would be worse.
    pub is_vital: bool,
    pub answer: Result<(), String>,
}
