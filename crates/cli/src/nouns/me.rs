//! `gpuaas me`: the caller's own account.

use clap::Subcommand;
use contract::{
    Nothing, PersonName,
    users::{ChangePassword, ChangeProfile, NewPassword, Profile},
};

use crate::{arguments, context::Context, failure::Done, prompt};

const EXAMPLES: &str = "\
Examples:
  gpuaas me rename \"New Name\"
  gpuaas me password
  gpuaas me password --password-stdin < old-and-new.txt";

/// Your own account
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Me {
    /// Change your name
    Rename {
        /// How others see you
        #[arg(value_parser = arguments::text::<PersonName>)]
        name: PersonName,
    },
    /// Change your password; every other session ends
    Password {
        /// Read the current password and the new one from standard input, a line each
        #[arg(long)]
        password_stdin: bool,
    },
}

impl Me {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Me::Rename { name } => {
                let answer = context.send::<ChangeProfile>(Nothing {}, Profile { name }).await?;
                context.output.item(&answer)
            }
            Me::Password { password_stdin } => {
                let [current, new] = if password_stdin {
                    prompt::piped_secrets()?
                } else {
                    [prompt::secret("Current password").await?, prompt::new_password().await?]
                };
                let answer = context.send::<ChangePassword>(Nothing {}, NewPassword { current, new }).await?;
                context.output.done(&answer, "The password is changed; your other sessions have ended.")
            }
        }
    }
}
