//! Mail by SMTP. The steps are taken one by one, because a refusal means
//! something else at each of them.

use std::{fmt::Display, str::FromStr, time::Duration};

use futures_util::future::BoxFuture;
use lettre::{
    Address,
    address::AddressError,
    message::Mailbox,
    transport::smtp::{
        Error,
        authentication::{Credentials, Mechanism},
        client::{AsyncSmtpConnection, TlsParameters},
        commands::{Data, Mail, Rcpt},
        extension::ClientId,
    },
};
use tokio::time::timeout;
use url::Url;

use super::mail_form;
use platform::ports::post::{Letter, Post, PostError};

pub struct Smtp {
    host: String,
    port: u16,
    security: Security,
    credentials: Option<Credentials>,
    from: Mailbox,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Security {
    /// Encrypted from the first byte.
    Implicit,
    /// Encrypted after a greeting, or not used.
    Upgrade,
    /// Not encrypted: to this very machine only.
    Plain,
}

#[derive(Debug, thiserror::Error)]
pub enum SmtpError {
    #[error("expected `smtps://user:password@mail.example.com`, or `smtp://` for STARTTLS")]
    Url,
    #[error("a password requires an encrypted connection: use `smtps://`")]
    OpenPassword,
    #[error("the sender is not valid: expected `name@example.com` or `Some Name <name@example.com>`")]
    From(#[from] AddressError),
}

// bound: what the server said is kept in short
const SAID: usize = 300;
// bound: a goodbye that takes longer is not waited for
const GOODBYE: Duration = Duration::from_secs(1);

impl Smtp {
    /// `smtps` encrypts at once, `smtp` by STARTTLS; to this machine itself `smtp` is plain.
    pub fn open(url: &str, from: &str) -> Result<Smtp, SmtpError> {
        let url = Url::parse(url).map_err(|_| SmtpError::Url)?;
        let host = url.host_str().filter(|it| !it.is_empty()).ok_or(SmtpError::Url)?.to_owned();
        let is_here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|it| it.is_loopback());
        let (security, port) = match url.scheme() {
            "smtps" => (Security::Implicit, 465),
            "smtp" if is_here => (Security::Plain, 25),
            "smtp" => (Security::Upgrade, 587),
            _ => return Err(SmtpError::Url),
        };
        let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        let credentials = url.password().map(|password| Credentials::new(plain(url.username()), plain(password)));
        if credentials.is_some() && security == Security::Plain {
            return Err(SmtpError::OpenPassword);
        }
        Ok(Smtp { host, port: url.port().unwrap_or(port), security, credentials, from: Mailbox::from_str(from)? })
    }

    async fn connect(&self, patience: Duration) -> Result<AsyncSmtpConnection, PostError> {
        let hello = ClientId::Domain(self.domain().to_owned());
        let tls = || TlsParameters::new(self.host.clone()).map_err(before);
        let at_once = match self.security {
            Security::Implicit => Some(tls()?),
            Security::Upgrade | Security::Plain => None,
        };
        let server = (self.host.as_str(), self.port);
        let connected = AsyncSmtpConnection::connect_tokio1(server, Some(patience), &hello, at_once, None).await;
        let mut connection = connected.map_err(before)?;
        if self.security == Security::Upgrade {
            connection.starttls(tls()?, &hello).await.map_err(before)?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(&[Mechanism::Plain, Mechanism::Login], credentials).await.map_err(before)?;
        }
        Ok(connection)
    }

    async fn hand_over(&self, letter: &Letter, patience: Duration) -> Result<(), PostError> {
        // An address that cannot be written down in a mail will not be better later.
        let unfit = |error: &dyn Display| PostError::Address { code: UNFIT, text: error.to_string() };
        let to = Address::from_str(&letter.to).map_err(|error| unfit(&error))?;
        let message = mail_form::form(letter, &self.from, self.domain()).map_err(|error| unfit(&error))?;
        let mut connection = self.connect(patience).await?;
        let sent = async {
            connection.command(Mail::new(Some(self.from.email.clone()), vec![])).await.map_err(before)?;
            let taken = connection.command(Rcpt::new(to, vec![])).await;
            taken.map_err(|error| at(error, about_recipient))?;
            let refused = |error| at(error, |code, text| PostError::Letter { code, text });
            connection.command(Data).await.map_err(refused)?;
            connection.message(&message).await.map_err(refused)?;
            Ok::<(), PostError>(())
        }
        .await;
        // Accepted is accepted, however the goodbye goes: nobody waits for it, so that
        // little time is left in which a crash would send the mail again.
        tokio::spawn(async move { timeout(GOODBYE, connection.quit()).await.is_ok() });
        sent.map_err(|error| without(error, &letter.to))
    }
}

/// Stands for a refusal of our own, as a server would say it: bad syntax of a mailbox.
const UNFIT: u16 = 553; // bound: RFC 5321

impl Post for Smtp {
    fn send<'a>(&'a self, letter: &'a Letter, patience: Duration) -> BoxFuture<'a, Result<(), PostError>> {
        Box::pin(async move {
            let handed = timeout(patience, self.hand_over(letter, patience)).await;
            handed.unwrap_or_else(|_| Err(PostError::Away("it did not respond in time".into())))
        })
    }

