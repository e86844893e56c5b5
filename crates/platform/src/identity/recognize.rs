//! From a bearer token to a caller. What was found is remembered for less than
//! a second and forgotten on every event that could change it, so revocation
//! takes effect within a second on every replica.

use std::{
    sync::{Arc, RwLock},
    time::Duration,
};

use contract::{
    Code, Permission, Role, Timestamp, Word,
    id::{OrganizationId, ProjectId, UserId},
    organizations::OrganizationState,
    permission::PlatformRole,
};
use kernel::{Db, secrets};
use moka::future::Cache;

use super::{
    Caller, Membership, Principal, SecondFactorStanding,
    signing::{Signing, SigningError},
    store::{self, Credential},
};
use crate::{
    forget::Forget,
    http::{Failure, ProblemBuilder},
    policies::{Policies, settings},
};

#[derive(Clone)]
pub struct Recognizer {
    db: Db,
    signing: Signing,
    policies: Policies,
    callers: Cache<[u8; 32], Arc<CachedCaller>>,
    /// Whoever was looked up before is looked up again.
    forgotten: Arc<RwLock<tokio::time::Instant>>,
    /// Which organization a project belongs to never changes.
    projects: Cache<ProjectId, OrganizationId>,
    pub last_used: LastUsed,
}

struct CachedCaller {
    caller: Arc<Caller>,
    at: tokio::time::Instant,
}

pub use super::last_used::LastUsed;

/// Personal and service account keys start with it.
pub const KEY_PREFIX: &str = "gpk";

const CALLERS: u64 = 50_000;
const PROJECTS: u64 = 100_000;
// bound: the longest that policy can ask for; entries die earlier by policy
const LONGEST_MEMORY: Duration = Duration::from_secs(1);

impl Recognizer {
    pub fn new(db: Db, signing: Signing, policies: Policies) -> Self {
        Self {
            db,
            signing,
            policies,
            callers: Cache::builder().max_capacity(CALLERS).time_to_live(LONGEST_MEMORY).build(),
            forgotten: Arc::new(RwLock::new(tokio::time::Instant::now())),
            projects: Cache::builder().max_capacity(PROJECTS).build(),
            last_used: LastUsed::default(),
        }
    }

    /// The caller that the token stands for. `project` is looked up on the way.
    pub async fn caller(&self, token: &str, project: Option<ProjectId>) -> Result<Arc<Caller>, Failure> {
        let fingerprint = *secrets::hash_token(token).as_bytes();
        let memory = settings::milliseconds(self.policies.number(settings::CALLER_CACHE_MS));
        if let Some(known) = self.callers.get(&fingerprint).await
            && known.at.elapsed() <= memory
            && known.at > *self.forgotten.read().expect("no code panics while it holds this lock")
        {
            return self.still_valid(known.caller.clone());
        }
        let at = tokio::time::Instant::now();
        let project = match project {
            Some(project) if !self.projects.contains_key(&project) => Some(project),
            _ => None,
        };
        let caller = Arc::new(self.look_up(token, &fingerprint, project).await?);
        self.callers.insert(fingerprint, Arc::new(CachedCaller { caller: caller.clone(), at })).await;
        self.still_valid(caller)
    }

    /// The caller as the database knows it at this moment.
    pub async fn caller_now(&self, token: &str) -> Result<Arc<Caller>, Failure> {
        self.callers.invalidate(secrets::hash_token(token).as_bytes()).await;
        self.caller(token, None).await
    }

    /// The organization that owns a project.
    pub async fn organization_of(&self, project: ProjectId) -> Result<Option<OrganizationId>, Failure> {
        if let Some(organization) = self.projects.get(&project).await {
            return Ok(Some(organization));
        }
        let found = store::project(&self.db, project).await?;
        if let Some(organization) = found {
            self.projects.insert(project, organization).await;
        }
        Ok(found)
    }

    /// The organization, if there is one with that id.
    pub async fn existing(&self, organization: OrganizationId) -> Result<Option<OrganizationId>, Failure> {
        Ok(store::organization(&self.db, organization).await?.then_some(organization))
    }

    fn still_valid(&self, caller: Arc<Caller>) -> Result<Arc<Caller>, Failure> {
        if caller.expires_at <= self.signing.now() {
            return Err(refused("the credential has expired"));
        }
        self.last_used.note(&caller.who);
        Ok(caller)
    }

    async fn look_up(
        &self,
        token: &str,
        fingerprint: &[u8; 32],
        project: Option<ProjectId>,
    ) -> Result<Caller, Failure> {
        let (credential, who_is, expires_at) = if token.starts_with(KEY_PREFIX) {
            let credential = store::key(&self.db, fingerprint, project).await?;
            (credential, None, None)
        } else {
            let claims = self.signing.verify(token).await.map_err(|error| match error {
                SigningError::Vault(error) => Failure::from(error),
                SigningError::Foreign(_) | SigningError::Expired | SigningError::UnknownKey | SigningError::NoKey => {
                    refused("the token is malformed, expired or from another issuer")
                }
            })?;
            let credential = store::session(&self.db, claims.session, claims.user, project).await?;
            (credential, Some(claims.session), Some(claims.expires_at))
        };
        let credential = credential.ok_or_else(|| refused("the credential is unknown, expired or revoked"))?;
        if let (Some(project), Some(organization)) = (project, credential.project_organization) {
            self.projects.insert(project, OrganizationId::from(organization)).await;
        }
        let stored = Timestamp::from_microsecond(credential.expires_us).unwrap_or(Timestamp::MIN);
        let expires_at = expires_at.map_or(stored, |it: Timestamp| it.min(stored));
        build(&credential, who_is, expires_at).ok_or_else(|| refused("the owner of the credential no longer exists"))
    }
}

impl Forget for Recognizer {
    /// Forgets every caller, because something changed what they may do.
    fn forget(&self) {
        // Also those that are being looked up: what was read before may be kept after.
        *self.forgotten.write().expect("no code panics while it holds this lock") = tokio::time::Instant::now();
        self.callers.invalidate_all();
    }
}

fn build(credential: &Credential, session: Option<contract::id::SessionId>, expires_at: Timestamp) -> Option<Caller> {
    let memberships: Vec<Membership> = credential
        .memberships
        .iter()
        .filter_map(|it| {
            Some(Membership {
                organization: it.organization_id.into(),
                role: Role::parse(&it.role)?,
                state: OrganizationState::parse(&it.state)?,
                mfa_required: it.mfa_required.as_deref().map(|word| settings::MFA_REQUIRED.read(Some(word))),
            })
        })
        .collect();
    let who = match (credential.user_id, credential.service_account(), credential.key()) {
        (Some(user), None, key) => Principal::Person { user: UserId::from(user), session, key },
        (None, Some(id), Some(key)) => {
            Principal::ServiceAccount { id, organization: memberships.first()?.organization, key }
        }
        _ => return None,
    };
    let scopes = credential.scopes.as_ref().map(|it| it.iter().filter_map(|word| Permission::parse(word)).collect());
    let platform_role = credential.platform_role.as_deref().and_then(PlatformRole::parse);
    let second_factor = SecondFactorStanding {
        is_enrolled: credential.has_factor,
        at: credential.mfa_us.and_then(|it| Timestamp::from_microsecond(it).ok()),
    };
    Some(Caller { who, scopes, platform_role, memberships, second_factor, expires_at })
}

fn refused(detail: &str) -> Failure {
    Failure::Problem(ProblemBuilder::new(Code::Unauthenticated, detail))
}
