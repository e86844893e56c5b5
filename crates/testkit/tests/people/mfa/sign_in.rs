//! Signing in with an authenticator app, and what does not sign in.

use std::time::Duration;

use crate::mfa::stand::{
    App, ask_step_up, by_code, by_recovery, challenged, confirm, count, empty, enroll, finish, mfa, now, password,
    refused, session, with, world,
};
use contract::{Code, mfa::StartTotp, users::WhoAmI};

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_gives_no_session_before_the_second_factor() {
    let world = world().await;
    let person = world.person_with_password().await;
    let (app, added) = enroll(&world, &session(&world, &person).await).await;
    assert_eq!(added.recovery_codes.as_ref().map(Vec::len), Some(10));
    let before = (count(&world, "sessions").await, count(&world, "refresh_tokens").await);

    let challenge = challenged(password(&world, &person).await);
    let methods: Vec<&str> = challenge.methods.iter().map(|it| it.as_str()).collect();
    assert_eq!(methods, ["totp", "recovery_code"]);
    assert_eq!((count(&world, "sessions").await, count(&world, "refresh_tokens").await), before);
    let thief = world.server.client(Some(challenge.token.expose()));
    refused(
        thief.call::<WhoAmI>(Default::default(), Default::default(), Default::default()).await,
        Code::Unauthenticated,
    );
    refused(finish(&world, empty(&challenge)).await, Code::InvalidValue);
    refused(finish(&world, by_code(&challenge, &app.wrong(&world))).await, Code::Unauthenticated);
    assert_eq!((count(&world, "sessions").await, count(&world, "refresh_tokens").await), before);

    let tokens = finish(&world, by_code(&challenge, &app.next(&world))).await.unwrap();
    let client = with(&world, &tokens);
    let me = client.call::<WhoAmI>(Default::default(), Default::default(), Default::default()).await.unwrap();
    assert_eq!((me.user.unwrap().id, me.session_id), (person.id, Some(tokens.session_id)));
    assert!(mfa(&client).await.unwrap().verified_at.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn totp_code_works_once() {
    let world = world().await;
    let person = world.person_with_password().await;
    let (app, _) = enroll(&world, &session(&world, &person).await).await;
    let first = challenged(password(&world, &person).await);
    refused(finish(&world, by_code(&first, &app.first_code)).await, Code::Unauthenticated);
    let code = app.next(&world);
    finish(&world, by_code(&first, &code)).await.unwrap();
    let second = challenged(password(&world, &person).await);
    refused(finish(&world, by_code(&second, &code)).await, Code::Unauthenticated);
    // One from before it does not work either.
    refused(finish(&world, by_code(&second, &app.code_at(now(&world) - 30))).await, Code::Unauthenticated);
    finish(&world, by_code(&second, &app.next(&world))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn totp_code_used_twice_at_once_signs_in_once() {
    let world = world().await;
    let person = world.person_with_password().await;
    let (app, _) = enroll(&world, &session(&world, &person).await).await;
    let mut challenges = Vec::new();
    for _ in 0..4 {
        challenges.push(challenged(password(&world, &person).await));
    }
    let code = app.next(&world);
    let answers = challenges.iter().map(|it| finish(&world, by_code(it, &code)));
    let signed_in = futures_util::future::join_all(answers).await.into_iter().filter(Result::is_ok).count();
    assert_eq!(signed_in, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn challenge_works_once_for_its_purpose_and_not_for_long() {
    let world = world().await;
    let person = world.person_with_password().await;
    let client = session(&world, &person).await;
    let (app, _) = enroll(&world, &client).await;

    let challenge = challenged(password(&world, &person).await);
    finish(&world, by_code(&challenge, &app.next(&world))).await.unwrap();
    refused(finish(&world, by_code(&challenge, &app.next(&world))).await, Code::Unauthenticated);

    let step_up = ask_step_up(&client).await.unwrap();
    refused(finish(&world, by_code(&step_up, &app.next(&world))).await, Code::Unauthenticated);

    let late = challenged(password(&world, &person).await);
    world.server.control_plane.db.clock.advance(Duration::from_secs(301));
    refused(finish(&world, by_code(&late, &app.next(&world))).await, Code::Unauthenticated);
}

#[tokio::test(flavor = "multi_thread")]
async fn challenge_of_one_person_is_not_answered_by_another() {
    let world = world().await;
    let (victim, thief) = (world.person_with_password().await, world.person_with_password().await);
    let (victims, thiefs) = (session(&world, &victim).await, session(&world, &thief).await);
    let (_, _) = enroll(&world, &victims).await;
    let (own, _) = enroll(&world, &thiefs).await;
    let challenge = challenged(password(&world, &victim).await);
    refused(finish(&world, by_code(&challenge, &own.next(&world))).await, Code::Unauthenticated);
    let step_up = ask_step_up(&victims).await.unwrap();
    refused(crate::mfa::stand::verify(&thiefs, by_code(&step_up, &own.next(&world))).await, Code::InvalidValue);
    assert_eq!(count(&world, "sessions").await, 2, "the two from before");
}

#[tokio::test(flavor = "multi_thread")]
async fn enrollment_needs_a_valid_code_in_the_same_session() {
    let world = world().await;
    let (person, other) = (world.person_with_password().await, world.person_with_password().await);
    let client = session(&world, &person).await;
    let started = client.call::<StartTotp>(Default::default(), Default::default(), Default::default()).await.unwrap();
    let app = App::of(started.secret.expose());
    let token = started.challenge.expose();
    refused(confirm(&client, token, &app.wrong(&world)).await, Code::InvalidValue);
    let code = app.code_at(now(&world));
    refused(confirm(&session(&world, &other).await, token, &code).await, Code::InvalidValue);
    refused(confirm(&session(&world, &person).await, token, &code).await, Code::InvalidValue);
    assert!(mfa(&client).await.unwrap().factors.is_empty());
    password(&world, &person).await.expect("nothing is enrolled yet");
    confirm(&client, token, &code).await.unwrap();
    refused(confirm(&client, token, &app.next(&world)).await, Code::InvalidValue);
    assert_eq!(mfa(&client).await.unwrap().factors.len(), 1);
    let stored: Vec<u8> = sqlx::query_scalar("SELECT secret FROM mfa_factors")
        .fetch_one(&mut world.server.database.superuser().await)
        .await
        .unwrap();
    assert!(stored.len() > 40, "the secret is sealed");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_codes_are_throttled_across_challenges() {
    let world = world().await;
    let person = world.person_with_password().await;
    let (app, added) = enroll(&world, &session(&world, &person).await).await;
    let recovery = added.recovery_codes.unwrap();
    for _ in 0..5 {
        let challenge = challenged(password(&world, &person).await);
        refused(finish(&world, by_code(&challenge, &app.wrong(&world))).await, Code::Unauthenticated);
    }
    let challenge = challenged(password(&world, &person).await);
    let right = app.code_at(now(&world) + 30);
    refused(finish(&world, by_code(&challenge, &right)).await, Code::TooManyRequests);
    // What nobody can guess is not held up.
    finish(&world, by_recovery(&challenge, recovery[0].expose())).await.unwrap();
    // It cleared the count; the next five are looked at again.
    let challenge = challenged(password(&world, &person).await);
    finish(&world, by_code(&challenge, &app.next(&world))).await.unwrap();

    for _ in 0..5 {
        let challenge = challenged(password(&world, &person).await);
        refused(finish(&world, by_code(&challenge, &app.wrong(&world))).await, Code::Unauthenticated);
    }
    let challenge = challenged(password(&world, &person).await);
    world.server.control_plane.db.clock.advance(Duration::from_secs(31));
    finish(&world, by_code(&challenge, &app.next(&world))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn challenge_ends_after_five_wrong_answers() {
    let world = world().await;
    let person = world.person_with_password().await;
    let (_, added) = enroll(&world, &session(&world, &person).await).await;
    let challenge = challenged(password(&world, &person).await);
    for _ in 0..5 {
        refused(finish(&world, by_recovery(&challenge, "aaaa-bbbb-cccc-dddd")).await, Code::Unauthenticated);
    }
    let right = added.recovery_codes.unwrap();
    refused(finish(&world, by_recovery(&challenge, right[0].expose())).await, Code::Unauthenticated);
    let next = challenged(password(&world, &person).await);
    finish(&world, by_recovery(&next, right[0].expose())).await.unwrap();
}
