//! Account tokens: secrets that travel by mail alone. Whoever shows one receives
//! mail at its address, so that it makes an account, resets a password or changes
//! an address. They are kept hashed, and sealed until the mail is written.

mod routes;
mod store;

pub use routes::needs_mail;
pub use store::{destination, forget, forget_old, forget_sealed, is_reset_of_an_issuers, sealed};

use contract::{
    account_tokens::{AddressChangeRequested, AddressChanged, PasswordResetRequested, SignUpRequested},
    id::{AccountTokenId, UserId},
};
use kernel::{
    Tx, clock,
    sealed::SealedColumn,
    secrets::{Keyring, hash_token, random_token},
};

use crate::PeopleArea;
use platform::{events::emit, http::Failure, policies::settings};
use store::New;

use platform::registry::Registry;

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.expiry(&["account_tokens"], |area, most| Box::pin(async move { forget_old(&area.db, most).await }));
    registry.secret(&TOKENS);
}

/// Tokens of mails that were not sent yet.
pub const TOKENS: SealedColumn = SealedColumn { table: "account_tokens", column: "sealed", prefix: "account_token:" };

/// What tokens begin with.
const PREFIX: &str = "gpm";

/// What a token is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    SignUp,
    PasswordReset,
    AddressChange,
    /// A notice to the old address; no token.
    AddressChanged,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Purpose::SignUp => "sign_up",
            Purpose::PasswordReset => "password_reset",
            Purpose::AddressChange => "address_change",
            Purpose::AddressChanged => "address_changed",
        }
    }
}

/// What is asked for, and where the mail goes.
pub enum TokenRequest<'a> {
    Account { address: &'a str },
    Password { address: &'a str },
    Address { address: &'a str, user: UserId },
}

/// Has a token mailed, unless the address had its share of such mails in this hour:
/// nobody is told of that, and nobody can fill somebody's mailbox. Earlier tokens work
/// on, so that somebody who uses the share up takes nothing away. Runs in the identity
/// scope.
pub async fn request(area: &PeopleArea, tx: &mut Tx, wanted: TokenRequest<'_>) -> Result<(), Failure> {
    let (purpose, address) = match &wanted {
        TokenRequest::Account { address } => (Purpose::SignUp, *address),
        TokenRequest::Password { address } => (Purpose::PasswordReset, *address),
        TokenRequest::Address { address, .. } => (Purpose::AddressChange, *address),
    };
    let most = area.policies.number(settings::ACCOUNT_MAILS_PER_HOUR);
    if store::in_this_hour(tx, purpose, address).await? as u64 >= most {
        return Ok(());
    }
    let id = AccountTokenId::generate();
    let secret = random_token(PREFIX);
    let hash = hash_token(secret.expose_text().expect("tokens are text"));
    let minutes = settings::minutes(area.policies.number(settings::ACCOUNT_TOKEN_MINUTES));
    let expires_at = clock::now(tx).await? + minutes;
    let sealed = TOKENS.seal(&area.keyring, id.uuid(), secret.expose());
    let new = New { id, purpose, address, user: None, secret: Some((hash, sealed)), expires_at };
    match wanted {
        TokenRequest::Account { .. } => {
            store::insert(tx, new).await?;
            emit(tx, None, id, &SignUpRequested { id });
        }
        TokenRequest::Password { .. } => {
            store::insert(tx, new).await?;
            emit(tx, None, id, &PasswordResetRequested { id });
        }
        TokenRequest::Address { user, .. } => {
            store::insert(tx, New { user: Some(user), ..new }).await?;
            emit(tx, None, id, &AddressChangeRequested { id });
        }
    }
    Ok(())
}

/// Tells an address that its account has another one now.
async fn notify_old(area: &PeopleArea, tx: &mut Tx, user: UserId, address: &str) -> Result<(), Failure> {
    let id = AccountTokenId::generate();
    // As long as a mail may be tried.
    let expires_at = clock::now(tx).await? + settings::days(area.policies.number(settings::MAIL_KEEP_DAYS));
    let purpose = Purpose::AddressChanged;
    let new = New { id, purpose, address, user: Some(user), secret: None, expires_at };
    store::insert(tx, new).await?;
    emit(tx, None, id, &AddressChanged { id });
    Ok(())
}

/// The token of a mail, for the mail itself.
pub fn open(keyring: &Keyring, id: AccountTokenId, sealed: &[u8]) -> Option<String> {
    Some(TOKENS.open(keyring, id.uuid(), sealed).ok()?.expose_text()?.to_owned())
}
