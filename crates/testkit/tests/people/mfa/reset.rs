//! The way back in for somebody who lost everything, and what people hear of it.

use contract::{
    Code,
    notifications::{ListNotifications, NotificationFilter},
    users::WhoAmI,
};
use testkit::server::eventually;

use crate::mfa::stand::{count, enroll, password, refused, session, world};

#[tokio::test(flavor = "multi_thread")]
async fn reset_removes_factors_ends_sessions_and_is_audited_and_reported() {
    let world = world().await;
    let person = world.person_with_password().await;
    let client = session(&world, &person).await;
    enroll(&world, &client).await;
    let reason = "lost their phone; called back at the number on file".parse().unwrap();
    let gone = gpuaasd::upkeep::reset_mfa(&world.server.control_plane.db, &person.email, &reason).await.unwrap();
    assert_eq!(gone, 1);
    eventually("the session to end", || async {
        client.call::<WhoAmI>(Default::default(), Default::default(), Default::default()).await.is_err()
    })
    .await;
    refused(
        client.call::<WhoAmI>(Default::default(), Default::default(), Default::default()).await,
        Code::Unauthenticated,
    );
    password(&world, &person).await.expect("a password is enough again");
    assert_eq!(count(&world, "mfa_recovery_codes").await, 0);
    assert_eq!(count(&world, "audit WHERE action = 'mfa.reset' AND detail ? 'reason'").await, 1);

    let key = world.as_(&person);
    let titles = async || {
        let list = key.call::<ListNotifications>(Default::default(), NotificationFilter::default(), Default::default());
        let mut titles: Vec<String> = list.await.unwrap().items.into_iter().map(|it| it.title).collect();
        titles.sort();
        titles
    };
    let expected = ["A second factor was added to your account", "The second factors of your account were reset"];
    eventually("both notifications", || async { titles().await == expected }).await;
    let unknown = "nobody@example.test".parse().unwrap();
    assert!(gpuaasd::upkeep::reset_mfa(&world.server.control_plane.db, &unknown, &reason).await.is_err());
}
