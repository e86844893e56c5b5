//! The demo organization: an owner, a platform operator, a project, and keys
//! for both in `dev.env`. Seeding again changes nothing that is there.

use std::{
    collections::HashMap,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use contract::{
    Email, Name, Permission, PersonName, Role, Word,
    id::{OrganizationId, ProjectId, UserId},
    permission::PlatformRole,
    projects::ProjectCreated,
};
use kernel::{
    Access, Tx, clock,
    money::{Currency, Money},
    secrets::random_token,
};

use crate::control_plane::ControlPlane;
use money::ledger::{self, AccountKind, Journal};
use people::{
    keys::{self, Owner},
    members, organizations, projects, users,
};
use platform::{
    events::emit,
    policies::{self, settings as policy},
};

pub const OWNER: &str = "owner@demo.localhost";
pub const OPERATOR: &str = "operator@demo.localhost";
const ORGANIZATION: &str = "Demo";
const PROJECT: &str = "first-project";
// bound: a thousand dollars, a day of a dozen GPUs of the demo
const CREDIT_MICROS: i64 = 1_000_000_000;

pub struct Seeded {
    pub owner_password: String,
    pub operator_password: String,
}

#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("hashing a password failed")]
    Password(#[from] platform::identity::passwords::PasswordError),
    #[error("the demo's credit could not be posted")]
    Credit(#[from] ledger::LedgerError),
    #[error("cannot write {path}")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// What a former start left in `dev.env`, by name.
type StoredSettings = HashMap<String, String>;

pub async fn seed(control_plane: &ControlPlane, data_dir: &Path, base: &str) -> Result<Seeded, SeedError> {
    let path = data_dir.join("dev.env");
    let mut kept = read(&path);
    let mut tx = Tx::system(&control_plane.db, "seed", Access::Write).await?;
    let owner = person(control_plane, &mut tx, OWNER, "Demo Owner", "GPUAAS_OWNER_PASSWORD", &mut kept).await?;
    let operator =
        person(control_plane, &mut tx, OPERATOR, "Demo Operator", "GPUAAS_OPERATOR_PASSWORD", &mut kept).await?;
    users::set_platform_role(&mut tx, operator, Some(PlatformRole::Operator)).await?;
    let (organization, project) = place(&mut tx, owner, &kept).await?;
    credit(&mut tx, organization).await?;
    // As where money is earned: what is asked for must be affordable.
    policies::choose_once(&mut tx, policy::BILLING_REQUIRED, true).await?;
    kept.insert("GPUAAS_ORGANIZATION".into(), organization.to_string());
    kept.insert("GPUAAS_PROJECT".into(), project.to_string());
    let of_organization = Permission::ALL.iter().copied().filter(|it| !it.is_platform()).collect::<Vec<_>>();
    token(control_plane, &mut tx, owner, &of_organization, "GPUAAS_TOKEN", &mut kept).await?;
    token(control_plane, &mut tx, operator, Permission::ALL, "GPUAAS_OPERATOR_TOKEN", &mut kept).await?;
    tx.commit().await?;
    kept.insert("GPUAAS_URL".into(), base.to_owned());
    write(&path, &kept)?;
    let password = |name: &str| kept.get(name).cloned().unwrap_or_else(|| "(set earlier)".into());
    Ok(Seeded {
        owner_password: password("GPUAAS_OWNER_PASSWORD"),
        operator_password: password("GPUAAS_OPERATOR_PASSWORD"),
    })
}

async fn person(
    control_plane: &ControlPlane,
    tx: &mut Tx,
    email: &str,
    name: &str,
    variable: &str,
    kept: &mut StoredSettings,
) -> Result<UserId, SeedError> {
    if let Some(known) = users::credentials(tx, email).await? {
        return Ok(known.id);
    }
    let password = random_token("demo");
    let password = password.expose_text().expect("tokens are text").chars().take(24).collect::<String>();
    let hash = control_plane.people.passwords.hash(&password).await?;
    let email: Email = email.parse().expect("a literal above");
    let name: PersonName = name.parse().expect("a literal above");
    let id = users::insert(tx, &email, &name, Some(&hash)).await?.ok_or(sqlx::Error::RowNotFound)?;
    kept.insert(variable.to_owned(), password);
    Ok(id)
}

async fn place(tx: &mut Tx, owner: UserId, kept: &StoredSettings) -> Result<(OrganizationId, ProjectId), SeedError> {
    let known = |name: &str| kept.get(name).cloned();
    if let (Some(organization), Some(project)) = (known("GPUAAS_ORGANIZATION"), known("GPUAAS_PROJECT"))
        && let (Ok(organization), Ok(project)) = (organization.parse(), project.parse())
        && organizations::get(tx, organization).await?.is_some()
    {
        return Ok((organization, project));
    }
    let organization = OrganizationId::generate();
    let name: Name = ORGANIZATION.parse().expect("a literal above");
    organizations::add(tx, organization, &name).await?;
    emit(
        tx,
        Some(organization),
        organization,
        &contract::organizations::OrganizationCreated { id: organization, name },
    );
    members::join(tx, organization, owner, Role::Owner).await?;
    let name: Name = PROJECT.parse().expect("a literal above");
    let project = projects::add(tx, organization, &name).await?;
    emit(tx, Some(organization), project, &ProjectCreated { id: project, name });
    Ok((organization, project))
}

/// Something to spend, once, so that balances and forecasts show something.
async fn credit(tx: &mut Tx, organization: OrganizationId) -> Result<(), SeedError> {
    let amount = Money::from_micros(CREDIT_MICROS, Currency::USD);
    let journal = Journal::between(organization, "credit", AccountKind::Promotional, "", amount)?;
    let journal = journal.by(tx.actor.as_str(), "for testing").once("dev-seed");
    ledger::post(tx, journal).await?;
    Ok(())
}

/// Keeps the key of a former start while it works, else makes one.
async fn token(
    control_plane: &ControlPlane,
    tx: &mut Tx,
    user: UserId,
    scopes: &[Permission],
    variable: &str,
    kept: &mut StoredSettings,
) -> Result<(), SeedError> {
    if let Some(token) = kept.get(variable)
        && control_plane.recognizer.caller(token, None).await.is_ok()
    {
        return Ok(());
    }
    let expires_at = clock::now(tx).await? + policy::days(control_plane.policies.number(policy::KEY_MAX_DAYS));
    let name: Name = "dev".parse().expect("a literal");
    let new = keys::mint(tx, Owner::Person(user), &name, scopes, expires_at).await?;
    kept.insert(variable.to_owned(), new.secret.expose().to_owned());
    Ok(())
}

fn read(path: &Path) -> StoredSettings {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().filter_map(|it| it.strip_prefix("export "));
    lines.filter_map(|it| it.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn write(path: &Path, kept: &StoredSettings) -> Result<(), SeedError> {
    let failed = |source| SeedError::File { path: path.to_owned(), source };
    let mut names: Vec<&String> = kept.keys().collect();
    names.sort();
    let text: String = names.iter().map(|name| format!("export {name}={}\n", kept[*name])).collect();
    let fresh = path.with_extension("env.new");
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    std::fs::rename(&fresh, path).map_err(failed)
}
