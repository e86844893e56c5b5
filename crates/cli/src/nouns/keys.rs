//! `gpuaas keys`: credentials for programs that act as their owner. What keys
//! of service accounts share with them is here too.

use clap::{Args, Subcommand};
use contract::{
    Name, Nothing, Permission, Timestamp,
    id::KeyId,
    keys::{CreatePersonalKey, Key, KeyFilter, KeyPath, KeySpec, ListPersonalKeys, RevokePersonalKey},
};
use serde_json::Value;

use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas keys create laptop --scope projects:read --scope projects:write --expires 30d
  gpuaas keys create backup --scope audit:read --expires 2027-01-01T00:00:00Z --quiet
  gpuaas keys list
  gpuaas keys revoke key-01k9z8y7x6w5v4t3s2r1q0p9n8 --yes

Programs pass a key in GPUAAS_TOKEN. For programs that should outlive your
account, create a service account; see `gpuaas service-accounts --help`.";

/// Manage API keys that act on your behalf
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Keys {
    /// Create an API key; its secret is printed once
    Create(NewKeyArguments),
    /// List your API keys
    List {
        /// Filter by name
        #[arg(long, value_parser = arguments::text::<Name>)]
        name: Option<Name>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Revoke an API key, effective within a second
    Revoke(RevokedKey),
}

/// What makes a key of a person or of a service account.
#[derive(Debug, Args)]
pub struct NewKeyArguments {
    /// Name of the key
    #[arg(value_parser = arguments::text::<Name>)]
    name: Name,
    /// Permission granted to the key; repeatable or comma-separated
    #[arg(long = "scope", required = true, value_delimiter = ',', value_parser = arguments::word::<Permission>())]
    scopes: Vec<Permission>,
    /// Expiration: a timestamp, or a duration such as 30d [default and maximum: set by policy]
    #[arg(long, value_name = "WHEN", value_parser = arguments::moment)]
    expires: Option<Timestamp>,
    #[command(flatten)]
    pub once: Once,
}

#[derive(Debug, Args)]
pub struct RevokedKey {
    /// ID of the key
    #[arg(value_name = "ID")]
    pub key: KeyId,
    #[command(flatten)]
    consent: Consent,
}

pub const COLUMNS: Columns = columns!(Key: id, name, prefix, scopes, created_at, expires_at, last_used_at, revoked_at);

impl Keys {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Keys::Create(new) => {
                let answer = context.create::<CreatePersonalKey>(&new.once, Nothing {}, new.spec()).await?;
                show_once(context, &answer)
            }
            Keys::List { name, paging } => {
                let query = KeyFilter { name, limit: paging.page(), ..KeyFilter::default() };
                context.list::<ListPersonalKeys>(Nothing {}, query, paging, COLUMNS).await
            }
            Keys::Revoke(revoked) => {
                revoked.confirm().await?;
                let answer = context.ask::<RevokePersonalKey>(KeyPath { key_id: revoked.key }).await?;
                revoked.report(context, &answer)
            }
        }
    }
}

impl NewKeyArguments {
    pub fn spec(&self) -> KeySpec {
        KeySpec { name: self.name.clone(), scopes: self.scopes.clone(), expires_at: self.expires }
    }
}

impl RevokedKey {
    pub async fn confirm(&self) -> Done {
        let id = self.key.to_string();
        prompt::confirm(self.consent, &format!("permanently revokes the key {id}"), &id).await
    }

    pub fn report(&self, context: &Context, answer: &Value) -> Done {
        context.output.done(answer, format!("Revoked {}.", self.key))
    }
}

/// Prints a new key with its secret, which nobody can read again.
pub fn show_once(context: &Context, answer: &Value) -> Done {
    context.output.item_with_secret(answer, "key", "secret")?;
    context.output.hint("Save the secret now; it is not shown again. Programs pass it in GPUAAS_TOKEN.");
    Ok(())
}
