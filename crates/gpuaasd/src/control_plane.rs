//! The program: the platform, and every area on it.

use std::{ops::Deref, sync::Arc, time::Duration};

use access::{
    AccessArea,
    recordings::{self, Downloads},
    ssh_certificates,
};
use compute::{ComputeArea, placement::Placement};
use fleet::{
    FleetArea,
    agents::Agents,
    ca::{Ca, CaError},
    gateways::{Doors, Live},
    node_api::{CertificateChecks, Samples},
    tasks::{SignerError, TaskSigner},
};
use kernel::{Db, bus::BoxFuture};
use money::MoneyArea;
use people::PeopleArea;
use platform::{
    Platform, Probe,
    caches::Caches,
    config::{Config, ConfigError},
    events::Feed,
    http::{Readiness, Refusals, Turns, limiter::Limiter},
    identity::{Oidc, Recognizer, passwords::Passwords, signing::Signing},
    policies::{Policies, settings},
    ports::limits::SharedLimits,
    registry::Bound,
};
use tokio_util::sync::CancellationToken;

use crate::{
    adapters::{
        configured,
        maas::MaasConnector,
        nats,
        redis_limits::{RedisError, RedisLimits},
    },
    areas, connect,
};

pub struct ControlPlane {
    pub platform: Arc<Platform>,
    pub people: Arc<PeopleArea>,
    pub fleet: Arc<FleetArea>,
    pub money: Arc<MoneyArea>,
    pub compute: Arc<ComputeArea>,
    pub access: Arc<AccessArea>,
    pub nats: Option<nats::Connection>,
    /// What the areas registered.
    pub areas: Vec<Bound>,
}

impl Deref for ControlPlane {
    type Target = Platform;

