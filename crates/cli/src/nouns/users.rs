//! `gpuaas users`: everybody on the platform, and how to become one of them.

use clap::Subcommand;
use contract::{
    Email, Nothing, PersonName,
    account_tokens::{ConfirmSignUp, SignUpConfirmation},
    permission::PlatformRole,
    users::{EraseUser, ListUsers, NewUser, PlatformRoleSpec, SetPlatformRole, SignUp, User, UserFilter, UserPath},
};
use serde_json::json;

use crate::{
    arguments::{self, Consent, Paging},
    context::Context,
    failure::{Done, Failure},
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas users sign-up --email you@example.com
  gpuaas users confirm --name \"Your Name\"

For platform staff:
  gpuaas users list --email you@example.com
  gpuaas users set-role you@example.com support
  gpuaas users set-role you@example.com none
  gpuaas users erase you@example.com";

/// Sign up, and manage users of the platform
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Users {
    /// Sign up for an account; a token is emailed to you for `confirm`
    SignUp {
        /// Email address to sign in with
        #[arg(long, value_parser = arguments::text::<Email>)]
        email: Email,
    },
    /// Create your account with the token that was emailed to you
    Confirm {
        /// Display name; prompted for if needed
        #[arg(long, value_parser = arguments::text::<PersonName>)]
        name: Option<PersonName>,
        /// Read the token and the password from standard input, one per line
        #[arg(long)]
        token_stdin: bool,
    },
    /// List users (platform staff)
    List {
        /// Filter by email address
        #[arg(long, value_parser = arguments::text::<Email>)]
        email: Option<Email>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Set or remove a user's platform role (platform staff)
    SetRole {
        /// ID or email address of the user
        user: String,
        /// Platform role: operator, support, auditor or none
        #[arg(value_parser = platform_role)]
        role: Givenrolle,
    },
    /// Erase a user's personal data; only the ID remains in logs (platform staff)
    Erase {
        /// ID or email address of the user
        user: String,
        #[command(flatten)]
        consent: Consent,
    },
}

/// A platform role, or none.
#[derive(Debug, Clone, Copy)]
pub struct Givenrolle(Option<PlatformRole>);

fn platform_role(text: &str) -> Result<Givenrolle, String> {
    if text == "none" {
        return Ok(Givenrolle(None));
    }
    text.parse().map(|it| Givenrolle(Some(it))).map_err(|error| format!("{error}, none"))
}

const COLUMNS: Columns = columns!(User: id, email, name, platform_role, created_at);

impl Users {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Users::SignUp { email } => {
                let client = context.stranger()?;
                client.call::<SignUp>(Nothing {}, Nothing {}, NewUser { email: email.clone() }).await?;
                let next = format!("Emailed a token to {email}. Enter it with `gpuaas users confirm`.");
                context.output.done(&json!({}), next)
            }
            Users::Confirm { name, token_stdin } => {
                let client = context.stranger()?;
                let name = match name {
                    Some(name) => name,
                    None => {
                        let given = prompt::line("Your name", None).await?;
                        given.parse().map_err(|error| Failure::usage(format!("{given:?}: {error}"), ""))?
                    }
                };
                let (token, password) = if token_stdin {
                    let [token, password] = prompt::piped_secrets()?;
                    (token, password)
                } else {
                    (prompt::secret("Token from the email").await?, prompt::new_password().await?)
                };
                let body = SignUpConfirmation { token, name, password };
                client.call::<ConfirmSignUp>(Nothing {}, Nothing {}, body).await?;
                context.output.done(&json!({}), "Created your account. Sign in with `gpuaas login`.")
            }
            Users::List { email, paging } => {
                let query = UserFilter { email, limit: paging.page(), ..UserFilter::default() };
                context.list::<ListUsers>(Nothing {}, query, paging, COLUMNS).await
            }
            Users::SetRole { user, role } => {
                let path = UserPath { user_id: context.user_named(&user).await? };
                let answer = context.send::<SetPlatformRole>(path, PlatformRoleSpec { role: role.0 }).await?;
                context.output.item(&answer)
            }
            Users::Erase { user, consent } => {
                let path = UserPath { user_id: context.user_named(&user).await? };
                prompt::confirm(consent, &format!("permanently erases the personal data of {user}"), &user).await?;
                let answer = context.ask::<EraseUser>(path).await?;
                context.output.done(&answer, format!("Erased the personal data of {user}."))
            }
        }
    }
}
