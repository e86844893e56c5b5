//! Builds the outside world that the configuration names: who carries mail away,
//! who takes people's money, and what keeps recordings.

use std::{path::PathBuf, sync::Arc};

use kernel::clock::Clock;
use people::mails::Sending;
use platform::{
    config::{Config, ConfigError, Mail, Recordings, read},
    ports::{payments::PaymentProvider, post::Post, recording_store::RecordingStore},
};

use super::{
    mail_folder::MailFolder,
    recording_folder::RecordingFolder,
    s3::{S3, S3Access},
    smtp::{Smtp, SmtpError},
    stripe::{self, StripeAccess},
};

/// Says what is wrong with a configuration before anything starts.
pub fn check(config: &Config) -> Result<(), ConfigError> {
    payments(config)?;
    sending(config).map(|_| ())
}

/// Who carries mail away, if somebody does.
pub fn sending(config: &Config) -> Result<Option<Sending>, ConfigError> {
    let wrong = |name, what: String| ConfigError::Value { name, what };
    let Mail { url, from, public_url, folder } = &config.mail;
    let post: Arc<dyn Post> = match (url, folder) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(wrong("mail.folder", "set either this or `mail.url`, not both".into())),
        (None, Some(folder)) => {
            let from = from.as_deref().unwrap_or("gpuaas <gpuaas@localhost>");
            let opened = MailFolder::open(folder.clone(), from);
            Arc::new(opened.map_err(|error| wrong("mail.from", error.to_string()))?)
        }
        (Some(url), None) => {
            let from = from.as_deref().ok_or_else(|| wrong("mail.from", "required when `mail.url` is set".into()))?;
            let opened = Smtp::open(url, from).map_err(|error| match error {
                SmtpError::From(_) => wrong("mail.from", error.to_string()),
                SmtpError::Url | SmtpError::OpenPassword => wrong("mail.url", error.to_string()),
            });
            Arc::new(opened?)
        }
    };
    let public_url = public_url.as_ref().unwrap_or(&config.identity.issuer).clone();
    Ok(Some(Sending { post, public_url }))
}

/// Who takes people's money, if somebody does.
pub fn payments(config: &Config) -> Result<Option<Arc<dyn PaymentProvider>>, ConfigError> {
    let wrong = |name, what: &str| ConfigError::Value { name, what: what.to_owned() };
    let it = &config.stripe;
    let read = |path: &Option<PathBuf>| match path {
        None => Ok(String::new()),
        Some(path) => {
            std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { path: path.clone(), source })
        }
    };
    let key = it.secret_key.clone().map_or_else(|| read(&it.secret_key_file), Ok)?.trim().to_owned();
    let mut secrets = it.webhook_secrets.clone();
    secrets.extend(read(&it.webhook_secrets_file)?.lines().map(|it| it.trim().to_owned()));
    secrets.retain(|it| !it.is_empty());
    if key.is_empty() {
        if secrets.is_empty() {
            return Ok(None);
        }
        return Err(wrong("stripe.secret_key", "required when webhook secrets are set"));
    }
    if !key.bytes().all(|it| it.is_ascii_graphic()) || !(key.starts_with("sk_") || key.starts_with("rk_")) {
        return Err(wrong("stripe.secret_key", "expected a key that starts with `sk_` or `rk_`"));
    }
    if secrets.is_empty() {
        return Err(wrong("stripe.webhook_secrets", "required to verify events from Stripe"));
    }
    let url = it.url.as_deref().unwrap_or("https://api.stripe.com");
    let is_safe = platform::config::is_safe(url);
    let url = url::Url::parse(&format!("{}/", url.trim_end_matches('/')));
    let Some(url) = url.ok().filter(|_| is_safe) else {
        return Err(wrong("stripe.url", "expected an `https` URL; `http` is allowed only for localhost"));
    };
    let return_url = it.return_url.as_ref().unwrap_or(&config.identity.issuer).clone();
    let webhook_secrets = secrets.into_iter().map(Into::into).collect();
    let access = StripeAccess { url, secret_key: key.into(), webhook_secrets, return_url };
    Ok(Some(Arc::new(stripe::Stripe::new(access))))
}

/// What keeps recordings. The clock dates what is asked of a store elsewhere.
pub fn recordings(wanted: &Recordings, clock: &Clock) -> Result<Option<Arc<dyn RecordingStore>>, ConfigError> {
    let wrong = |name, what: &str| ConfigError::Value { name, what: what.to_owned() };
    match (&wanted.folder, &wanted.s3_url) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(wrong("recordings.folder", "set either this or `recordings.s3_url`, not both")),
        (Some(folder), None) => Ok(Some(Arc::new(RecordingFolder::open(folder.clone())))),
        (None, Some(url)) => {
            let is_safe = platform::config::is_safe(url);
            let parsed = url::Url::parse(url).ok().filter(|it| is_safe && it.path() != "/");
            let expected = "expected `https://host/bucket`; `http` is allowed only for localhost";
            let url = parsed.ok_or_else(|| wrong("recordings.s3_url", expected))?;
            let access_key = wanted.s3_access_key.clone();
            let access_key = access_key
                .ok_or_else(|| wrong("recordings.s3_access_key", "required when `recordings.s3_url` is set"))?;
            let secret = match (&wanted.s3_secret_key, &wanted.s3_secret_key_file) {
                (Some(secret), _) => secret.clone(),
                (None, Some(path)) => read(path)?.trim().to_owned(),
                (None, None) => {
                    return Err(wrong("recordings.s3_secret_key", "required when `recordings.s3_url` is set"));
                }
            };
            let region = wanted.s3_region.clone().unwrap_or_else(|| "us-east-1".into());
            let access = S3Access { url, region, access_key, secret_key: secret.into() };
            Ok(Some(Arc::new(S3::new(access, clock.clone()))))
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn invalid_settings_of_mail_and_payments_are_named() {
        for (text, word) in [
            ("[mail]\nurl = \"smtp://mail.example.com\"", "mail.from"),
            ("[mail]\nurl = \"https://mail.example.com\"\nfrom = \"a@example.com\"", "mail.url"),
            ("[stripe]\nsecret_key = \"sk_test_1\"", "stripe.webhook_secrets"),
            ("[stripe]\nwebhook_secrets = [\"whsec_1\"]", "stripe.secret_key"),
            ("[stripe]\nsecret_key = \"pk_test_1\"\nwebhook_secrets = [\"whsec_1\"]", "stripe.secret_key"),
            ("[stripe]\nsecret_key_file = \"/nowhere/key\"", "/nowhere/key"),
            ("[stripe]\nsecret_key = \"sk_1\"\nwebhook_secrets = [\"w\"]\nurl = \"http://example.com\"", "stripe.url"),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            let error = crate::configure(Some(&file.path().to_path_buf()), |_| None).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
