//! Access tickets: leave to open one way into an allocation, once and soon.
//! Only their hashes are kept; a gateway has them exchanged.

mod routes;
mod store;

pub use store::{Ticket, Unspent, forget_old, spend, why_not};

use contract::{
    Timestamp,
    id::{AccessSessionId, AccessTicketId},
};
use kernel::{
    Tx,
    secrets::{hash_token, random_token},
};

use people::credentials::Credential;

use crate::AccessArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<AccessArea>) {
    registry.table(
        "access_tickets",
        ParentEnd::EndsToo("`access_sessions/authorize.rs`: a ticket is not valid after its allocation ended"),
    );
    registry.expiry(&["access_tickets"], |area, most| Box::pin(async move { forget_old(&area.db, most).await }));
}

/// What tickets begin with.
const PREFIX: &str = "gpt";

/// Makes a ticket; its secret is given away once, here.
async fn mint(tx: &mut Tx, ticket: &Ticket, expires_at: Timestamp) -> sqlx::Result<(AccessTicketId, String)> {
    let secret = random_token(PREFIX);
    let text = secret.expose_text().expect("tokens are text").to_owned();
    let id = store::insert(tx, ticket, &hash_token(&text), expires_at).await?;
    Ok((id, text))
}

impl Ticket {
    /// What was shown to get it.
    pub fn credential(&self) -> Credential {
        Credential { login_session: self.login_session_id, key: self.key_id }
    }

    /// The session that it opens or joins.
    pub fn session(&self) -> AccessSessionId {
        self.session_id.into()
    }
}
