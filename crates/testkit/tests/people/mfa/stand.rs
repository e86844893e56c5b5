//! What the tests share: people who sign in, and an authenticator app.

use std::time::Duration;

use aws_lc_rs::hmac;
use client::{Client, ClientError};
use contract::{
    Code, SecretText,
    mfa::{
        ConfirmTotp, FinishMfa, FinishStepUp, GetMfa, Mfa, MfaAnswer, MfaChallenge, MfaVerified, NewFactor,
        StartStepUp, StartTotp, TotpConfirmation,
    },
    permission::PlatformRole,
    sessions::{CreateSession, Credentials, TokenSet},
};
use kernel::{Access, Tx};
use people::users;
use platform::forget::Forget;
use testkit::{
    Member, World,
    world::{PASSWORD, set_policy},
};

/// An authenticator app, with the secret that it was given.
pub struct App {
    secret: Vec<u8>,
    /// The code that it was enrolled with.
    pub first_code: String,
}

impl App {
    pub fn of(base32: &str) -> App {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let (mut bytes, mut held, mut bits) = (Vec::new(), 0u32, 0);
        for letter in base32.bytes() {
            let value = letters.iter().position(|it| *it == letter).expect("a letter of base32");
            held = (held << 5) | value as u32;
            bits += 5;
            if bits >= 8 {
                bits -= 8;
                bytes.push((held >> bits) as u8);
            }
        }
        App { secret: bytes, first_code: String::new() }
    }

    pub fn code_at(&self, seconds: i64) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.secret);
        let tag = hmac::sign(&key, &(seconds / 30).to_be_bytes());
        let tag = tag.as_ref();
        let at = usize::from(tag[19] & 0x0f);
        let number = u32::from_be_bytes(tag[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
        format!("{:06}", number % 1_000_000)
    }

    /// A code that was not used before: the next one that the device shows.
    pub fn next(&self, world: &World) -> String {
        world.server.control_plane.db.clock.advance(Duration::from_secs(30));
        self.code_at(now(world))
    }

    /// A code that no time of today gives.
    pub fn wrong(&self, world: &World) -> String {
        let valid: Vec<String> = (-2..=2).map(|it| self.code_at(now(world) + 30 * it)).collect();
        (0..).map(|it| format!("{it:06}")).find(|it| !valid.contains(it)).unwrap()
    }
}

/// A running server whose limits of attempts are not what the tests are about.
pub async fn world() -> World {
    raised(World::new().await).await
}

pub async fn raised(world: World) -> World {
    let operator = world.operator().await;
    set_policy(&world.as_(&operator), "rate_limit.login_per_minute", "100000").await;
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    world
}

pub fn now(world: &World) -> i64 {
    world.server.control_plane.db.clock.estimate().as_second()
}

pub async fn password(world: &World, person: &Member) -> Result<TokenSet, ClientError> {
    let body = Credentials { email: person.email.clone(), password: SecretText::new(PASSWORD.into()) };
    world.server.client(None).call::<CreateSession>(Default::default(), Default::default(), body).await
}

pub fn with(world: &World, tokens: &TokenSet) -> Client {
    world.server.client(Some(tokens.access_token.expose()))
}

/// Signed in with a password alone.
pub async fn session(world: &World, person: &Member) -> Client {
    with(world, &password(world, person).await.unwrap())
}

pub async fn operator_with_password(world: &World) -> Member {
    let person = world.person_with_password().await;
    let mut tx = Tx::system(&world.server.control_plane.db, "testkit", Access::Write).await.unwrap();
    users::set_platform_role(&mut tx, person.id, Some(PlatformRole::Operator)).await.unwrap();
    tx.commit().await.unwrap();
    world.server.control_plane.recognizer.forget();
    person
}

pub async fn enroll(world: &World, client: &Client) -> (App, NewFactor) {
    let started = client.call::<StartTotp>(Default::default(), Default::default(), Default::default()).await.unwrap();
    let mut app = App::of(started.secret.expose());
    app.first_code = app.code_at(now(world));
    assert!(started.uri.expose().contains(&format!("secret={}", started.secret.expose())));
    let added = confirm(client, started.challenge.expose(), &app.first_code).await.unwrap();
    (app, added)
}

pub async fn confirm(client: &Client, challenge: &str, code: &str) -> Result<NewFactor, ClientError> {
    let body = TotpConfirmation {
        challenge: SecretText::new(challenge.into()),
        code: SecretText::new(code.into()),
        name: "phone".parse().unwrap(),
    };
    client.call::<ConfirmTotp>(Default::default(), Default::default(), body).await
}

/// The challenge that a sign-in was answered with.
#[track_caller]
pub fn challenged(answer: Result<TokenSet, ClientError>) -> MfaChallenge {
    let error = answer.expect_err("there is no session before the second factor");
    let problem = error.problem().expect("a problem").clone();
    assert_eq!(problem.code, Code::MfaRequired.info().name, "{problem}");
    problem.challenge.expect("an `mfa_required` problem carries its challenge")
}

pub fn by_code(challenge: &MfaChallenge, code: &str) -> MfaAnswer {
    MfaAnswer { code: Some(SecretText::new(code.into())), ..empty(challenge) }
}

pub fn by_recovery(challenge: &MfaChallenge, code: &str) -> MfaAnswer {
    MfaAnswer { recovery_code: Some(SecretText::new(code.into())), ..empty(challenge) }
}

pub fn empty(challenge: &MfaChallenge) -> MfaAnswer {
    let challenge = SecretText::new(challenge.token.expose().into());
    MfaAnswer { challenge, code: None, recovery_code: None, passkey: None }
}

pub async fn finish(world: &World, answer: MfaAnswer) -> Result<TokenSet, ClientError> {
    world.server.client(None).call::<FinishMfa>(Default::default(), Default::default(), answer).await
}

pub async fn ask_step_up(client: &Client) -> Result<MfaChallenge, ClientError> {
    client.call::<StartStepUp>(Default::default(), Default::default(), Default::default()).await
}

pub async fn verify(client: &Client, answer: MfaAnswer) -> Result<MfaVerified, ClientError> {
    client.call::<FinishStepUp>(Default::default(), Default::default(), answer).await
}

pub async fn mfa(client: &Client) -> Result<Mfa, ClientError> {
    client.call::<GetMfa>(Default::default(), Default::default(), Default::default()).await
}

#[track_caller]
pub fn refused<T>(answer: Result<T, ClientError>, code: Code) {
    match answer {
        Ok(_) => panic!("this should be refused with {}", code.info().name),
        Err(error) => assert!(error.is(code), "expected {}, got {error}", code.info().name),
    }
}

pub async fn count(world: &World, table: &str) -> i64 {
    let statement = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(statement).fetch_one(&mut world.server.database.superuser().await).await.unwrap()
}
