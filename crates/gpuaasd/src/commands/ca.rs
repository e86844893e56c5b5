//! `ca show`, `ca export-root`, `ca rotate` and `ca rotate-root`: looking after the CA.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use clap::Subcommand;
use fleet::ca::{self, Turnover};
use kernel::secrets::Secret;
use platform::{
    config::Config,
    policies::{Policies, settings},
};

use super::AnyError;

#[derive(Subcommand)]
pub enum Action {
    /// Show the CA's certificates and print the root in PEM
    Show,
    /// Write the root's key and certificate to a file readable only by you
    ExportRoot {
        /// File to create
        file: PathBuf,
        /// Remove the key from the database afterwards; `rotate` then needs the file
        #[arg(long)]
        remove: bool,
    },
    /// Rotate the intermediate certificate; hosts stay enrolled
    Rotate {
        /// File written by `export-root`, if the key is not in the database
        #[arg(long, value_name = "FILE")]
        root_key: Option<PathBuf>,
    },
    /// Rotate the root; nodes learn the new one automatically, then the old one is removed
    RotateRoot,
}

pub async fn run(config: &Config, action: Action) -> Result<(), AnyError> {
    let keyring = config.keyring()?;
    gpuaasd::migrations::check(&config.database.url).await?;
    let db = gpuaasd::connect(config).await?;
    match action {
        Action::Show => show(&ca::overview(&db, &keyring).await?),
        Action::ExportRoot { file, remove } => {
            let kept = ca::export_root(&db, &keyring, remove, |root| write_once(&file, root)).await?;
            kept.map_err(|error| {
                format!("cannot write {}: {error}; choose a file that does not exist", file.display())
            })?;
            println!("Wrote the root to {}.", file.display());
            match remove {
                true => println!("Removed its key from the database. Store the file offline."),
                false => println!("Its key is still in the database. Use `--remove` to remove it."),
            }
        }
        Action::Rotate { root_key } => {
            let key = match root_key {
                None => None,
                Some(file) => Some(read(&file)?),
            };
            let policies = Policies::default();
            policies.refresh(&db).await?;
            let life = settings::days(policies.number(settings::NODE_INTERMEDIATE_DAYS));
            show(&ca::rotate(&db, &keyring, key, life).await?);
            println!(
                "Replicas use the new intermediate within a minute. Certificates signed by the previous one stay valid until they expire."
            );
        }
        Action::RotateRoot => {
            show(&ca::rotate_root(&db, &keyring).await?);
            println!("Distributing the new root to the nodes. Check progress with `gpuaasd ca show`.");
        }
    }
    Ok(())
}

fn show(overview: &ca::Overview) {
    println!("root fingerprint      {}", overview.root_fingerprint);
    println!(
        "root key              {}",
        if overview.is_root_key_here { "in the database" } else { "stored elsewhere" }
    );
    println!("intermediate until    {}", overview.intermediate_expires_at);
    println!("past intermediates    {}", overview.replaced);
    let behind = overview.behind;
    match overview.turnover {
        Turnover::Settled => (),
        Turnover::Telling { .. } => println!("new root              being distributed, {behind} nodes remaining"),
        Turnover::Signing { .. } => println!("old root              trusted until {behind} more nodes renew"),
    }
    print!("{}", overview.roots_pem);
}

fn write_once(file: &Path, root: &Secret) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut open = options.write(true).create_new(true).mode(0o600).open(file)?;
    open.write_all(root.expose())?;
    open.sync_all()
}

fn read(file: &Path) -> Result<Secret, AnyError> {
    let bytes = std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Ok(Secret::new(bytes))
}
