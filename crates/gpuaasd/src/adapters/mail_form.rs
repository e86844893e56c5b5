//! A letter in the form that travels: headers, and the text plain and as HTML.

use lettre::{
    Address, Message,
    address::AddressError,
    message::{
        Mailbox, MultiPart,
        header::{Header, HeaderName, HeaderValue},
    },
};

use platform::ports::post::Letter;

#[derive(Debug, thiserror::Error)]
pub enum FormError {
    #[error("the address is not valid")]
    Address(#[from] AddressError),
    #[error("the message cannot be built")]
    Message(#[from] lettre::error::Error),
}

pub fn form(letter: &Letter, from: &Mailbox, domain: &str) -> Result<Vec<u8>, FormError> {
    let to: Address = letter.to.parse()?;
    let mut message = Message::builder()
        .from(from.clone())
        .to(Mailbox::new(None, to))
        .subject(letter.subject.clone())
        .message_id(Some(format!("<{}@{domain}>", letter.message_id)))
        .date(letter.at.into())
        // Holiday notes and the like must not be sent in answer.
        .header(AutoSubmitted);
    if let Some(url) = &letter.unsubscribe {
        message = message.header(ListUnsubscribe(format!("<{url}>"))).header(ListUnsubscribePost);
    }
    let both = MultiPart::alternative_plain_html(letter.text.clone(), letter.html.clone());
    Ok(message.multipart(both)?.formatted())
}

macro_rules! headers {
    ($($type:ident = $name:literal: $value:expr;)+) => { $(
        impl Header for $type {
            fn name() -> HeaderName {
                HeaderName::new_from_ascii_str($name)
            }
            fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
                Err("it is written only".into())
            }
            fn display(&self) -> HeaderValue {
                let value: fn(&Self) -> String = $value;
                let value = value(self);
                // Ours and plain ASCII; encoded words would not be understood here.
                HeaderValue::dangerous_new_pre_encoded(Self::name(), value.clone(), value)
            }
        }
    )+ };
}

#[derive(Clone)]
struct AutoSubmitted;
#[derive(Clone)]
struct ListUnsubscribe(String);
#[derive(Clone)]
struct ListUnsubscribePost;

headers! {
    AutoSubmitted = "Auto-Submitted": |_| "auto-generated".into();
    ListUnsubscribe = "List-Unsubscribe": |it| it.0.clone();
    ListUnsubscribePost = "List-Unsubscribe-Post": |_| "List-Unsubscribe=One-Click".into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_has_its_headers_and_both_texts() {
        let letter = Letter {
            to: "ann@example.com".into(),
            subject: "Lease of größer\r\nBcc: everybody@example.com".into(),
            text: "plain".into(),
            html: "<p>rich</p>".into(),
            message_id: "one".into(),
            unsubscribe: Some("https://gpu.example.com/unsubscribe/x".into()),
            at: contract::Timestamp::UNIX_EPOCH,
        };
        let from: Mailbox = "gpuaas <no-reply@gpu.example.com>".parse().unwrap();
        let text = String::from_utf8(form(&letter, &from, "gpu.example.com").unwrap()).unwrap();
        for line in [
            "Message-ID: <one@gpu.example.com>",
            "List-Unsubscribe: <https://gpu.example.com/unsubscribe/x>",
            "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
            "Auto-Submitted: auto-generated",
            "plain",
            "<p>rich</p>",
        ] {
            assert!(text.contains(&format!("{line}\r\n")), "{line} in {text}");
        }
        assert!(!text.contains("\r\nBcc"), "a title adds no header: {text}");
    }
}
