//! What somebody showed to open a way in. When it is revoked, everything that was
//! opened with it ends: tickets, sessions and certificates.

mod store;

use contract::id::{KeyId, SessionId};
use uuid::Uuid;

use platform::{
    identity::{Caller, Principal},
    registry::Registry,
};

use crate::PeopleArea;

pub use store::is_revoked;

pub fn register(_: &mut Registry<PeopleArea>) {}

/// At most one of both. Neither: they came with an SSH key, which is looked at by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Credential {
    pub login_session: Option<Uuid>,
    pub key: Option<Uuid>,
}

impl Credential {
    pub fn of(caller: &Caller) -> Self {
        match &caller.who {
            Principal::Anyone => Self::default(),
            Principal::Person { key: Some(key), .. } | Principal::ServiceAccount { key, .. } => {
                Self { login_session: None, key: Some(key.uuid()) }
            }
            Principal::Person { session, key: None, .. } => {
                Self { login_session: session.map(|it| it.uuid()), key: None }
            }
        }
    }

    /// As a certificate names it.
    pub fn text(self) -> Option<String> {
        match (self.login_session, self.key) {
            (Some(session), _) => Some(format!("session:{}", SessionId::from(session))),
            (None, Some(key)) => Some(format!("key:{}", KeyId::from(key))),
            (None, None) => None,
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("session", id) => Some(Self { login_session: Some(id.parse::<SessionId>().ok()?.uuid()), key: None }),
            ("key", id) => Some(Self { login_session: None, key: Some(id.parse::<KeyId>().ok()?.uuid()) }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credential_reads_back_as_it_was_written() {
        let session = Credential { login_session: Some(SessionId::generate().uuid()), key: None };
        let key = Credential { login_session: None, key: Some(KeyId::generate().uuid()) };
        for it in [session, key] {
            assert_eq!(Credential::parse(&it.text().unwrap()), Some(it));
        }
        assert_eq!(Credential::default().text(), None);
        for bad in ["", "session", "session:", "session:key-1", "user:1"] {
            assert_eq!(Credential::parse(bad), None, "{bad}");
        }
    }
}
