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
    /// Make an account that runs the platform. The password is asked for, or read from standard input.
    CreateOperator {
        #[arg(long)]
        email: Email,
        #[arg(long, default_value = "Operator")]
        name: PersonName,
        /// Whether allocations need money; asked for once where there is a terminal. Later it is the
        /// policy `billing.required`.
        #[arg(long)]
        billing: Option<Billing>,
    },
    /// Remove every second factor of a person who lost theirs, and end their sessions. They are notified.
    ResetMfa {
        #[arg(long)]
        email: Email,
        /// Why, and how you made sure who asked; it goes to the audit log.
        #[arg(long)]
        reason: Reason,
    },
    /// Make an account for somebody whose address you know to be theirs, where no mail is sent that
    /// could prove it. The password is asked for, or read from standard input.
    CreateAccount {
        #[arg(long)]
        email: Email,
        #[arg(long)]
        name: PersonName,
    },
    /// Set a new password for somebody who forgot theirs; their sessions end. The password is asked
    /// for, or read from standard input.
    ResetPassword {
        #[arg(long)]
        email: Email,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Billing {
    /// What an allocation may cost is held before it runs; what cannot be paid for ends.
    Required,
    /// Usage is counted and priced, and nobody has to pay before.
    Off,
}

pub async fn run(config: &Config, action: Action) -> Result<(), AnyError> {
    gpuaasd::migrations::check(&config.database.url).await?;
    let db = gpuaasd::connect(config).await?;
    match action {
        Action::CreateOperator { email, name, billing } => {
            let password = prompt::new_password()?;
            let id = upkeep::create_operator(&db, &email, &name, &password).await?;
            println!("{email} is an operator now ({id}); sign in with `gpuaas login`");
            choose_billing(&db, billing).await?;
        }
        Action::CreateAccount { email, name } => {
            let password = prompt::new_password()?;
            let id = upkeep::create_account(&db, &email, &name, &password).await?;
            println!(
                "{email} has an account now ({id}); hand the password over, to be changed with `gpuaas me password`"
            );
        }
        Action::ResetPassword { email } => {
            let password = prompt::new_password()?;
            let id = upkeep::reset_password(&db, &email, &password).await?;
            println!("{email} has a new password ({id}), and every session of theirs has ended");
        }
        Action::ResetMfa { email, reason } => {
            let gone = upkeep::reset_mfa(&db, &email, &reason).await?;
            println!("{gone} second factors of {email} were removed and every session ended");
        }
    }
    Ok(())
}

/// Asks once; whoever cannot be asked is told how it stands.
async fn choose_billing(db: &Db, billing: Option<Billing>) -> Result<(), AnyError> {
    const CHANGE: &str = "change it with `gpuaas policies set billing.required true|false --platform`";
    let is_chosen = upkeep::is_billing_chosen(db).await?;
    let is_required = match (billing, is_chosen) {
        (None, true) => return Ok(()),
        (Some(_), true) => {
            println!("`billing.required` is set already; {CHANGE}");
            return Ok(());
        }
        (Some(billing), false) => Some(billing == Billing::Required),
        (None, false) => prompt::yes_or_no("Must allocations be paid for before they run? [y/n] ")?,
    };
    match is_required {
        None => println!("allocations need no money, because nobody chose; {CHANGE}"),
        Some(is_required) => {
            upkeep::choose_billing(db, is_required).await?;
            let said =
                if is_required { "allocations must be paid for before they run" } else { "allocations need no money" };
            println!("{said}; {CHANGE}");
        }
    }
    Ok(())
}