    fn deref(&self) -> &Platform {
        &self.platform
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Schema(#[from] crate::migrations::SchemaError),
    #[error("the database cannot be used: check `database.url`")]
    Database(#[from] sqlx::Error),
    #[error("the vault cannot be decrypted")]
    Vault(#[from] kernel::vault::VaultError),
    #[error("the platform's SSH keys cannot be used")]
    Ssh(#[from] ssh_certificates::AuthorityError),
    #[error("the CA cannot be used")]
    Ca(#[from] CaError),
    #[error("the keys that sign tasks cannot be used")]
    Signer(#[from] SignerError),
    #[error("Redis cannot be used: check `redis.url`")]
    Redis(#[from] RedisError),
    #[error("NATS cannot be used: check `nats.url`")]
    Nats(#[from] nats::NatsError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the secrets key cannot be used: check `secrets.keys` or `secrets.key_file`")]
    Secrets(#[from] kernel::secrets::SecretsError),
}

impl ControlPlane {
    /// Connects to everything that the configuration names.
    pub async fn start(config: Config, stopping: CancellationToken) -> Result<Arc<ControlPlane>, StartError> {
        platform::telemetry::start_counting();
        let keyring = Arc::new(config.keyring()?);
        crate::migrations::check(&config.database.url).await?;
        let db = open_database(&config).await?;
        let policies = Policies::default();
        policies.refresh(&db).await?;
        let signing = Signing::new(db.clone(), &config.identity.issuer, keyring.clone());
        signing.refresh(settings::days(policies.number(settings::SIGNING_KEY_DAYS))).await?;
        let outside = Outside::open(&config, &db, &policies).await?;
        let recordings = match configured::recordings(&config.recordings, &db.clock)? {
            Some(store) => Some(recordings::sealed(&db, &keyring, store).await?),
            None => None,
        };
        let (sending, payments) = (configured::sending(&config)?, configured::payments(&config)?);
        let intermediate_for = settings::days(policies.number(settings::NODE_INTERMEDIATE_DAYS));
        let ca = Ca::load(db.clone(), keyring.clone(), intermediate_for).await?;
        ssh_certificates::prepare(&db, &keyring).await?;
        let platform = Arc::new(Platform {
            recognizer: Recognizer::new(db.clone(), signing.clone(), policies.clone()),
            limiter: Limiter::new(outside.redis.clone().map(|it| Arc::new(it) as Arc<dyn SharedLimits>)),
            turns: Turns::default(),
            refusals: Refusals::default(),
            readiness: Readiness::default(),
            feed: Feed::default(),
            caches: Caches::default(),
            meters: areas::declared().meters,
            probes: outside.probes(&db),
            config,
            db,
            keyring,
            policies,
            signing,
            stopping,
        });
        let fleet = Arc::new(FleetArea {
            signer: TaskSigner::load(&platform.db, &platform.keyring).await?,
            ca,
            agents: Arc::new(Agents::new(platform.config.node.agents_dir.clone())),
            certificate_checks: CertificateChecks::default(),
            gateways: Live::default(),
            doors: Doors::default(),
            samples: Samples::default(),
            metal: Arc::new(MaasConnector::new(platform.db.clock.clone())),
            platform: platform.clone(),
        });
        let people =
            PeopleArea { platform: platform.clone(), passwords: Passwords::default(), sending, oidc: outside.oidc };
        let compute = ComputeArea { platform: platform.clone(), fleet: fleet.clone(), placement: Placement::default() };
        let downloads = Downloads::default();
        let mut control_plane = ControlPlane {
            people: Arc::new(people),
            money: Arc::new(MoneyArea { platform: platform.clone(), payments }),
            compute: Arc::new(compute),
            access: Arc::new(AccessArea { platform: platform.clone(), fleet: fleet.clone(), recordings, downloads }),
            fleet,
            platform,
            nats: outside.nats,
            areas: Vec::new(),
        };
        control_plane.areas = areas::bound(&control_plane);
        Ok(Arc::new(control_plane))
    }
}

/// Connects, and begins a new epoch where the database was restored.
async fn open_database(config: &Config) -> Result<Db, StartError> {
    let mut db = connect(config).await?;
    if kernel::installation::settle_epoch(&db).await? != db.epoch() {
        tracing::warn!("the database was restored into another cluster; a new epoch starts");
        db.close();
        db = connect(config).await?;
    }
    areas::teach_lifecycles(&db).await?;
    Ok(db)
}

/// What the process depends on besides its database.
struct Outside {
    redis: Option<RedisLimits>,
    nats: Option<nats::Connection>,
    oidc: Option<Oidc>,
}

impl Outside {
    async fn open(config: &Config, db: &Db, policies: &Policies) -> Result<Self, StartError> {
        let redis = match &config.redis.url {
            None => None,
            Some(url) => Some(RedisLimits::open(url)?),
        };
        let nats = match &config.nats.url {
            None => None,
            Some(url) => Some(nats::Connection::open(url).await?),
        };
        let oidc = config.oidc.clone().map(|it| Oidc::new(it, db.clock.clone(), policies.clone()));
        Ok(Self { redis, nats, oidc })
    }

    fn probes(&self, db: &Db) -> Vec<Arc<dyn Probe>> {
        let mut probes: Vec<Arc<dyn Probe>> = vec![Arc::new(DatabaseProbe(db.clone()))];
        probes.extend(self.redis.clone().map(|it| Arc::new(RedisProbe(it)) as Arc<dyn Probe>));
        probes.extend(self.nats.clone().map(|it| Arc::new(NatsProbe(it)) as Arc<dyn Probe>));
        probes.extend(self.oidc.clone().map(|it| Arc::new(OidcProbe(it)) as Arc<dyn Probe>));
        probes
    }
}

struct DatabaseProbe(Db);

impl Probe for DatabaseProbe {
    fn name(&self) -> &'static str {
        "database"
    }

    fn is_vital(&self) -> bool {
        true
    }

    fn check(&self, patience: Duration) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            match tokio::time::timeout(patience, self.0.ping()).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err("does not respond".to_owned()),
                Err(_) => Err("does not respond in time".to_owned()),
            }
        })
    }
}

struct RedisProbe(RedisLimits);

impl Probe for RedisProbe {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn is_vital(&self) -> bool {
        false
    }

    fn check(&self, _: Duration) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            self.0.ping().await.map_err(|_| "does not respond; limits are counted per process".to_owned())
        })
    }
}

struct NatsProbe(nats::Connection);

impl Probe for NatsProbe {
    fn name(&self) -> &'static str {
        "nats"
    }

    fn is_vital(&self) -> bool {
        false
    }

    fn check(&self, patience: Duration) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.0.check(patience))
    }
}

struct OidcProbe(Oidc);

impl Probe for OidcProbe {
    fn name(&self) -> &'static str {
        "oidc"
    }

    fn is_vital(&self) -> bool {
        false
    }

    fn check(&self, _: Duration) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { self.0.standing().unwrap_or(Ok(())).map_err(str::to_owned) })
    }
}
