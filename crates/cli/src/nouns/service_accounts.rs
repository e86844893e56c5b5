//! `gpuaas service-accounts`: programs that act in an organization under a role.

use clap::Subcommand;
use contract::{
    Name, Role,
    keys::KeyFilter,
    service_accounts::{
        CreateServiceAccount, CreateServiceAccountKey, DeleteServiceAccount, GetServiceAccount, ListServiceAccountKeys,
        ListServiceAccounts, RevokeServiceAccountKey, ServiceAccount, ServiceAccountFilter, ServiceAccountKeyPath,
        ServiceAccountSpec,
    },
};

use super::keys::{self, NewKeyArguments, RevokedKey};
use crate::{
    arguments::{self, Consent, Once, Paging},
    context::Context,
    exact,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas service-accounts create ci --role member
  gpuaas service-accounts list
  gpuaas service-accounts keys create ci deploy --scope projects:write --expires 90d
  gpuaas service-accounts keys list ci
  gpuaas service-accounts keys revoke ci key-01k9z8y7x6w5v4t3s2r1q0p9n8 --yes
  gpuaas service-accounts delete ci --yes";

/// Manage service accounts and their API keys
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum ServiceAccounts {
    /// Create a service account
    Create {
        /// Name of the service account
        #[arg(value_parser = arguments::text::<Name>)]
        name: Name,
        /// Role in the organization
        #[arg(long, value_parser = arguments::word::<Role>())]
        role: Role,
        #[command(flatten)]
        once: Once,
    },
    /// List service accounts
    List {
        /// Filter by role
        #[arg(long, value_parser = arguments::word::<Role>())]
        role: Option<Role>,
        /// Filter by name
        #[arg(long, value_parser = arguments::text::<Name>)]
        name: Option<Name>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a service account
    Get {
        /// ID or name of the service account
        #[arg(value_name = "ACCOUNT")]
        wanted: String,
    },
    /// Delete a service account and revoke its keys
    Delete {
        /// ID or name of the service account
        #[arg(value_name = "ACCOUNT")]
        wanted: String,
        #[command(flatten)]
        consent: Consent,
    },
    /// Manage the API keys of a service account
    #[command(subcommand)]
    Keys(AccountKeys),
}

#[derive(Debug, Subcommand)]
pub enum AccountKeys {
    /// Create an API key; its secret is printed once
    Create {
        /// ID or name of the service account
        account: String,
        #[command(flatten)]
        new: NewKeyArguments,
    },
    /// List the API keys of a service account
    List {
        /// ID or name of the service account
        account: String,
        /// Filter by name
        #[arg(long, value_parser = arguments::text::<Name>)]
        name: Option<Name>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Revoke an API key, effective within a second
    Revoke {
        /// ID or name of the service account
        account: String,
        #[command(flatten)]
        revoked: RevokedKey,
    },
}

const COLUMNS: Columns = columns!(ServiceAccount: id, name, role, created_at);

impl ServiceAccounts {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            ServiceAccounts::Create { name, role, once } => {
                let path = context.organization().await?;
                let spec = ServiceAccountSpec { name, role };
                let answer = context.create::<CreateServiceAccount>(&once, path, spec).await?;
                context.output.item(&answer)?;
                context.output.hint("\nCreate a key for it with `gpuaas service-accounts keys create`.");
                Ok(())
            }
            ServiceAccounts::List { role, name, paging } => {
                let path = context.organization().await?;
                let query =
                    ServiceAccountFilter { role, name, limit: paging.page(), ..ServiceAccountFilter::default() };
                context.list::<ListServiceAccounts>(path, query, paging, COLUMNS).await
            }
            ServiceAccounts::Get { wanted } => {
                let path = context.service_account_named(&wanted).await?;
                context.output.item(&context.ask::<GetServiceAccount>(path).await?)
            }
            ServiceAccounts::Delete { wanted, consent } => {
                let path = context.service_account_named(&wanted).await?;
                let account: ServiceAccount = exact::read(&context.ask::<GetServiceAccount>(path.clone()).await?)?;
                let what = format!("deletes the service account `{}` and revokes its keys", account.name);
                prompt::confirm(consent, &what, account.name.as_str()).await?;
                let answer = context.ask::<DeleteServiceAccount>(path).await?;
                context.output.done(&answer, format!("Deleted `{}` and revoked its keys.", account.name))
            }
            ServiceAccounts::Keys(keys) => keys.run(context).await,
        }
    }
}

impl AccountKeys {
    async fn run(self, context: &Context) -> Done {
        match self {
            AccountKeys::Create { account, new } => {
                let path = context.service_account_named(&account).await?;
                let answer = context.create::<CreateServiceAccountKey>(&new.once, path, new.spec()).await?;
                keys::show_once(context, &answer)
            }
            AccountKeys::List { account, name, paging } => {
                let path = context.service_account_named(&account).await?;
                let query = KeyFilter { name, limit: paging.page(), ..KeyFilter::default() };
                context.list::<ListServiceAccountKeys>(path, query, paging, keys::COLUMNS).await
            }
            AccountKeys::Revoke { account, revoked } => {
                let owner = context.service_account_named(&account).await?;
                revoked.confirm().await?;
                let path = ServiceAccountKeyPath {
                    organization_id: owner.organization_id,
                    service_account_id: owner.service_account_id,
                    key_id: revoked.key,
                };
                let answer = context.ask::<RevokeServiceAccountKey>(path).await?;
                revoked.report(context, &answer)
            }
        }
    }
}
