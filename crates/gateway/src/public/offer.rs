//! What a client offers in `Sec-WebSocket-Protocol`: the version, and beside it
//! what must not stand in an address.

use http::HeaderMap;
use http::header::SEC_WEBSOCKET_PROTOCOL;
use protocol::stream::Size;
use std::fmt;

/// The subprotocol that is selected.
pub const VERSION: &str = "gpuaas.v1";
const MAX_SECRET: usize = 256; // bound: a ticket has 43 characters

/// By what somebody wants to be let in.
#[derive(Clone, PartialEq, Eq)]
pub enum Key {
    Ticket(String),
    /// Of a forward that is open.
    Session(String),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ticket(_) => "Ticket",
            Self::Session(_) => "Session",
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    pub speaks_version: bool,
    pub key: Option<Key>,
    /// Up to where the client has seen output.
    pub seen: Option<u64>,
    pub size: Option<Size>,
}

impl Offer {
    /// What is not understood is passed over.
    pub fn read(headers: &HeaderMap) -> Self {
        let mut offer = Self::default();
        let lines = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|it| it.to_str().ok());
        for word in lines.flat_map(|it| it.split(',')).map(str::trim) {
            if word == VERSION {
                offer.speaks_version = true;
            } else if let Some(ticket) = word.strip_prefix("gpuaas.ticket.") {
                offer.key = secret(ticket).map(Key::Ticket);
            } else if let Some(key) = word.strip_prefix("gpuaas.session.") {
                offer.key = secret(key).map(Key::Session);
            } else if let Some(seen) = word.strip_prefix("gpuaas.seen.") {
                offer.seen = seen.parse().ok();
            } else if let Some(size) = word.strip_prefix("gpuaas.size.") {
                offer.size = read_size(size);
            }
        }
        offer
    }
}

fn secret(text: &str) -> Option<String> {
    is_secret(text).then(|| text.to_owned())
}

/// Whether it could be a ticket or a key at all.
pub fn is_secret(text: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.');
    !text.is_empty() && text.len() <= MAX_SECRET && text.bytes().all(is_plain)
}

fn read_size(text: &str) -> Option<Size> {
    let (columns, rows) = text.split_once('x')?;
    Some(Size { columns: columns.parse().ok()?, rows: rows.parse().ok()? }.clamped())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Offer {
        let mut headers = HeaderMap::new();
        headers.insert(SEC_WEBSOCKET_PROTOCOL, text.parse().unwrap());
        Offer::read(&headers)
    }

    #[test]
    fn offer_is_read_in_any_order() {
        let offer = read("gpuaas.ticket.Ab-_9, gpuaas.v1,gpuaas.seen.77, gpuaas.size.120x40");
        let key = Some(Key::Ticket("Ab-_9".into()));
        let size = Some(Size { columns: 120, rows: 40 });
        assert_eq!(offer, Offer { speaks_version: true, key, seen: Some(77), size });
        assert_eq!(read("gpuaas.session.k").key, Some(Key::Session("k".into())));
    }

    #[test]
    fn malformed_parts_of_an_offer_are_ignored() {
        assert_eq!(read("chat, gpuaas.seen.-1, gpuaas.size.1, gpuaas.ticket."), Offer::default());
        assert_eq!(read("gpuaas.ticket.a/../b").key, None);
        assert_eq!(read(&format!("gpuaas.ticket.{}", "a".repeat(300))).key, None);
        assert_eq!(read("gpuaas.size.0x65535").size, Some(Size { columns: 2, rows: Size::MOST_ROWS }));
    }

    #[test]
    fn a_secret_is_never_printed() {
        assert!(!format!("{:?}", read("gpuaas.ticket.hidden")).contains("hidden"));
    }
}
