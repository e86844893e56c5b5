//! Recovery codes: once each, also when two come at once.

use crate::mfa::stand::{
    by_code, by_recovery, challenged, count, enroll, finish, mfa, password, refused, session, with, world,
};
use contract::{
    Code,
    mfa::{FactorPath, RemoveFactor, ReplaceRecoveryCodes},
};

#[tokio::test(flavor = "multi_thread")]
async fn recovery_code_works_once_and_is_stored_hashed() {
    let world = world().await;
    let person = world.person_with_password().await;
    let (_, added) = enroll(&world, &session(&world, &person).await).await;
    let codes = added.recovery_codes.unwrap();
    let typed = codes[3].expose().to_uppercase().replace('-', " ");
    let tokens = finish(&world, by_recovery(&challenged(password(&world, &person).await), &typed)).await.unwrap();
    assert_eq!(mfa(&with(&world, &tokens)).await.unwrap().recovery_codes_left, 9);
    let again = challenged(password(&world, &person).await);
    refused(finish(&world, by_recovery(&again, codes[3].expose())).await, Code::Unauthenticated);
    let stored: Vec<Vec<u8>> = sqlx::query_scalar("SELECT hash FROM mfa_recovery_codes")
        .fetch_all(&mut world.server.database.superuser().await)
        .await
        .unwrap();
    assert!(stored.len() == 10 && stored.iter().all(|it| it.len() == 32));
}

#[tokio::test(flavor = "multi_thread")]
async fn recovery_code_used_twice_at_once_signs_in_once() {
    let world = world().await;
    let person = world.person_with_password().await;
    let (_, added) = enroll(&world, &session(&world, &person).await).await;
    let code = added.recovery_codes.unwrap().remove(0);
    let mut challenges = Vec::new();
    for _ in 0..6 {
        challenges.push(challenged(password(&world, &person).await));
    }
    let answers = challenges.iter().map(|it| finish(&world, by_recovery(it, code.expose())));
    let signed_in = futures_util::future::join_all(answers).await.into_iter().filter(Result::is_ok).count();
    assert_eq!(signed_in, 1);
    assert_eq!(count(&world, "sessions").await, 2, "the one that enrolled and the one that won");
}

#[tokio::test(flavor = "multi_thread")]
async fn recovery_codes_that_are_replaced_stop_working_and_go_with_the_last_factor() {
    let world = world().await;
    let person = world.person_with_password().await;
    let client = session(&world, &person).await;
    let (app, added) = enroll(&world, &client).await;
    let old = added.recovery_codes.unwrap();
    let new = client.call::<ReplaceRecoveryCodes>(Default::default(), Default::default(), Default::default()).await;
    let new = new.unwrap().recovery_codes;
    let challenge = challenged(password(&world, &person).await);
    refused(finish(&world, by_recovery(&challenge, old[0].expose())).await, Code::Unauthenticated);
    finish(&world, by_recovery(&challenge, new[0].expose())).await.unwrap();

    let tokens =
        finish(&world, by_code(&challenged(password(&world, &person).await), &app.next(&world))).await.unwrap();
    let client = with(&world, &tokens);
    let path = FactorPath { factor_id: added.factor.id };
    client.call::<RemoveFactor>(path.clone(), Default::default(), Default::default()).await.unwrap();
    refused(client.call::<RemoveFactor>(path, Default::default(), Default::default()).await, Code::NotFound);
    assert_eq!(count(&world, "mfa_recovery_codes").await, 0);
    password(&world, &person).await.expect("a password is enough again");
    let none = client.call::<ReplaceRecoveryCodes>(Default::default(), Default::default(), Default::default()).await;
    refused(none, Code::Conflict);
}
