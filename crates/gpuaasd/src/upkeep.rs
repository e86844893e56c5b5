//! What an installation needs now and then and the API does not offer: the
//! first operator, accounts where no mail is sent, and a new key for sealed secrets.

use contract::{
    Email, PersonName, Reason, SecretText, id::UserId, permission::PlatformRole, sessions::SessionsRevoked,
};
use kernel::{Access, Db, Tx, audit, secrets::Keyring, vault};
use serde_json::json;

use crate::areas;
use people::{accounts, mfa, sessions, users};
use platform::{
    events::emit,
    identity::passwords::{PasswordError, Passwords},
    policies::{self, Policies, settings},
};

#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("a secret cannot be decrypted")]
    Vault(#[from] vault::VaultError),
    #[error(transparent)]
    Password(#[from] PasswordError),
    #[error("the password must have at least {least} characters (`identity.password_min_length`)")]
    ShortPassword { least: u64 },
    #[error("{0} already has an account; an operator can set its role with `gpuaas users set-role`")]
    Taken(Email),
    #[error("{0} already has an account; reset its password with `gpuaasd admin reset-password`")]
    Exists(Email),
    #[error("{0} has no account; create one with `gpuaasd admin create-account`")]
    Unknown(Email),
    #[error("cannot end the open sessions")]
    Transition(#[from] kernel::lifecycle::TransitionError),
}

pub async fn create_operator(
    db: &Db,
    email: &Email,
    name: &PersonName,
    password: &SecretText,
) -> Result<UserId, UpkeepError> {
    let hash = hashed(db, password).await?;
    let mut tx = Tx::system(db, "upkeep", Access::Write).await?;
    let id = users::insert(&mut tx, email, name, Some(&hash)).await?;
    let id = id.ok_or_else(|| UpkeepError::Taken(email.clone()))?;
    users::set_platform_role(&mut tx, id, Some(PlatformRole::Operator)).await?;
    record(&mut tx, "user.create_operator", Some(id.to_string()), json!({}));
    tx.commit().await?;
    Ok(id)
}

/// Removes every second factor of a person who lost theirs, and ends their
/// sessions; they are notified, and sign in with what is left. Returns how many
/// factors there were.
pub async fn reset_mfa(db: &Db, email: &Email, reason: &Reason) -> Result<u64, UpkeepError> {
    let mut tx = Tx::system(db, "upkeep", Access::Write).await?;
    let known = users::credentials(&mut tx, &email.folded()).await?;
    let id = known.ok_or_else(|| UpkeepError::Unknown(email.clone()))?.id;
    users::lock(&mut tx, id).await?;
    let gone = mfa::reset(&mut tx, id).await?;
    sessions::revoke_all(&mut tx, id, None).await?;
    emit(&mut tx, None, id, &SessionsRevoked { user_id: id, session_id: None });
    record(&mut tx, "mfa.reset", Some(id.to_string()), json!({ "factors": gone, "reason": reason.as_str() }));
    tx.commit().await?;
    Ok(gone)
}

/// An account whose address an operator vouches for: the way where no mail is sent.
pub async fn create_account(
    db: &Db,
    email: &Email,
    name: &PersonName,
    password: &SecretText,
) -> Result<UserId, UpkeepError> {
    let hash = hashed(db, password).await?;
    let mut tx = Tx::system(db, "upkeep", Access::Write).await?;
    let id = users::insert(&mut tx, email, name, Some(&hash)).await?;
    let id = id.ok_or_else(|| UpkeepError::Exists(email.clone()))?;
    record(&mut tx, "user.create_account", Some(id.to_string()), json!({}));
    tx.commit().await?;
    Ok(id)
}

/// Sets a password for somebody whom an operator knows, and ends their sessions.
pub async fn reset_password(db: &Db, email: &Email, password: &SecretText) -> Result<UserId, UpkeepError> {
    let hash = hashed(db, password).await?;
    let mut tx = Tx::system(db, "upkeep", Access::Write).await?;
    let known = users::credentials(&mut tx, &email.folded()).await?;
    let known = known.ok_or_else(|| UpkeepError::Unknown(email.clone()))?;
    if !known.is_proven {
        accounts::evict_all(&mut tx, known.id).await?;
    }
    users::set_password(&mut tx, known.id, &hash).await?;
    mfa::forget_challenges(&mut tx, known.id).await?;
    sessions::revoke_all(&mut tx, known.id, None).await?;
    emit(&mut tx, None, known.id, &SessionsRevoked { user_id: known.id, session_id: None });
    record(&mut tx, "user.reset_password", Some(known.id.to_string()), json!({}));
    tx.commit().await?;
    Ok(known.id)
}

async fn hashed(db: &Db, password: &SecretText) -> Result<String, UpkeepError> {
    let policies = Policies::default();
    policies.refresh(db).await?;
    let least = policies.number(settings::PASSWORD_MIN_LENGTH);
    if (password.expose().chars().count() as u64) < least {
        return Err(UpkeepError::ShortPassword { least });
    }
    Ok(Passwords::default().hash(password.expose()).await?)
}

/// Whether somebody said whether allocations need money.
pub async fn is_billing_chosen(db: &Db) -> Result<bool, UpkeepError> {
    let mut tx = Tx::system(db, "upkeep", Access::Read).await?;
    let is_chosen = policies::is_chosen(&mut tx, settings::BILLING_REQUIRED).await?;
    tx.commit().await?;
    Ok(is_chosen)
}

/// Says once whether allocations need money; later it is changed as any policy is. Whether it was not said before.
pub async fn choose_billing(db: &Db, is_required: bool) -> Result<bool, UpkeepError> {
    let mut tx = Tx::system(db, "upkeep", Access::Write).await?;
    let is_new = policies::choose_once(&mut tx, settings::BILLING_REQUIRED, is_required).await?;
    if is_new {
        let detail = json!({ "value": is_required.to_string(), "level": "platform" });
        record(&mut tx, "policy.set", Some(settings::BILLING_REQUIRED.0.name.to_owned()), detail);
    }
    tx.commit().await?;
    Ok(is_new)
}

/// Seals every secret with the keyring's first key; returns how many moved.
pub async fn rotate_secrets(db: &Db, keyring: &Keyring) -> Result<u64, UpkeepError> {
    let mut tx = Tx::system(db, "upkeep", Access::Write).await?;
    let mut moved = vault::rewrap(&mut tx, keyring).await?;
    for column in areas::declared().secrets {
        moved += column.rewrap(&mut tx, keyring).await?;
    }
    moved += sessions::rewrap_successors(&mut tx, keyring).await?;
    record(&mut tx, "secrets.rotate", None, json!({ "key": keyring.active().as_str(), "moved": moved }));
    tx.commit().await?;
    Ok(moved)
}

fn record(tx: &mut Tx, action: &str, resource: Option<String>, detail: serde_json::Value) {
    let entry = audit::NewEntry { action: action.to_owned(), organization: None, resource, outcome: "done", detail };
    audit::record(tx, entry);
}
