//! The keys that sign tasks, grants and agent binaries: kept in the vault, shared by
//! every replica, replaced by policy. A new key signs only once every replica
//! and host had time to learn it; former ones stay known for as long as what
//! they signed may be acted on.

use std::{
    sync::{
        Arc, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use contract::Timestamp;
use kernel::{
    Access, Db, Tx,
    secrets::{Keyring, Secret},
    vault::{self, VaultError},
};
use protocol::{
    Endorsement, SignedTask, SigningKey, Task, TaskKey, TrustSet, TrustVersion,
    agent_binary::AgentBinary,
    stream::{Grant, SignedGrant},
};
use tokio_util::sync::CancellationToken;

use crate::ca::Authority;
use platform::policies::{Policies, settings};

/// The vault's name for them.
pub const KEY_NAME: &str = "task";
/// How many keys hosts are told to trust, the newest first.
const TRUSTED: usize = 4;
/// How many former keys vouch for those that are trusted now.
const FORMER: usize = 8;
// bound: how soon another replica's new key is noticed
const REFRESH: Duration = Duration::from_secs(30);
// bound: ten times what replicas and hosts need to learn a key
const LEARNED_AFTER: Duration = Duration::from_secs(300);

#[derive(Clone)]
pub struct TaskSigner {
    db: Db,
    ring: Arc<RwLock<Arc<Ring>>>,
    /// Counts the changes of the keys.
    version: Arc<AtomicU64>,
}

#[derive(Debug, thiserror::Error)]
pub enum SignerError {
    #[error("the task keys could not be read")]
    Vault(#[from] VaultError),
    #[error("the task-signing key in the vault is malformed")]
    BadKey(#[from] protocol::BadKey),
    #[error("a task could not be encoded")]
    Encode(#[from] protocol::canonical::EncodeError),
}

/// What the vault held when it was read.
struct Ring {
    /// With when they were made, newest first; never empty.
    trusted: Vec<(Timestamp, SigningKey)>,
    /// Those that are trusted no longer, with which hosts are told so.
    former: Vec<SigningKey>,
    /// How often the keys changed before.
    changes: u64,
}

/// What a host is told to trust, and the word of former keys for it.
pub struct TrustAnnouncement {
    pub task_keys: Vec<TaskKey>,
    pub roots: String,
    pub version: TrustVersion,
    pub endorsements: Vec<Endorsement>,
}

impl Ring {
    /// The newest key that everybody knows by now.
    fn signing(&self, now: Timestamp) -> &SigningKey {
        let learned = self.trusted.iter().find(|(made_at, _)| *made_at + LEARNED_AFTER <= now);
        let (_, key) = learned.or(self.trusted.last()).expect("reading the keys creates one if none exists");
        key
    }

    fn public(&self) -> Vec<TaskKey> {
        self.trusted.iter().map(|(_, key)| key.public()).collect()
    }
}

impl TaskSigner {
    /// Reads the keys; the first replica ever to start makes the first one.
    pub async fn load(db: &Db, keyring: &Keyring) -> Result<Self, SignerError> {
        let ring = read(db, keyring, None).await?;
        Ok(Self { db: db.clone(), ring: Arc::new(RwLock::new(Arc::new(ring))), version: Arc::default() })
    }

    pub fn sign(&self, task: &Task) -> Result<SignedTask, SignerError> {
        Ok(SignedTask::sign(task, self.ring().signing(self.db.clock.estimate()))?)
    }

    /// Leave to open one stream; its context keeps it apart from tasks.
    pub fn sign_grant(&self, grant: &Grant) -> Result<SignedGrant, SignerError> {
        Ok(SignedGrant::sign(grant, self.ring().signing(self.db.clock.estimate()))?)
    }

    /// The signature of an agent binary, in base64.
    pub fn sign_agent(&self, binary: AgentBinary<'_>) -> String {
        binary.sign(self.ring().signing(self.db.clock.estimate()))
    }

    /// What hosts are told to trust.
    pub fn keys(&self) -> Vec<TaskKey> {
        self.ring().public()
    }

    /// The same with the roots, signed by every key that a host may know.
    pub fn told(&self, authority: &Authority) -> TrustAnnouncement {
        let (ring, roots) = (self.ring(), authority.roots_pem());
        let task_keys = ring.public();
        let version =
            TrustVersion { epoch: i64::from(self.db.epoch()), keys: ring.changes, roots: authority.changes() };
        let set = TrustSet { version, task_keys: &task_keys, roots };
        let known = ring.trusted.iter().map(|(_, key)| key).chain(&ring.former);
        let endorsements = known.map(|it| set.endorse(it)).collect();
        TrustAnnouncement { task_keys, roots: roots.to_owned(), version, endorsements }
    }

    /// Changes whenever [`TaskSigner::keys`] does.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn ring(&self) -> Arc<Ring> {
        self.ring.read().expect("no code panics while it holds this lock").clone()
    }

    /// Makes a key if the newest is older than `rotate_after`, and reads them all.
    pub async fn refresh(&self, keyring: &Keyring, rotate_after: Duration) -> Result<(), SignerError> {
        let fresh = read(&self.db, keyring, Some(rotate_after)).await?;
        if fresh.public() != self.keys() {
            let mut ring = self.ring.write().expect("no code panics while it holds this lock");
            *ring = Arc::new(fresh);
            // Before anybody can sign with it: hosts are told of keys by this number.
            self.version.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    /// Keeps the keys fresh until stopped.
    pub async fn run(self, keyring: Arc<Keyring>, policies: Policies, stop: CancellationToken) {
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(REFRESH) => (),
            }
            let rotate_after = settings::days(policies.number(settings::NODE_TASK_KEY_DAYS));
            if let Err(error) = self.refresh(&keyring, rotate_after).await {
                tracing::warn!(%error, "reading the task keys failed; the last known ones are still used");
            }
        }
    }
}

async fn read(db: &Db, keyring: &Keyring, rotate_after: Option<Duration>) -> Result<Ring, SignerError> {
    let mut tx = Tx::system(db, "task_keys", Access::Write).await.map_err(VaultError::from)?;
    vault::lock(&mut tx, KEY_NAME).await?;
    let mut held = vault::all(&mut tx, keyring, KEY_NAME).await?;
    let now = kernel::clock::now(&mut tx).await.map_err(VaultError::from)?;
    let is_old = |made_at: Timestamp| rotate_after.is_some_and(|it| made_at + it <= now);
    if held.first().is_none_or(|it| is_old(it.created_at)) {
        let seed = SigningKey::random_seed();
        let public = SigningKey::from_seed(&seed)?.public();
        let id = vault::put(&mut tx, keyring, KEY_NAME, &Secret::new(seed.to_vec()), Some(&public.id)).await?;
        vault::retire_others(&mut tx, KEY_NAME, id).await?;
        held = vault::all(&mut tx, keyring, KEY_NAME).await?;
    }
    let revoked = vault::revoked(&mut tx, keyring, KEY_NAME).await?;
    let changes = vault::changes(&mut tx, KEY_NAME).await?;
    tx.commit().await.map_err(VaultError::from)?;
    let key = |it: &vault::VaultKey| Ok((it.created_at, SigningKey::from_seed(it.secret.expose())?));
    let trusted = held.iter().take(TRUSTED).map(key).collect::<Result<_, SignerError>>()?;
    let former = held.iter().skip(TRUSTED).chain(&revoked).take(FORMER);
    let former = former.map(|it| Ok(SigningKey::from_seed(it.secret.expose())?));
    Ok(Ring { trusted, former: former.collect::<Result<_, SignerError>>()?, changes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_signs_once_everybody_had_time_to_learn_it() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let key = |byte: u8| SigningKey::from_seed(&[byte; 32]).unwrap();
        let (new, old) = (key(2).id().to_owned(), key(1).id().to_owned());
        let ring = Ring { trusted: vec![(at(1_000), key(2)), (at(0), key(1))], former: vec![], changes: 2 };
        assert_eq!(ring.signing(at(1_001)).id(), old);
        assert_eq!(ring.signing(at(1_000) + LEARNED_AFTER).id(), new);
        let first = Ring { trusted: vec![(at(1_000), key(1))], former: vec![], changes: 1 };
        assert_eq!(first.signing(at(1_000)).id(), old, "the first key signs at once");
    }
}