    fn domain(&self) -> &str {
        self.from.email.domain()
    }
}

/// A failure before the recipient was named says nothing about them.
fn before(error: Error) -> PostError {
    at(error, |code, text| PostError::Sender { code, text })
}

/// A permanent refusal when the recipient was named: theirs, unless it is about
/// who may send here. Then every address would be refused, and none is at fault.
fn about_recipient(code: u16, text: String) -> PostError {
    let is_policy = text.split(' ').any(|it| it.starts_with("5.7."));
    if is_policy { PostError::Sender { code, text } } else { PostError::Address { code, text } }
}

fn at(error: Error, permanent: impl FnOnce(u16, String) -> PostError) -> PostError {
    let text = said(&error);
    match error.status().map(u16::from) {
        Some(code) if error.is_permanent() => permanent(code, text),
        Some(code) => PostError::Later { code, text },
        None => PostError::Away(text),
    }
}

fn said(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if !text.contains(&error.to_string()) {
            text = format!("{text}: {error}");
        }
        cause = error.source();
    }
    // The library's own words for what the code says already.
    if error.status().is_some()
        && let Some((_, said)) = text.split_once("): ")
    {
        text = said.to_owned();
    }
    text.chars().filter(|it| !it.is_control()).take(SAID).collect()
}

/// Servers like to repeat the address; what they say is kept where addresses must not be.
fn without(error: PostError, address: &str) -> PostError {
    let hide = |text: String| {
        let lower = text.to_lowercase();
        match lower.find(&address.to_lowercase()) {
            // Letters outside ASCII may change their length; then nothing is kept.
            Some(_) if !text.is_ascii() => "(not shown)".to_owned(),
            Some(place) => format!("{}(address){}", &text[..place], &text[place + address.len()..]),
            None => text,
        }
    };
    match error {
        PostError::Away(text) => PostError::Away(hide(text)),
        PostError::Later { code, text } => PostError::Later { code, text: hide(text) },
        PostError::Address { code, text } => PostError::Address { code, text: hide(text) },
        PostError::Letter { code, text } => PostError::Letter { code, text: hide(text) },
        PostError::Sender { code, text } => PostError::Sender { code, text: hide(text) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_how_the_connection_is_protected() {
        let open = |url: &str| Smtp::open(url, "gpuaas <no-reply@example.com>");
        let found = |url: &str| open(url).map(|it| (it.security, it.port)).ok();
        assert_eq!(found("smtps://u:p@mail.example.com"), Some((Security::Implicit, 465)));
        assert_eq!(found("smtp://u:p@mail.example.com"), Some((Security::Upgrade, 587)));
        assert_eq!(found("smtp://127.0.0.1:2525"), Some((Security::Plain, 2525)));
        assert!(matches!(open("smtp://u:p@localhost"), Err(SmtpError::OpenPassword)));
        assert!(matches!(open("http://mail.example.com"), Err(SmtpError::Url)));
        assert!(matches!(Smtp::open("smtp://localhost", "nobody"), Err(SmtpError::From(_))));
    }

    #[test]
    fn a_server_that_does_not_relay_says_nothing_about_an_address() {
        let refused = |text: &str| about_recipient(554, text.into());
        assert!(matches!(refused("5.7.1 relay access denied"), PostError::Sender { .. }));
        assert!(matches!(refused("5.1.1 unknown"), PostError::Address { .. }));
    }

    #[test]
    fn stored_mail_error_does_not_name_the_address() {
        let error = PostError::Address { code: 550, text: "5.1.1 <Ann@Example.com> unknown".into() };
        let kept = without(error, "ann@example.com").to_string();
        assert_eq!(kept, "the mail server rejected the address: 5.1.1 <(address)> unknown");
    }
}
