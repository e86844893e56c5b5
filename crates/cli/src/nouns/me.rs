//! `gpuaas me`: the caller's own account.

use clap::{Args, Subcommand};
use contract::{
    Email, Name, Nothing, PersonName, SecretText,
    account_tokens::{
        AccountToken, AddressChangeSpec, ConfirmAddressChange, ConfirmPasswordReset, PasswordReset, PasswordResetSpec,
        RequestAddressChange, RequestPasswordReset,
    },
    id::FactorId,
    mfa::{
        ConfirmTotp, Factor, FactorPath, GetMfa, NewFactor, RemoveFactor, ReplaceRecoveryCodes, StartTotp,
        TotpConfirmation,
    },
    users::{ChangePassword, ChangeProfile, NewPassword, Profile},
};
use serde_json::{Value, json};

use crate::{
    arguments::{self, Consent},
    context::Context,
    failure::{Done, Failure},
    prompt,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas me rename \"New Name\"
  gpuaas me password
  gpuaas me password --password-stdin < old-and-new.txt
  gpuaas me mfa status
  gpuaas me mfa enroll phone
  gpuaas me mfa verify
  gpuaas me mfa recovery-codes
  gpuaas me mfa remove factor-01k9z8y7x6w5v4t3s2r1q0p9n8
  gpuaas me password reset --email you@example.com
  gpuaas me password reset --confirm
  gpuaas me address change new@example.com
  gpuaas me address confirm";

/// Manage your account
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Me {
    /// Change your display name
    Rename {
        /// New display name
        #[arg(value_parser = arguments::text::<PersonName>)]
        name: PersonName,
    },
    /// Change your password and end your other sessions, or reset a forgotten one
    Password(ChangedPassword),
    /// Change your sign-in email address
    #[command(subcommand)]
    Address(Address),
    /// Manage two-factor authentication: authenticator apps, passkeys and recovery codes
    #[command(subcommand)]
    Mfa(Mfa),
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ChangedPassword {
    #[command(subcommand)]
    reset: Option<Reset>,
    /// Read the current and the new password from standard input, one per line
    #[arg(long)]
    password_stdin: bool,
}

#[derive(Debug, Subcommand)]
pub enum Reset {
    /// Reset your password with an emailed token; ends every session
    Reset {
        /// Email a reset token to this address
        #[arg(long, value_parser = arguments::text::<Email>, required_unless_present = "confirm")]
        email: Option<Email>,
        /// Prompt for the emailed token and a new password
        #[arg(long, conflicts_with = "email")]
        confirm: bool,
        /// Read the token and the new password from standard input, one per line
        #[arg(long, requires = "confirm")]
        password_stdin: bool,
    },
}

/// Your address: proven before it replaces the old one
#[derive(Debug, Subcommand)]
pub enum Address {
    /// Email a confirmation token to a new address
    Change {
        /// New email address
        #[arg(value_parser = arguments::text::<Email>)]
        email: Email,
        /// Read the current password from standard input instead of prompting
        #[arg(long)]
        password_stdin: bool,
        /// Skip the password: you sign in through an external identity provider
        #[arg(long, conflicts_with = "password_stdin")]
        no_password: bool,
    },
    /// Confirm the new address with the emailed token; ends every session
    Confirm {
        /// Read the token from standard input instead of prompting
        #[arg(long)]
        token_stdin: bool,
    },
}

/// Multi-factor authentication of your account
#[derive(Debug, Subcommand)]
pub enum Mfa {
    /// Show your second factors and whether one is required
    Status,
    /// Add an authenticator app: shows its secret and prompts for a code
    Enroll {
        /// Name of the device
        #[arg(default_value = "authenticator", value_parser = arguments::text::<Name>)]
        name: Name,
    },
    /// Start adding an authenticator app from a script; finish with `confirm`
    Start,
    /// Finish adding an authenticator app with a code from the app
    Confirm {
        /// Challenge printed by `start`
        #[arg(long, value_parser = secret)]
        challenge: SecretText,
        /// Current six-digit code from the app
        #[arg(long, value_parser = secret)]
        code: SecretText,
        /// Name of the device
        #[arg(default_value = "authenticator", value_parser = arguments::text::<Name>)]
        name: Name,
    },
    /// Confirm your second factor in this session, for actions that require a recent confirmation
    Verify {
        /// Authenticator or recovery code; prompted for if not set
        #[arg(long, value_parser = secret)]
        code: Option<SecretText>,
    },
    /// Replace your recovery codes; the new ones are printed once
    RecoveryCodes {
        #[command(flatten)]
        consent: Consent,
    },
    /// Remove a second factor
    Remove {
        /// ID of the factor; see `me mfa status`
        #[arg(value_name = "ID")]
        factor: FactorId,
        #[command(flatten)]
        consent: Consent,
    },
}

const COLUMNS: Columns = columns!(Factor: id, kind, name, created_at, last_used_at);

impl Me {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Me::Rename { name } => {
                let answer = context.send::<ChangeProfile>(Nothing {}, Profile { name }).await?;
                context.output.item(&answer)
            }
            Me::Password(ChangedPassword { reset: Some(reset), .. }) => reset.run(context).await,
            Me::Password(ChangedPassword { reset: None, password_stdin }) => {
                let [current, new] = if password_stdin {
                    prompt::piped_secrets()?
                } else {
                    [prompt::secret("Current password").await?, prompt::new_password().await?]
                };
                let answer = context.send::<ChangePassword>(Nothing {}, NewPassword { current, new }).await?;
                context.output.done(&answer, "Changed your password and ended your other sessions.")
            }
            Me::Mfa(mfa) => mfa.run(context).await,
            Me::Address(address) => address.run(context).await,
        }
    }
}

