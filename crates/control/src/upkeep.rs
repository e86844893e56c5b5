//! What an installation needs now and then and the API does not offer: the
//! first operator, and a new key for sealed secrets.

use contract::{Email, PersonName, SecretText, id::UserId, permission::PlatformRole};
use kernel::{Access, Db, Tx, audit, secrets::Keyring, vault};
use serde_json::json;

use crate::{
    identity::passwords::{PasswordError, Passwords},
    machines,
    policies::{Policies, keys},
    providers, users, webhooks,
};

#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("a secret cannot be opened")]
    Vault(#[from] vault::VaultError),
    #[error(transparent)]
    Password(#[from] PasswordError),
    #[error("the password is too short: {least} characters at least, see `identity.password_min_length`")]
    ShortPassword { least: u64 },
    #[error("{0} has an account already: an operator can give it the role with `gpuaas users set-role`")]
    Taken(Email),
}

pub async fn create_operator(
    db: &Db,
    email: &Email,
    name: &PersonName,
    password: &SecretText,
) -> Result<UserId, UpkeepError> {
    let policies = Policies::default();
    policies.refresh(db).await?;
    let least = policies.number(keys::PASSWORD_MIN_LENGTH);
    if (password.expose().chars().count() as u64) < least {
        return Err(UpkeepError::ShortPassword { least });
    }
    let hash = Passwords::default().hash(password.expose()).await?;
    let mut tx = Tx::system(db, "upkeep", Access::Write).await?;
    let id = users::insert(&mut tx, email, name, Some(&hash)).await?;
    let id = id.ok_or_else(|| UpkeepError::Taken(email.clone()))?;
    users::set_platform_role(&mut tx, id, Some(PlatformRole::Operator)).await?;
    record(&mut tx, "user.create_operator", Some(id.to_string()), json!({}));
    tx.commit().await?;
    Ok(id)
}

/// Seals every secret with the keyring's first key; returns how many moved.
pub async fn rotate_secrets(db: &Db, keyring: &Keyring) -> Result<u64, UpkeepError> {
    let mut tx = Tx::system(db, "upkeep", Access::Write).await?;
    let mut moved = vault::rewrap(&mut tx, keyring).await?;
    for column in [&providers::API_KEYS, &machines::TOKENS].into_iter().chain(&webhooks::SECRETS) {
        moved += column.rewrap(&mut tx, keyring).await?;
    }
    record(&mut tx, "secrets.rotate", None, json!({ "key": keyring.active().as_str(), "moved": moved }));
    tx.commit().await?;
    Ok(moved)
}

fn record(tx: &mut Tx, action: &str, resource: Option<String>, detail: serde_json::Value) {
    let entry = audit::NewEntry { action: action.to_owned(), organization: None, resource, outcome: "done", detail };
    audit::record(tx, entry);
}
