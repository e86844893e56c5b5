//! Passkeys through the API, with a software authenticator.

use std::sync::Arc;

use client::{Client, ClientError};
use contract::{
    Code, SecretText,
    mfa::{
        ConfirmPasskey, MfaAnswer, MfaChallenge, NewFactor, PasskeyAssertion, PasskeyConfirmation, PasskeyStarted,
        StartPasskey,
    },
};
use gpuaasd::roles::Role;
use testkit::{Database, Server, World};

use crate::mfa::{
    software_authenticator::Authenticator,
    stand::{ask_step_up, challenged, count, empty, finish, mfa, password, raised, refused, session, verify},
};

const ORIGIN: &str = "https://gpu.example.test";
const RP_ID: &str = "gpu.example.test";

async fn site() -> World {
    let database = Arc::new(Database::new().await);
    let server = Server::with(database, &Role::ALL, |it| it.identity.issuer = ORIGIN.into()).await;
    raised(World::on(server).await).await
}

async fn start(client: &Client) -> PasskeyStarted {
    client.call::<StartPasskey>(Default::default(), Default::default(), Default::default()).await.unwrap()
}

async fn confirm(client: &Client, started: &PasskeyStarted, made: &Authenticator) -> Result<NewFactor, ClientError> {
    let (client_data_json, attestation_object) = made.create(&started.options.challenge);
    let challenge = SecretText::new(started.challenge.expose().into());
    let body = PasskeyConfirmation { challenge, client_data_json, attestation_object, name: "laptop".parse().unwrap() };
    client.call::<ConfirmPasskey>(Default::default(), Default::default(), body).await
}

fn by_passkey(challenge: &MfaChallenge, assertion: PasskeyAssertion) -> MfaAnswer {
    MfaAnswer { passkey: Some(assertion), ..empty(challenge) }
}

fn asked(challenge: &MfaChallenge) -> &str {
    &challenge.passkey.as_ref().expect("the account has a passkey").challenge
}

#[tokio::test(flavor = "multi_thread")]
async fn passkey_is_registered_signs_in_and_steps_up() {
    let world = site().await;
    for mut made in [Authenticator::es256(ORIGIN, RP_ID), Authenticator::ed25519(ORIGIN, RP_ID)] {
        let person = world.person_with_password().await;
        let client = session(&world, &person).await;
        let started = start(&client).await;
        assert_eq!((started.options.rp_id.as_str(), started.options.algorithms[0]), (RP_ID, -7));
        let added = confirm(&client, &started, &made).await.unwrap();
        assert_eq!(added.factor.kind.as_str(), "passkey");
        assert_eq!(added.recovery_codes.map(|it| it.len()), Some(10));
        assert_eq!(start(&client).await.options.exclude_credential_ids.len(), 1);

        let before = count(&world, "sessions").await;
        let challenge = challenged(password(&world, &person).await);
        assert_eq!(challenge.passkey.as_ref().unwrap().rp_id, RP_ID);
        assert_eq!(count(&world, "sessions").await, before);
        let assertion = made.get(asked(&challenge));
        finish(&world, by_passkey(&challenge, assertion)).await.unwrap();

        let challenge = ask_step_up(&client).await.unwrap();
        let assertion = made.get(asked(&challenge));
        verify(&client, by_passkey(&challenge, assertion)).await.unwrap();
        assert!(mfa(&client).await.unwrap().factors[0].last_used_at.is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_for_another_site_or_challenge_is_refused() {
    let world = site().await;
    let person = world.person_with_password().await;
    let client = session(&world, &person).await;
    let started = start(&client).await;
    let wrong = [
        Authenticator::es256("https://evil.example", RP_ID),
        Authenticator::es256("https://gpu.example.test:8443", RP_ID),
        Authenticator::es256(ORIGIN, "evil.example"),
        Authenticator { flags: 0x01, ..Authenticator::es256(ORIGIN, RP_ID) },
    ];
    for made in wrong {
        refused(confirm(&client, &started, &made).await, Code::InvalidValue);
    }
    let good = Authenticator::es256(ORIGIN, RP_ID);
    let mut other = start(&client).await;
    other.options.challenge = started.options.challenge.clone();
    refused(confirm(&client, &other, &good).await, Code::InvalidValue);
    let last = start(&client).await;
    confirm(&client, &last, &good).await.unwrap();
    refused(confirm(&client, &last, &good).await, Code::InvalidValue);
    let again = start(&client).await;
    refused(confirm(&client, &again, &good).await, Code::InvalidValue);
    let thief = world.person_with_password().await;
    let thiefs = session(&world, &thief).await;
    refused(confirm(&thiefs, &start(&thiefs).await, &good).await, Code::InvalidValue);
    assert_eq!(count(&world, "mfa_factors").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn passkey_assertion_is_believed_once_for_its_site_and_with_a_rising_counter() {
    let world = site().await;
    let person = world.person_with_password().await;
    let client = session(&world, &person).await;
    let mut made = Authenticator::es256(ORIGIN, RP_ID);
    confirm(&client, &start(&client).await, &made).await.unwrap();
    let ask = async || challenged(password(&world, &person).await);
    let try_with = async |challenge: &MfaChallenge, assertion| finish(&world, by_passkey(challenge, assertion)).await;

    // Another site, another relying party, nobody verified.
    let challenge = ask().await;
    made.origin = "https://evil.example".into();
    refused(try_with(&challenge, made.get(asked(&challenge))).await, Code::Unauthenticated);
    made.origin = ORIGIN.into();
    made.rp_id = "evil.example".into();
    refused(try_with(&challenge, made.get(asked(&challenge))).await, Code::Unauthenticated);
    made.rp_id = RP_ID.into();
    made.flags = 0x01;
    refused(try_with(&challenge, made.get(asked(&challenge))).await, Code::Unauthenticated);
    made.flags = 0x05;

    // Another key under the same id, and a signature of something else.
    let challenge = ask().await;
    let mut forged = Authenticator { id: made.id.clone(), ..Authenticator::es256(ORIGIN, RP_ID) };
    forged.count = 50;
    refused(try_with(&challenge, forged.get(asked(&challenge))).await, Code::Unauthenticated);
    let mut mixed = made.get(asked(&challenge));
    mixed.signature = forged.get(asked(&challenge)).signature;
    refused(try_with(&challenge, mixed).await, Code::Unauthenticated);

    // The same assertion again, for its own challenge and for a new one.
    let good = made.get(asked(&challenge));
    try_with(&challenge, good.clone()).await.unwrap();
    refused(try_with(&challenge, good.clone()).await, Code::Unauthenticated);
    let challenge = ask().await;
    refused(try_with(&challenge, good).await, Code::Unauthenticated);

    // A copy of the passkey that is behind the original.
    made.count -= 1;
    refused(try_with(&challenge, made.get(asked(&challenge))).await, Code::Unauthenticated);
    try_with(&challenge, made.get(asked(&challenge))).await.unwrap();

    // Somebody else's passkey.
    let other = world.person_with_password().await;
    let others = session(&world, &other).await;
    let mut foreign = Authenticator::es256(ORIGIN, RP_ID);
    confirm(&others, &start(&others).await, &foreign).await.unwrap();
    let challenge = ask().await;
    refused(try_with(&challenge, foreign.get(asked(&challenge))).await, Code::Unauthenticated);
}
