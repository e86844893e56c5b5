//! Keys: credentials of programs. Personal ones are routes of this folder;
//! service accounts make theirs through the functions here.

mod routes;
mod store;

use contract::{
    Code, Name, Nothing, Page, Permission, ShownSecret, Timestamp,
    id::{KeyId, OrganizationId, ServiceAccountId, UserId},
    keys::{Key, KeyCreated, KeyFilter, KeyRevoked, KeySpec, NewKey},
};
use kernel::{
    Tx, clock,
    secrets::{hash_token, random_token},
};

use crate::{organizations, users};
use platform::{
    events::emit,
    http::{Call, Failure},
    identity::recognize::KEY_PREFIX,
    policies::{self, settings as policy},
};

use crate::PeopleArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.table("keys", ParentEnd::Stays("members of a closed organization can only read, stop and release"));
    registry.retention(&["keys"], Retention::Forever("audit entries name it after it was revoked"));
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Person(UserId),
    ServiceAccount { organization: OrganizationId, id: ServiceAccountId },
}

impl Owner {
    fn organization(self) -> Option<OrganizationId> {
        match self {
            Owner::Person(_) => None,
            Owner::ServiceAccount { organization, .. } => Some(organization),
        }
    }
}

/// How much of a secret is shown to recognize it by.
const SHOWN: usize = 12;

pub async fn create(call: &mut Call, owner: Owner, spec: KeySpec) -> Result<NewKey, Failure> {
    let place = owner.organization().map(|it| it.uuid());
    let scopes = scopes(owner, &spec)?;
    // A key must not reach further than the key that makes it.
    if let Some(own) = &call.caller.scopes
        && let Some(beyond) = scopes.iter().find(|it| !own.contains(it))
    {
        return Err(Failure::new(Code::ScopeExceeded, format!("your own key does not have `{beyond}`")));
    }
    match owner {
        Owner::Person(_) => {
            users::lock_own(call).await?;
        }
        Owner::ServiceAccount { organization, .. } => {
            organizations::lock(&mut call.tx, organization).await?;
        }
    }
    let most = policies::number_in(&mut call.tx, policy::KEYS_MAX, place, None).await?;
    if store::count(&mut call.tx, owner).await? as u64 >= most {
        return Err(Failure::new(Code::LimitReached, format!("the limit of {most} keys is reached; revoke one first")));
    }
    let longest = policy::days(policies::number_in(&mut call.tx, policy::KEY_MAX_DAYS, place, None).await?);
    let now = clock::now(&mut call.tx).await?;
    let expires_at = spec.expires_at.unwrap_or(now + longest);
    if expires_at <= now || expires_at > now + longest {
        let days = longest.as_secs() / 86400;
        return Err(Failure::new(Code::InvalidValue, format!("`expires_at` must be within the next {days} days")));
    }
    let new = mint(&mut call.tx, owner, &spec.name, &scopes, expires_at).await?;
    // The gates saw to it that it was used lately, where the account has one.
    if call.caller.second_factor.is_enrolled && call.caller.session().is_some() {
        store::note_second_factor(&mut call.tx, new.key.id).await?;
    }
    call.about(new.key.id);
    Ok(new)
}

/// Makes a key whose limits were checked.
pub async fn mint(
    tx: &mut Tx,
    owner: Owner,
    name: &Name,
    scopes: &[Permission],
    expires_at: Timestamp,
) -> sqlx::Result<NewKey> {
    let secret = random_token(KEY_PREFIX);
    let text = secret.expose_text().expect("tokens are text").to_owned();
    let new = store::New { owner, name, scopes, hash: hash_token(&text), prefix: &text[..SHOWN], expires_at };
    let key = store::insert(tx, new).await?;
    emit(tx, owner.organization(), key.id, &KeyCreated { id: key.id, name: name.clone() });
    Ok(NewKey { key, secret: ShownSecret::new(text) })
}

fn scopes(owner: Owner, spec: &KeySpec) -> Result<Vec<Permission>, Failure> {
    let mut scopes = spec.scopes.clone();
    scopes.sort();
    scopes.dedup();
    if scopes.is_empty() {
        return Err(Failure::new(Code::InvalidValue, "a key needs at least one scope"));
    }
    if let Owner::ServiceAccount { .. } = owner
        && let Some(platform) = scopes.iter().find(|it| it.is_platform())
    {
        return Err(Failure::new(Code::InvalidValue, format!("a service account cannot have `{platform}`")));
    }
    Ok(scopes)
}

pub async fn list(call: &mut Call, owner: Owner, filter: &KeyFilter) -> Result<Page<Key>, Failure> {
    let rows = store::list(&mut call.tx, owner, filter).await?;
    Ok(Page::cut(rows, filter.limit, |it| it.id.uuid()))
}

pub async fn revoke(call: &mut Call, owner: Owner, id: KeyId) -> Result<Nothing, Failure> {
    match store::revoke(&mut call.tx, owner, id).await? {
        None => Err(Failure::not_found("key")),
        // Revoking again changes nothing and tells nobody.
        Some(false) => Ok(Nothing {}),
        Some(true) => {
            emit(&mut call.tx, owner.organization(), id, &KeyRevoked { id });
            Ok(Nothing {})
        }
    }
}

/// Revokes every key of an owner that goes.
pub async fn revoke_all(tx: &mut Tx, owner: Owner) -> sqlx::Result<()> {
    for id in store::revoke_all(tx, owner).await? {
        emit(tx, owner.organization(), id, &KeyRevoked { id });
    }
    Ok(())
}
