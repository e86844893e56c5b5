//! Starting afresh: deletes the database of earlier runs and the files that belong
//! to it. The key of secrets stays, because it may be used elsewhere too.

use std::{fs, io, path::Path};

use super::{DATABASE, DevError, postgres::Cluster, store};

/// What other runs wrote into the data folder about that database.
const FOLDERS: [&str; 4] = ["gateway", "mails", "recordings", "sim"];
const SECRETS_OF_DEMO: &str = "dev.env";

pub(super) async fn reset(cluster: &Cluster, data_dir: &Path) -> Result<(), DevError> {
    store::drop_database(|database| cluster.url(database), DATABASE).await?;
    for name in FOLDERS {
        let path = data_dir.join(name);
        unless_missing(fs::remove_dir_all(&path)).map_err(|source| DevError::Folder { path, source })?;
    }
    let path = data_dir.join(SECRETS_OF_DEMO);
    unless_missing(fs::remove_file(&path)).map_err(|source| DevError::Folder { path, source })
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
