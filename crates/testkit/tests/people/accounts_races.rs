//! A credential that is made while its account changes hands does not outlive that.

use client::ClientError;
use contract::{
    Code, Permission, SecretText,
    keys::{CreatePersonalKey, KeySpec},
    sessions::{CreateSession, Credentials},
    ssh_keys::AddSshKey,
};
use sqlx::{Connection, PgConnection, Postgres, Transaction};
use testkit::{
    Member, World,
    cloud::{key_spec, make_key},
    server::eventually,
    world::PASSWORD,
};

/// Somebody's account, held still as by whoever takes it over.
async fn held<'a>(connection: &'a mut PgConnection, person: &Member) -> Transaction<'a, Postgres> {
    let mut tx = connection.begin().await.unwrap();
    sqlx::query("SELECT FROM users WHERE id = $1 FOR UPDATE").bind(person.id.uuid()).execute(&mut *tx).await.unwrap();
    tx
}

async fn waits(world: &World) {
    eventually("the request to wait", || async { world.server.database.waits_for_lock().await }).await;
}

async fn count(world: &World, statement: &'static str, person: &Member) -> i64 {
    let mut connection = world.server.database.superuser().await;
    sqlx::query_scalar(statement).bind(person.id.uuid()).fetch_one(&mut connection).await.unwrap()
}

#[track_caller]
fn is_unauthenticated<T>(answer: Result<T, ClientError>) {
    match answer {
        Ok(_) => panic!("it was let through"),
        Err(error) => assert!(error.is(Code::Unauthenticated), "{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_with_a_password_that_is_replaced_meanwhile_opens_nothing() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let mut connection = world.server.database.superuser().await;
    let mut tx = held(&mut connection, &person).await;
    let client = world.server.client(None);
    let body = Credentials { email: person.email.clone(), password: SecretText::new(PASSWORD.into()) };
    let sign_in = tokio::spawn(async move {
        client.call::<CreateSession>(Default::default(), Default::default(), body).await.map(|_| ())
    });
    waits(&world).await;
    let replace = "UPDATE users SET password_hash = 'another' WHERE id = $1";
    sqlx::query(replace).bind(person.id.uuid()).execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    is_unauthenticated(sign_in.await.unwrap());
    assert_eq!(count(&world, "SELECT count(*) FROM sessions WHERE user_id = $1", &person).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_that_ends_meanwhile_makes_no_keys() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let folder = tempfile::tempdir().unwrap();
    let ssh = key_spec(person.id, "laptop", &make_key(folder.path(), "laptop"));
    let scopes = vec![Permission::AllocationsRead];
    let key = KeySpec { name: "ci".parse().unwrap(), scopes, expires_at: None };
    for is_ssh in [false, true] {
        let session = world.signed_in(person.id).await;
        let mut connection = world.server.database.superuser().await;
        let mut tx = held(&mut connection, &person).await;
        let (ssh, key) = (ssh.clone(), key.clone());
        let make = tokio::spawn(async move {
            let nothing = contract::Nothing {};
            match is_ssh {
                true => session.call::<AddSshKey>(nothing, Default::default(), ssh).await.map(|_| ()),
                false => session.call::<CreatePersonalKey>(nothing, Default::default(), key).await.map(|_| ()),
            }
        });
        waits(&world).await;
        let end = "UPDATE sessions SET revoked_at = now() WHERE user_id = $1 AND revoked_at IS NULL";
        sqlx::query(end).bind(person.id.uuid()).execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
        is_unauthenticated(make.await.unwrap());
    }
    let made = "SELECT (SELECT count(*) FROM keys WHERE user_id = $1 AND name = 'ci')
                  + (SELECT count(*) FROM ssh_keys WHERE user_id = $1)";
    assert_eq!(count(&world, made, &person).await, 0);
}
