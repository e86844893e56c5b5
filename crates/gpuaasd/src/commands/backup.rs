//! `backup` and `restore`.

use std::path::Path;

use gpuaasd::{backup, migrations};

use super::AnyError;

pub async fn back_up(url: &str, file: &Path) -> Result<(), AnyError> {
    let bytes = backup::back_up(url, file).await?;
    println!("Wrote {} ({bytes} bytes).", file.display());
    println!(
        "The backup does not include the secrets key. Store a copy of it separately: sealed data cannot be read without it."
    );
    Ok(())
}

pub async fn restore(url: &str, file: &Path) -> Result<(), AnyError> {
    let epoch = backup::restore(url, file).await?;
    println!("Restored {}. Starting epoch {epoch}.", file.display());
    match migrations::check(url).await {
        Ok(()) => println!("Next: start the servers with the secrets key of the backup."),
        Err(error) => println!("Next: {error}"),
    }
    Ok(())
}
