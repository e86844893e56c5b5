//! The configuration file on a real file system.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use super::*;
use crate::failure::Failure;

fn session() -> StoredSession {
    StoredSession {
        session_id: SessionId::generate(),
        user_id: UserId::generate(),
        access_token: SecretText::new("hidden".into()),
        access_expires_at: Timestamp::UNIX_EPOCH,
        refresh_token: SecretText::new("hidden".into()),
        refresh_expires_at: Timestamp::UNIX_EPOCH,
    }
}

fn add(name: &str) -> impl FnOnce(&mut Config) -> Result<(), Failure> {
    let name = name.to_owned();
    move |config| {
        let stored =
            StoredContext { url: Some("https://a".into()), session: Some(session()), ..StoredContext::default() };
        config.contexts.insert(name, stored);
        Ok(())
    }
}

#[tokio::test]
async fn configuration_is_read_back_and_readable_by_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::at(folder.path().join("deep/er/config.toml"));
    assert!(file.read().unwrap().contexts.is_empty());
    file.change(add("work")).await.unwrap();
    let config = file.read().unwrap();
    assert_eq!(config.contexts["work"].session.as_ref().unwrap().access_token.expose(), "hidden");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file.path()), mode(file.path().parent().unwrap())), (0o600, 0o700));
}

#[tokio::test]
async fn a_change_that_fails_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::at(folder.path().join("config.toml"));
    file.change(add("work")).await.unwrap();
    let before = fs::read_to_string(file.path()).unwrap();
    let refused: Result<(), Failure> = file
        .change(|config| {
            config.contexts.clear();
            Err(Failure::usage("no", ""))
        })
        .await;
    assert!(refused.is_err());
    assert_eq!(fs::read_to_string(file.path()).unwrap(), before);
}

#[tokio::test]
async fn concurrent_changes_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::at(folder.path().join("config.toml"));
    let changes = (0..20).map(|number| {
        let file = file.clone();
        tokio::spawn(async move { file.change(add(&format!("c{number}"))).await.is_ok() })
    });
    for change in changes.collect::<Vec<_>>() {
        assert!(change.await.unwrap());
    }
    assert_eq!(file.read().unwrap().contexts.len(), 20);
}

#[tokio::test]
async fn a_symlinked_configuration_file_is_replaced_at_its_target() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.toml"), folder.path().join("link.toml"));
    fs::write(&real, "").unwrap();
    symlink(&real, &link).unwrap();
    ConfigFile::at(link.clone()).change(add("work")).await.unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("[contexts.work]"));
}

#[test]
fn a_broken_file_is_named_with_its_line_and_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(&path, "current = \"a\"\naccess_token = hidden\n").unwrap();
    let error = ConfigFile::at(path).read().unwrap_err().for_people();
    assert!(error.contains("line 2") && !error.contains("hidden") && error.contains("GPUAAS_CONFIG"), "{error}");
}
