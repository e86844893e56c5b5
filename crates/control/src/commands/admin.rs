//! `admin create-operator`: the first account of an installation.

use clap::Subcommand;
use contract::{Email, PersonName};
use control::{config::Config, upkeep};
use kernel::Db;

use super::{AnyError, prompt};

#[derive(Subcommand)]
pub enum Action {
    /// Make an account that runs the platform. The password is asked for, or read from standard input.
    CreateOperator {
        #[arg(long)]
        email: Email,
        #[arg(long, default_value = "Operator")]
        name: PersonName,
    },
}

pub async fn run(config: &Config, action: Action) -> Result<(), AnyError> {
    let Action::CreateOperator { email, name } = action;
    control::migrations::check(&config.database.url).await?;
    let db = Db::connect(&config.db_settings()).await?;
    let password = prompt::new_password()?;
    let id = upkeep::create_operator(&db, &email, &name, &password).await?;
    println!("{email} is an operator now ({id}); sign in with `gpuaas login`");
    Ok(())
}
