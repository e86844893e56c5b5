//! Addresses are proven by mail: accounts, passwords and changes of address go
//! through tokens that nobody but the reader of the mail has seen.

use std::time::Duration;

use client::{Client, ClientError};
use contract::{
    Code, Nothing, Role, SecretText,
    account_tokens::{
        AccountToken, AddressChangeSpec, ConfirmAddressChange, ConfirmPasswordReset, ConfirmSignUp, PasswordReset,
        PasswordResetSpec, RequestAddressChange, RequestPasswordReset, SignUpConfirmation,
    },
    invitations::{AcceptInvitation, CreateInvitation, InvitationSpec, InvitationToken},
    mails::MailState,
    organizations::OrganizationPath,
    sessions::{CreateSession, Credentials, RefreshSession, RefreshToken, TokenSet},
    users::{NewUser, SignUp, WhoAmI},
};
use platform::policies::settings;
use serde_json::json;
use testkit::{MailServer, Member, server::eventually, world::PASSWORD};

use super::stand::Stand;

const NEW_PASSWORD: &str = "another long phrase"; // secret-scan: allow

fn secret(text: &str) -> SecretText {
    SecretText::new(text.into())
}

/// The token in a mail.
fn token(text: &str, prefix: &str) -> String {
    let start = text.find(prefix).unwrap_or_else(|| panic!("no {prefix} in {text}"));
    text[start..].chars().take_while(|it| it.is_ascii_alphanumeric() || "-_".contains(*it)).collect()
}

impl Stand {
    fn anyone(&self) -> Client {
        self.world.server.client(None)
    }

    /// Waits until so many mails were made, and sends them.
    async fn mails_are(&self, count: usize) {
        eventually("the mails to be made", || async { self.mails().await.len() == count }).await;
        self.world.server.settle().await;
    }

    async fn sign_in(&self, email: &str, password: &str) -> Result<TokenSet, ClientError> {
        let body = Credentials { email: email.parse().unwrap(), password: secret(password) };
        self.anyone().call::<CreateSession>(Nothing {}, Nothing {}, body).await
    }

    async fn sign_up(&self, email: &str) -> Result<Nothing, ClientError> {
        let body = NewUser { email: email.parse().unwrap() };
        self.anyone().call::<SignUp>(Nothing {}, Nothing {}, body).await
    }

    async fn confirm(&self, token: &str, password: &str) -> Result<Nothing, ClientError> {
        let name = "New Comer".parse().unwrap();
        let body = SignUpConfirmation { token: secret(token), name, password: secret(password) };
        self.anyone().call::<ConfirmSignUp>(Nothing {}, Nothing {}, body).await
    }

    async fn ask_for_password(&self, email: &str) {
        let body = PasswordResetSpec { email: email.parse().unwrap() };
        self.anyone().call::<RequestPasswordReset>(Nothing {}, Nothing {}, body).await.unwrap();
    }

    async fn set_password(&self, token: &str, password: &str) -> Result<Nothing, ClientError> {
        let body = PasswordReset { token: secret(token), password: secret(password) };
        self.anyone().call::<ConfirmPasswordReset>(Nothing {}, Nothing {}, body).await
    }

    async fn count(&self, of: &str) -> i64 {
        let statement = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {of}"));
        sqlx::query_scalar(statement).fetch_one(&mut self.world.server.database.superuser().await).await.unwrap()
    }

