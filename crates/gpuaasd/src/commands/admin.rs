//! `admin`: the first account of an installation and whether its allocations need
//! money, accounts where no mail is sent, and the way back in for somebody who lost
//! their second factor.

use clap::{Subcommand, ValueEnum};
use contract::{Email, PersonName, Reason};
use gpuaasd::upkeep;
use kernel::Db;
use platform::config::Config;

use super::{AnyError, prompt};

#[derive(Subcommand)]
pub enum Action {
    /// Create an operator account; prompts for the password, or reads it from standard input
    CreateOperator {
        #[arg(long)]
        email: Email,
        #[arg(long, default_value = "Operator")]
        name: PersonName,
        /// Whether allocations must be paid for; prompted for if not set. Change it later with the
        /// policy `billing.required`
        #[arg(long)]
        billing: Option<Billing>,
    },
    /// Remove all second factors of a user and end their sessions; the user is notified
    ResetMfa {
        #[arg(long)]
        email: Email,
        /// Reason, and how you verified the user's identity; recorded in the audit log
        #[arg(long)]
        reason: Reason,
    },
    /// Create a user account without email verification; prompts for the password, or reads it from
    /// standard input
    CreateAccount {
        #[arg(long)]
        email: Email,
        #[arg(long)]
        name: PersonName,
    },
    /// Reset a user's password and end their sessions; prompts for the password, or reads it from
    /// standard input
    ResetPassword {
        #[arg(long)]
        email: Email,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Billing {
    /// Hold the cost of an allocation before it starts, and end unpaid ones
    Required,
    /// Meter and price usage without requiring payment
    Off,
}

pub async fn run(config: &Config, action: Action) -> Result<(), AnyError> {
    gpuaasd::migrations::check(&config.database.url).await?;
    let db = gpuaasd::connect(config).await?;
    match action {
        Action::CreateOperator { email, name, billing } => {
            let password = prompt::new_password()?;
            let id = upkeep::create_operator(&db, &email, &name, &password).await?;
            println!("Created the operator {email} ({id}). Sign in with `gpuaas login`.");
            choose_billing(&db, billing).await?;
        }
        Action::CreateAccount { email, name } => {
            let password = prompt::new_password()?;
            let id = upkeep::create_account(&db, &email, &name, &password).await?;
            println!(
                "Created the account {email} ({id}). Share the password; the user can change it with `gpuaas me password`."
            );
        }
        Action::ResetPassword { email } => {
            let password = prompt::new_password()?;
            let id = upkeep::reset_password(&db, &email, &password).await?;
            println!("Reset the password of {email} ({id}) and ended their sessions.");
        }
        Action::ResetMfa { email, reason } => {
            let gone = upkeep::reset_mfa(&db, &email, &reason).await?;
            println!("Removed {gone} second factors of {email} and ended their sessions.");
        }
    }
    Ok(())
}

/// Asks once; whoever cannot be asked is told how it stands.
async fn choose_billing(db: &Db, billing: Option<Billing>) -> Result<(), AnyError> {
    const CHANGE: &str = "Change this with `gpuaas policies set billing.required true|false --platform`.";
    let is_chosen = upkeep::is_billing_chosen(db).await?;
    let is_required = match (billing, is_chosen) {
        (None, true) => return Ok(()),
        (Some(_), true) => {
            println!("`billing.required` is already set. {CHANGE}");
            return Ok(());
        }
        (Some(billing), false) => Some(billing == Billing::Required),
        (None, false) => prompt::yes_or_no("Require payment before allocations run? [y/n] ")?,
    };
    match is_required {
        None => println!("Payment is not required (default). {CHANGE}"),
        Some(is_required) => {
            upkeep::choose_billing(db, is_required).await?;
            let said =
                if is_required { "Payment is required before allocations run." } else { "Payment is not required." };
            println!("{said} {CHANGE}");
        }
    }
    Ok(())
}
