//! `gpuaas users`: everybody on the platform, and how to become one of them.

use clap::Subcommand;
use contract::{
    Email, Nothing, PersonName,
    permission::PlatformRole,
    users::{EraseUser, ListUsers, NewUser, PlatformRoleSpec, SetPlatformRole, SignUp, User, UserFilter, UserPath},
};
use serde_json::json;

use crate::{
    arguments::{self, Consent, Paging},
    context::Context,
    failure::Done,
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas users sign-up --email you@example.com --name \"Your Name\"
  gpuaas users sign-up --email you@example.com --name \"Your Name\" --invited

For platform staff:
  gpuaas users list --email you@example.com
  gpuaas users set-role you@example.com support
  gpuaas users set-role you@example.com none
  gpuaas users erase you@example.com";

/// Users: everybody on the platform
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Users {
    /// Create an account of your own with a password
    SignUp {
        /// Address to sign in with
        #[arg(long, value_parser = arguments::text::<Email>)]
        email: Email,
        /// How others see you
        #[arg(long, value_parser = arguments::text::<PersonName>)]
        name: PersonName,
        /// Ask for the token of an invitation too, where the platform is not open to everybody
        #[arg(long)]
        invited: bool,
        /// Read the password, and the token on the next line, from standard input instead of asking
        #[arg(long)]
        password_stdin: bool,
    },
    /// List everybody (platform staff)
    List {
        /// Only the one with this address
        #[arg(long, value_parser = arguments::text::<Email>)]
        email: Option<Email>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Give somebody a platform role, or take it away (platform staff)
    SetRole {
        /// Id or email address
        user: String,
        /// operator, support, auditor or none
        #[arg(value_parser = platform_role)]
        role: GivenRole,
    },
    /// Erase a person's data; their id stays in logs and names nobody (platform staff)
    Erase {
        /// Id or email address
        user: String,
        #[command(flatten)]
        consent: Consent,
    },
}

/// A platform role, or none.
#[derive(Debug, Clone, Copy)]
pub struct GivenRole(Option<PlatformRole>);

fn platform_role(text: &str) -> Result<GivenRole, String> {
    if text == "none" {
        return Ok(GivenRole(None));
    }
    text.parse().map(|it| GivenRole(Some(it))).map_err(|error| format!("{error}, none"))
}

const COLUMNS: Columns = columns!(User: id, email, name, platform_role, created_at);

impl Users {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Users::SignUp { email, name, invited, password_stdin } => {
                let client = context.stranger()?;
                let (password, invitation) = match (password_stdin, invited) {
                    (true, false) => {
                        let [password] = prompt::piped_secrets()?;
                        (password, None)
                    }
                    (true, true) => {
                        let [password, token] = prompt::piped_secrets()?;
                        (password, Some(token))
                    }
                    (false, false) => (prompt::new_password().await?, None),
                    (false, true) => {
                        let token = prompt::secret("Token of the invitation").await?;
                        (prompt::new_password().await?, Some(token))
                    }
                };
                let user = NewUser { email: email.clone(), name, password, invitation };
                client.call::<SignUp>(Nothing {}, Nothing {}, user).await?;
                context.output.done(&json!({}), format!("Done. Sign in with `gpuaas login --email {email}`."))
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
                prompt::confirm(consent, &format!("erases the data of {user} for good"), &user).await?;
                let answer = context.ask::<EraseUser>(path).await?;
                context.output.done(&answer, format!("The data of {user} is erased."))
            }
        }
    }
}