    /// Every sealed value of every table: where it is, and the key that sealed it.
    async fn sealed(&self) -> Vec<(String, String)> {
        let mut connection = self.world.server.database.superuser().await;
        let columns: Vec<(String, String)> = sqlx::query_as(
            "SELECT c.table_name, c.column_name FROM information_schema.columns c
             JOIN information_schema.tables t USING (table_schema, table_name)
             WHERE c.table_schema = 'public' AND c.data_type = 'bytea' AND t.table_type = 'BASE TABLE'",
        )
        .fetch_all(&mut connection)
        .await
        .unwrap();
        let mut found = Vec::new();
        for (table, column) in columns {
            let statement = format!("SELECT {column} FROM {table} WHERE {column} IS NOT NULL");
            let values: Vec<Vec<u8>> =
                sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).fetch_all(&mut connection).await.unwrap();
            for value in values {
                if let Ok(sealed) = kernel::secrets::Sealed::from_bytes(&value) {
                    found.push((format!("{table}.{column}"), sealed.key_id().as_str().to_owned()));
                }
            }
        }
        found
    }

    /// An account as an earlier release made them: nobody proved its address.
    async fn unproven(&self, person: &Member) {
        let statement = "UPDATE users SET address_proven_at = NULL WHERE id = $1";
        let mut connection = self.world.server.database.superuser().await;
        sqlx::query(statement).bind(person.id.uuid()).execute(&mut connection).await.unwrap();
    }

    async fn no_token_is_stored_in_clear(&self) {
        for table in ["mails", "notifications", "account_tokens", "invitations", "outbox", "audit"] {
            let found =
                self.count(&format!("{table} AS t WHERE t::text LIKE '%gpm\\_%' OR t::text LIKE '%gpi\\_%'")).await;
            assert_eq!(found, 0, "{table} holds a token");
        }
    }
}