impl Reset {
    async fn run(self, context: &Context) -> Done {
        let Reset::Reset { email, password_stdin, .. } = self;
        let client = context.stranger()?;
        if let Some(email) = email {
            let spec = PasswordResetSpec { email: email.clone() };
            client.call::<RequestPasswordReset>(Nothing {}, Nothing {}, spec).await?;
            let next = format!(
                "If {email} has an account, a token was emailed to it. Enter it with `gpuaas me password reset --confirm`."
            );
            return context.output.done(&json!({}), next);
        }
        let [token, password] = if password_stdin {
            prompt::piped_secrets()?
        } else {
            [prompt::secret("Token from the email").await?, prompt::new_password().await?]
        };
        client.call::<ConfirmPasswordReset>(Nothing {}, Nothing {}, PasswordReset { token, password }).await?;
        context.output.done(&json!({}), "Set your new password and ended every session. Sign in with `gpuaas login`.")
    }
}

impl Address {
    async fn run(self, context: &Context) -> Done {
        match self {
            Address::Change { email, password_stdin, no_password } => {
                let password = match no_password {
                    true => None,
                    false => Some(prompt::token(password_stdin, "Current password").await?),
                };
                let spec = AddressChangeSpec { email: email.clone(), password };
                let answer = context.send::<RequestAddressChange>(Nothing {}, spec).await?;
                let next = format!("Emailed a token to {email}. Enter it with `gpuaas me address confirm`.");
                context.output.done(&answer, next)
            }
            Address::Confirm { token_stdin } => {
                let token = prompt::token(token_stdin, "Token from the email").await?;
                let answer = context.send::<ConfirmAddressChange>(Nothing {}, AccountToken { token }).await?;
                context.output.item(&answer)?;
                context.output.hint("Ended every session. Sign in with the new address: `gpuaas login`.");
                Ok(())
            }
        }
    }
}

impl Mfa {
    async fn run(self, context: &Context) -> Done {
        match self {
            Mfa::Status => {
                let answer = context.ask::<GetMfa>(Nothing {}).await?;
                show_status(context, &answer)
            }
            Mfa::Enroll { name } => {
                let started = context.ask::<StartTotp>(Nothing {}).await?;
                let shown = |field: &str| started[field].as_str().unwrap_or_default().to_owned();
                context.output.warn(format!(
                    "Add this to your authenticator app:\n\n  secret  {}\n  URI     {}\n",
                    shown("secret"),
                    shown("uri")
                ));
                let code = prompt::line("Code from the app", None).await?;
                let challenge = SecretText::new(shown("challenge"));
                let body = TotpConfirmation { challenge, code: SecretText::new(code), name };
                show_added(context, &context.send::<ConfirmTotp>(Nothing {}, body).await?)
            }
            Mfa::Start => context.output.document(&context.ask::<StartTotp>(Nothing {}).await?),
            Mfa::Confirm { challenge, code, name } => {
                let body = TotpConfirmation { challenge, code, name };
                show_added(context, &context.send::<ConfirmTotp>(Nothing {}, body).await?)
            }
            Mfa::Verify { code } => {
                let answer = context.step_up(code.as_ref()).await?;
                let until = answer["recent_until"].as_str().unwrap_or_default().to_owned();
                context.output.done(&answer, format!("Confirmed. Valid until {until}."))
            }
            Mfa::RecoveryCodes { consent } => {
                prompt::confirm(consent, "invalidates your current recovery codes", "replace").await?;
                let answer = context.ask::<ReplaceRecoveryCodes>(Nothing {}).await?;
                show_codes(context, &answer)
            }
            Mfa::Remove { factor, consent } => {
                let id = factor.to_string();
                prompt::confirm(consent, &format!("removes the second factor {id}"), &id).await?;
                let answer = context.ask::<RemoveFactor>(FactorPath { factor_id: factor }).await?;
                context.output.done(&answer, format!("Removed {id}."))
            }
        }
    }
}

fn show_status(context: &Context, answer: &Value) -> Done {
    if !context.output.is_for_people() {
        return context.output.document(answer);
    }
    context.output.list(answer["factors"].as_array().cloned().unwrap_or_default(), COLUMNS)?;
    let required = if answer["required"] == true { "requires" } else { "does not require" };
    let left = &answer["recovery_codes_left"];
    context.output.hint(format!("Recovery codes left: {left}. Policy {required} you to have a second factor."));
    Ok(())
}

/// Says that the factor is there, and shows recovery codes that came with it.
fn show_added(context: &Context, answer: &Value) -> Done {
    if !context.output.is_for_people() {
        return context.output.document(answer);
    }
    let added: NewFactor = serde_json::from_value(answer.clone())
        .map_err(|error| Failure::usage(format!("cannot read the server's response: {error}"), ""))?;
    context.output.done(answer, format!("Added {} as {}.", added.factor.name, added.factor.id))?;
    if added.recovery_codes.is_some() { show_codes(context, answer) } else { Ok(()) }
}

/// Prints recovery codes, which nobody can read again.
fn show_codes(context: &Context, answer: &Value) -> Done {
    if !context.output.is_for_people() {
        return context.output.document(answer);
    }
    for code in answer["recovery_codes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        context.output.line(code)?;
    }
    context.output.hint("Save the recovery codes now; they are not shown again. Each works once. Store them separately from your device.");
    Ok(())
}

/// Reads a secret that lives for seconds; others do not belong on a command line.
fn secret(text: &str) -> Result<SecretText, String> {
    Ok(SecretText::new(text.to_owned()))
}
