//! Mail as files in a folder, to be looked at: for trying things out.

use std::{path::PathBuf, str::FromStr, time::Duration};

use futures_util::future::BoxFuture;
use lettre::message::Mailbox;

use super::mail_form;
use platform::ports::post::{Letter, Post, PostError};

pub struct MailFolder {
    folder: PathBuf,
    from: Mailbox,
}

impl MailFolder {
    pub fn open(folder: PathBuf, from: &str) -> Result<MailFolder, lettre::address::AddressError> {
        Ok(MailFolder { folder, from: Mailbox::from_str(from)? })
    }
}

impl Post for MailFolder {
    fn send<'a>(&'a self, letter: &'a Letter, _: Duration) -> BoxFuture<'a, Result<(), PostError>> {
        Box::pin(async move {
            let away = |error: std::io::Error| PostError::Away(error.to_string());
            let text = mail_form::form(letter, &self.from, self.domain())
                .map_err(|error| PostError::Away(error.to_string()))?;
            tokio::fs::create_dir_all(&self.folder).await.map_err(away)?;
            let file = self.folder.join(format!("{}.eml", letter.message_id));
            tokio::fs::write(&file, text).await.map_err(away)?;
            tracing::info!(file = %file.display(), "a mail was written");
            Ok(())
        })
    }

    fn domain(&self) -> &str {
        self.from.email.domain()
    }
}