fn refused<T: std::fmt::Debug>(answer: Result<T, ClientError>, code: Code) {
    let error = answer.unwrap_err();
    assert!(error.is(code), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn invited_person_signs_up_with_the_mailed_token_and_with_no_other() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let (guest, path) = ("guest@example.test", OrganizationPath { organization_id: stand.organization });
    let spec = InvitationSpec { email: guest.parse().unwrap(), role: Role::Member };
    let made = stand.world.as_(&stand.owner).call::<CreateInvitation>(path, Nothing {}, spec).await.unwrap();
    refused(stand.confirm(made.token.expose(), PASSWORD).await, Code::NotFound);
    refused(stand.sign_up(guest).await, Code::SelfServiceOff);
    stand.mails_are(1).await;
    let mailed = token(&server.to(guest).remove(0).text, "gpi_");
    assert_ne!(mailed, made.token.expose(), "the inviter never sees the mailed one");
    stand.no_token_is_stored_in_clear().await;
    refused(stand.confirm(&mailed, "short").await, Code::InvalidValue);
    stand.confirm(&mailed, PASSWORD).await.unwrap();
    refused(stand.confirm(&mailed, NEW_PASSWORD).await, Code::Conflict);
    let session = stand.sign_in(guest, PASSWORD).await.unwrap();
    let me = stand.world.server.client(Some(session.access_token.expose()));
    let body = InvitationToken { token: secret(&mailed) };
    let joined = me.call::<AcceptInvitation>(Nothing {}, Nothing {}, body).await.unwrap();
    assert_eq!(joined.id, stand.organization);
    println!("{}", server.to(guest)[0].text.replace(&mailed, "gpi_…"));
}

#[tokio::test(flavor = "multi_thread")]
async fn account_exists_once_its_address_is_proven() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    stand.policy(settings::SELF_SERVICE.0.name, "true").await;
    stand.sign_up("new@example.test").await.unwrap();
    assert_eq!(stand.count("users WHERE email = 'new@example.test'").await, 0, "nothing is owned yet");
    refused(stand.sign_in("new@example.test", PASSWORD).await, Code::Unauthenticated);
    stand.mails_are(1).await;
    let mailed = token(&server.to("new@example.test").remove(0).text, "gpm_");
    stand.no_token_is_stored_in_clear().await;
    refused(stand.set_password(&mailed, NEW_PASSWORD).await, Code::NotFound);
    stand.confirm(&mailed, PASSWORD).await.unwrap();
    stand.sign_in("new@example.test", PASSWORD).await.unwrap();
    refused(stand.confirm(&mailed, NEW_PASSWORD).await, Code::NotFound);
    // Whoever signs up again for it gets the same answer, and its owner no mail.
    stand.sign_up("new@example.test").await.unwrap();
    stand.mails_are(2).await;
    assert_eq!(server.to("new@example.test").len(), 1);
    assert_eq!(stand.mails().await[0].state, MailState::Withdrawn);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_for_an_account_chooses_nothing_of_it() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    stand.policy(settings::SELF_SERVICE.0.name, "true").await;
    // Mallory asks with a password of her own, as she once could, and then as often as she may.
    let (alice, url) = ("alice@corp.example", format!("{}/v1/users", stand.world.server.base));
    let with_password = json!({ "email": alice, "name": "Mallory", "password": NEW_PASSWORD });
    let answer = reqwest::Client::new().post(&url).json(&with_password).send().await.unwrap();
    assert_eq!(answer.status(), 400, "the request carries the address alone");
    for _ in 0..8 {
        stand.ask_for_password(alice).await;
        stand.sign_up(alice).await.unwrap();
    }
    stand.mails_are(10).await;
    let mails = server.to(alice);
    assert_eq!(mails.len(), 5, "other purposes take nothing of the share");
    // Every mail is as good as one that Alice asked for: the name and the password are hers.
    stand.confirm(&token(&mails[0].text, "gpm_"), PASSWORD).await.unwrap();
    refused(stand.sign_in(alice, NEW_PASSWORD).await, Code::Unauthenticated);
    stand.sign_in(alice, PASSWORD).await.unwrap();
    refused(stand.confirm(&token(&mails[4].text, "gpm_"), NEW_PASSWORD).await, Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn password_reset_ends_every_session_and_its_token_works_once() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let person = stand.world.person_with_password().await;
    let email = person.email.as_str();
    let session = stand.sign_in(email, PASSWORD).await.unwrap();
    stand.ask_for_password(email).await;
    stand.ask_for_password("nobody@example.test").await;
    stand.mails_are(2).await;
    assert_eq!(server.received().len(), 1, "who has no account gets no mail, and the same answer");
    let mailed = token(&server.to(email).remove(0).text, "gpm_");
    refused(stand.set_password(&mailed, "short").await, Code::InvalidValue);
    stand.set_password(&mailed, NEW_PASSWORD).await.unwrap();
    refused(stand.set_password(&mailed, PASSWORD).await, Code::NotFound);
    refused(stand.sign_in(email, PASSWORD).await, Code::Unauthenticated);
    stand.sign_in(email, NEW_PASSWORD).await.unwrap();
    let before = stand.world.server.client(Some(session.access_token.expose()));
    eventually("the earlier session to end", || async {
        before.call::<WhoAmI>(Nothing {}, Nothing {}, Nothing {}).await.is_err()
    })
    .await;
    // A key of a proven account is not a session.
    stand.world.as_(&person).call::<WhoAmI>(Nothing {}, Nothing {}, Nothing {}).await.unwrap();
    stand.no_token_is_stored_in_clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_mails_are_forgotten_once_sent_and_move_to_a_new_key_before() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    stand.policy(settings::SELF_SERVICE.0.name, "true").await;
    let person = stand.world.person_with_password().await;
    let path = OrganizationPath { organization_id: stand.organization };
    let spec = InvitationSpec { email: "guest@example.test".parse().unwrap(), role: Role::Member };
    stand.world.as_(&stand.owner).call::<CreateInvitation>(path, Nothing {}, spec).await.unwrap();
    stand.sign_up("new@example.test").await.unwrap();
    let session = stand.sign_in(person.email.as_str(), PASSWORD).await.unwrap();
    let body = RefreshToken { refresh_token: secret(session.refresh_token.expose()) };
    stand.anyone().call::<RefreshSession>(Nothing {}, Nothing {}, body).await.unwrap();

    let new = kernel::secrets::Keyring::generate_entry();
    let both = format!("{},{}", new.expose_text().unwrap(), testkit::process::secrets_keys());
    let keyring = kernel::secrets::Keyring::parse(&both).unwrap();
    let moved = gpuaasd::upkeep::rotate_secrets(&stand.world.server.control_plane.db, &keyring).await.unwrap();
    let sealed = stand.sealed().await;
    println!("{moved} moved: {sealed:?}");
    for column in ["invitations.mail_token", "account_tokens.sealed", "refresh_tokens.successor"] {
        assert!(sealed.iter().any(|(name, _)| name == column), "there is nothing in {column} to move");
    }
    // Answers that are kept for repetitions expire within a day, as the guide says.
    let is_left = |(name, key): &&(String, String)| name != "idempotency.body" && key != keyring.active().as_str();
    let left: Vec<_> = sealed.iter().filter(is_left).collect();
    assert!(left.is_empty(), "the old key is still needed for {left:?}");

    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    stand.policy(settings::SELF_SERVICE.0.name, "true").await;
    let path = OrganizationPath { organization_id: stand.organization };
    let spec = InvitationSpec { email: "guest@example.test".parse().unwrap(), role: Role::Member };
    stand.world.as_(&stand.owner).call::<CreateInvitation>(path, Nothing {}, spec).await.unwrap();
    stand.sign_up("new@example.test").await.unwrap();
    stand.mails_are(2).await;
    assert_eq!(server.received().len(), 2);
    assert_eq!(stand.count("invitations WHERE mail_token IS NOT NULL").await, 0);
    assert_eq!(stand.count("account_tokens WHERE sealed IS NOT NULL").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn password_reset_does_not_go_around_the_issuer() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let (person, other) = (stand.world.person().await, stand.world.person().await);
    let link = async |person: &Member| {
        let mut connection = stand.world.server.database.superuser().await;
        sqlx::query("INSERT INTO identity_links (issuer, subject, user_id) VALUES ('https://issuer.test', $1, $2)")
            .bind(person.id.to_string())
            .bind(person.id.uuid())
            .execute(&mut connection)
            .await
            .unwrap();
    };
    link(&person).await;
    stand.ask_for_password(person.email.as_str()).await;
    stand.mails_are(1).await;
    let mail = server.to(person.email.as_str()).remove(0);
    assert!(!mail.text.contains("gpm_") && mail.text.contains("identity provider"), "{}", mail.text);
    // Nor with a token from before the account belonged to the issuer.
    stand.ask_for_password(other.email.as_str()).await;
    stand.mails_are(2).await;
    let mailed = token(&server.to(other.email.as_str()).remove(0).text, "gpm_");
    link(&other).await;
    refused(stand.set_password(&mailed, NEW_PASSWORD).await, Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn old_session_of_an_account_without_a_password_does_not_change_its_address() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let person = stand.world.person().await;
    let ask = async |client: &Client| {
        let body = AddressChangeSpec { email: "thief@example.test".parse().unwrap(), password: None };
        client.call::<RequestAddressChange>(Nothing {}, Nothing {}, body).await
    };
    let stolen = stand.world.signed_in(person.id).await;
    let seconds = stand.world.server.control_plane.policies.number(settings::MFA_STEP_UP_SECONDS);
    // Sessions outlive their access tokens, which are renewed.
    stand.world.server.control_plane.db.clock.advance(Duration::from_secs(seconds / 2));
    ask(&stolen).await.expect("they signed in just now");
    let mut connection = stand.world.server.database.superuser().await;
    sqlx::query("UPDATE sessions SET created_at = created_at - make_interval(secs => $1)")
        .bind(seconds as f64)
        .execute(&mut connection)
        .await
        .unwrap();
    let error = ask(&stolen).await.expect_err("a session that was left open is not enough");
    assert!(error.is(Code::SignInAgain), "{error}");
    ask(&stand.world.signed_in(person.id).await).await.expect("a new sign-in is");
}

#[tokio::test(flavor = "multi_thread")]
async fn password_reset_of_an_unproven_account_ends_what_somebody_left_in_it() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let squatter = stand.world.person_with_password().await;
    stand.unproven(&squatter).await;
    stand.ask_for_password(squatter.email.as_str()).await;
    stand.mails_are(1).await;
    let mailed = token(&server.to(squatter.email.as_str()).remove(0).text, "gpm_");
    stand.set_password(&mailed, NEW_PASSWORD).await.unwrap();
    let key = stand.world.as_(&squatter);
    eventually("the squatter's key to end", || async {
        key.call::<WhoAmI>(Nothing {}, Nothing {}, Nothing {}).await.is_err()
    })
    .await;
    stand.sign_in(squatter.email.as_str(), NEW_PASSWORD).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mailed_token_expires_and_an_address_gets_few_of_them() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let person = stand.world.person_with_password().await;
    for _ in 0..8 {
        stand.ask_for_password(person.email.as_str()).await;
    }
    stand.mails_are(5).await;
    assert_eq!(server.received().len(), 5, "identity.account_mails_per_hour");
    let mailed = token(&server.received().remove(0).text, "gpm_");
    stand.world.server.control_plane.db.clock.advance(Duration::from_secs(3601));
    refused(stand.set_password(&mailed, NEW_PASSWORD).await, Code::NotFound);
    let forgotten = people::account_tokens::forget_old(&stand.world.server.control_plane.db, 100).await.unwrap();
    assert_eq!((forgotten, stand.count("account_tokens").await), (5, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn address_changes_when_whoever_asked_proves_the_new_one() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let (person, thief) = (stand.world.person_with_password().await, stand.world.person().await);
    let old = person.email.to_string();
    let me = stand.world.signed_in(person.id).await;
    let ask = async |email: &str, password: Option<&str>| {
        let body = AddressChangeSpec { email: email.parse().unwrap(), password: password.map(secret) };
        me.call::<RequestAddressChange>(Nothing {}, Nothing {}, body).await
    };
    refused(ask("new@example.test", None).await, Code::InvalidValue);
    refused(ask("new@example.test", Some("wrong wrong wrong")).await, Code::InvalidValue);
    ask("new@example.test", Some(PASSWORD)).await.unwrap();
    stand.mails_are(1).await;
    let mailed = token(&server.to("new@example.test").remove(0).text, "gpm_");
    let confirm = async |client: &Client| {
        let body = AccountToken { token: secret(&mailed) };
        client.call::<ConfirmAddressChange>(Nothing {}, Nothing {}, body).await
    };
    // Somebody who only reads the mail gives nobody's account their address.
    refused(confirm(&stand.world.signed_in(thief.id).await).await, Code::NotFound);
    stand.sign_in(&old, PASSWORD).await.expect("the old address stays until then");
    let changed = confirm(&me).await.unwrap();
    assert_eq!(changed.email.as_str(), "new@example.test");
    refused(stand.sign_in(&old, PASSWORD).await, Code::Unauthenticated);
    stand.sign_in("new@example.test", PASSWORD).await.unwrap();
    eventually("this session to end too", || async {
        me.call::<WhoAmI>(Nothing {}, Nothing {}, Nothing {}).await.is_err()
    })
    .await;
    stand.mails_are(2).await;
    let notice = server.to(&old).remove(0);
    assert_eq!(notice.headers["subject"], "Your email address was changed");
    assert!(!notice.text.contains("gpm_") && !notice.text.contains("new@example.test"), "{}", notice.text);
    // An address that is taken stays with its account.
    let me = stand.world.signed_in(person.id).await;
    let body = AddressChangeSpec { email: thief.email.clone(), password: Some(secret(PASSWORD)) };
    me.call::<RequestAddressChange>(Nothing {}, Nothing {}, body).await.unwrap();
    stand.mails_are(3).await;
    let body = AccountToken { token: secret(&token(&server.to(thief.email.as_str()).remove(0).text, "gpm_")) };
    refused(me.call::<ConfirmAddressChange>(Nothing {}, Nothing {}, body).await, Code::Conflict);
}
