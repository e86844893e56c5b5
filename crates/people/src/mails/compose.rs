//! From what a mail says to the letter that leaves: templates, filled in. Pure.

use aws_lc_rs::digest;
use contract::{Timestamp, Word, notification_kinds::NotificationKind};
use uuid::Uuid;

use super::store::{Recipient, StoredMail};
use platform::ports::post::Letter;

const TEXT: &str = include_str!("templates/mail.txt");
const HTML: &str = include_str!("templates/mail.html");

/// The same for the same event and recipient, whatever else is lost.
pub fn message_id(cause: Uuid, recipient: Recipient) -> String {
    let mut whole = digest::Context::new(&digest::SHA256);
    whole.update(cause.as_bytes());
    whole.update(recipient.uuid().as_bytes());
    // bound: 128 bits are as good as a UUID
    whole.finish().as_ref().iter().take(16).map(|it| format!("{it:02x}")).collect()
}

/// `unsubscribe` is where mails of this kind are stopped; mandatory ones have no such place.
pub fn letter(
    held: &StoredMail,
    body: &str,
    to: String,
    platform: &str,
    unsubscribe: Option<String>,
    at: Timestamp,
) -> Letter {
    let why = match &unsubscribe {
        Some(url) => format!("To stop emails of this kind ({}): {url}", held.kind.as_str()),
        None => format!("Emails of this kind ({}) cannot be turned off.", held.kind.as_str()),
    };
    let text = fill(TEXT, &[("title", &held.title), ("body", body), ("why", &why), ("platform", platform)]);
    let paragraphs: String = body.split("\n\n").map(paragraph).collect();
    let why = match &unsubscribe {
        Some(url) => format!(
            "Emails of this kind ({}): <a href=\"{}\">unsubscribe</a>.",
            escape(held.kind.as_str()),
            escape(url)
        ),
        None => escape(&why),
    };
    let html = fill(
        HTML,
        &[("title", &escape(&held.title)), ("paragraphs", &paragraphs), ("why", &why), ("platform", &escape(platform))],
    );
    let message_id = held.mail.message_id.clone();
    Letter { to, subject: held.title.clone(), text, html, message_id, unsubscribe, at }
}

/// What a mail says of the token that it carries: where it is used, on a page and on
/// the command line. The page's address has it behind the `#`, which browsers keep.
pub fn handed(kind: NotificationKind, platform: &str, token: &str) -> String {
    let platform = platform.trim_end_matches('/');
    let (page, command) = match kind {
        NotificationKind::PasswordReset => ("reset-password", "gpuaas me password reset --confirm"),
        NotificationKind::AddressChange => ("account", "gpuaas me address confirm"),
        // The token of an invitation confirms an account as that of a sign-up does.
        _ => ("sign-up", "gpuaas users confirm"),
    };
    format!("Continue at {platform}/{page}#token={token}\n\nOr run `{command}` and enter this token:\n`{token}`")
}

/// What stands between backticks is something to type.
fn paragraph(text: &str) -> String {
    let parts = escape(text).replace('\n', "<br>\n");
    let parts: Vec<&str> = parts.split('`').collect();
    let typed = |(place, part): (usize, &&str)| match place % 2 == 1 && place + 1 < parts.len() {
        true => format!("<code>{part}</code>"),
        false => (*part).to_owned(),
    };
    let inner: String = parts.iter().enumerate().map(typed).collect();
    format!("<p style=\"margin:0 0 16px\">{inner}</p>\n")
}

/// Puts values where the template names them, once: what a value contains is never a name.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out += before;
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        out += values.iter().find(|(it, _)| *it == name).map_or("", |(_, value)| value);
        rest = after;
    }
    out + rest
}

pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_once_and_escaped() {
        let filled = fill("<b>{{a}}</b> {{b}}{{c}}.", &[("a", &escape("<i>&\"'")), ("b", "{{a}}")]);
        assert_eq!(filled, "<b>&lt;i&gt;&amp;&quot;&#39;</b> {{a}}.");
    }

    #[test]
    fn code_in_a_mail_looks_like_code_and_stays_escaped() {
        let html = paragraph("type `a <b>`,\nor not `");
        assert_eq!(html, "<p style=\"margin:0 0 16px\">type <code>a &lt;b&gt;</code>,<br>\nor not </p>\n");
    }

    #[test]
    fn every_name_in_the_templates_is_known() {
        let names = |text: &str| -> Vec<String> {
            text.split("{{").skip(1).filter_map(|it| it.split_once("}}")).map(|it| it.0.to_owned()).collect()
        };
        assert_eq!(names(TEXT), ["title", "body", "why", "platform"]);
        assert_eq!(names(HTML), ["title", "title", "paragraphs", "why", "platform"]);
    }

    #[test]
    fn a_message_id_depends_on_cause_and_recipient_alone() {
        let (cause, user) = (Uuid::from_u128(1), contract::id::UserId::from(Uuid::from_u128(2)));
        let id = message_id(cause, Recipient::Person(user));
        assert_eq!(id, message_id(cause, Recipient::Person(user)));
        assert_ne!(id, message_id(Uuid::from_u128(3), Recipient::Person(user)));
        assert_eq!(id.len(), 32);
    }
}
