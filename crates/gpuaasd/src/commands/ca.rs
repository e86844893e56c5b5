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
    policies::{Policies, keys},
};

use super::AnyError;

#[derive(Subcommand)]
pub enum Action {
    /// Say what the CA is and how long it lasts; prints the root certificate.
    Show,
    /// Write the root's key and certificate to a file that only you can read.
    ExportRoot {
        /// Where to; must not exist yet.
        file: PathBuf,
        /// Then remove the key from the database; `rotate` needs the file from then on.
        #[arg(long)]
        remove: bool,
    },
    /// Make a new intermediate certificate; hosts need not enroll again.
    Rotate {
        /// The file that `export-root` wrote, when the key is no longer in the database.
        #[arg(long, value_name = "FILE")]
        root_key: Option<PathBuf>,
    },
    /// Make a new root; every node learns it by itself and then the old one is forgotten.
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
            println!("the root is in {}", file.display());
            match remove {
                true => println!("and no longer in the database: keep the file where no network reaches"),
                false => println!("and still in the database: `--remove` takes it out of there"),
            }
        }
        Action::Rotate { root_key } => {
            let key = match root_key {
                None => None,
                Some(file) => Some(read(&file)?),
            };
            let policies = Policies::default();
            policies.refresh(&db).await?;
            let life = keys::days(policies.number(keys::NODE_INTERMEDIATE_DAYS));
            show(&ca::rotate(&db, &keyring, key, life).await?);
            println!(
                "replicas use the new intermediate within a minute; what the former one signed works until its end"
            );
        }
        Action::RotateRoot => {
            show(&ca::rotate_root(&db, &keyring).await?);
            println!("nodes are told of the new root; `gpuaasd ca show` says how far that is");
        }
    }
    Ok(())
}

fn show(overview: &ca::Overview) {
    println!("root fingerprint      {}", overview.root_fingerprint);
    println!("root key              {}", if overview.is_root_key_here { "in the database" } else { "kept elsewhere" });
    println!("intermediate until    {}", overview.intermediate_expires_at);
    println!("intermediates before  {}", overview.replaced);
    let behind = overview.behind;
    match overview.turnover {
        Turnover::Settled => (),
        Turnover::Telling { .. } => println!("new root              told to the nodes, {behind} of them to go"),
        Turnover::Signing { .. } => println!("old root              trusted until {behind} more nodes have renewed"),
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
