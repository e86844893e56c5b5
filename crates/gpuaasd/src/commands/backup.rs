//! `backup` and `restore`.

use std::path::Path;

use gpuaasd::{backup, migrations};

use super::AnyError;

pub async fn back_up(url: &str, file: &Path) -> Result<(), AnyError> {
    let bytes = backup::back_up(url, file).await?;
    println!("wrote {} ({bytes} bytes)", file.display());
    println!("the secrets key is not in it: keep a copy of that apart, without it nothing sealed can be opened");
    Ok(())
}

pub async fn restore(url: &str, file: &Path) -> Result<(), AnyError> {
    let epoch = backup::restore(url, file).await?;
    println!("restored {}; epoch {epoch} starts", file.display());
    match migrations::check(url).await {
        Ok(()) => println!("next: start the servers with the secrets key of the backup"),
        Err(error) => println!("next: {error}"),
    }
    Ok(())
}
