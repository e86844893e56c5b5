//! `kill -9` while people are told: everybody is told once, and a mail comes
//! again only when the crash fell between its acceptance and the note of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use contract::Role;
use gpuaasd::roles;
use kernel::{
    Access, Tx,
    outbox::{self, NewEvent},
};
use sqlx::Connection;
use testkit::{
    Database, MailServer, Server, World,
    process::{Daemon, free_port},
    rounds,
    server::eventually,
    world::set_policy,
};

use super::stand::{FROM, about};

/// How many visits of one process may be between acceptance and commit: its outer slots.
const AT_ONCE: usize = 32;

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_notifies_everybody_once() {
    let server = MailServer::start().await;
    let database = Arc::new(Database::new().await);
    let world = World::on(Server::with(database.clone(), &[roles::Role::Api], |_| ()).await).await;
    let operator = world.as_(&world.operator().await);
    set_policy(&operator, "work.lease_seconds", "5").await;
    set_policy(&operator, "work.sweep_seconds", "5").await;
    let (organization, _) = world.organization().await;
    for _ in 0..3 {
        world.member_of(organization, Role::Admin).await;
    }
    let kills = rounds(60);
    let mut events = 0;
    for _ in 0..kills {
        let port = free_port();
        let settings = [("GPUAAS_MAIL_URL", server.url.as_str()), ("GPUAAS_MAIL_FROM", FROM)];
        let daemon = Daemon::serve(&database.url(), port, &settings).await;
        for _ in 0..10 {
            let mut tx = Tx::system(&world.server.control_plane.db, "test", Access::Write).await.unwrap();
            let event = NewEvent {
                subject: "wallet.depleted".into(),
                organization: Some(organization.uuid()),
                resource: Some("wallet-1".into()),
                version: None,
                data: about("wallet-1"),
            };
            outbox::emit(&mut tx, event);
            tx.commit().await.unwrap();
            events += 1;
        }
        // Somewhere in the middle of it, by the number of mails and not by time.
        let seen = server.received().len();
        eventually("some mails to arrive", || async { server.received().len() > seen + events % 7 }).await;
        daemon.kill().await;
    }
    let settings = [("GPUAAS_MAIL_URL", server.url.as_str()), ("GPUAAS_MAIL_FROM", FROM)];
    let daemon = Daemon::serve(&database.url(), free_port(), &settings).await;
    let wanted = events * 4;
    let arrived = || async {
        let ids: BTreeSet<String> = server.received().into_iter().map(|it| it.headers["message-id"].clone()).collect();
        ids.len() == wanted
    };
    let started = std::time::Instant::now();
    while !arrived().await && started.elapsed() < Duration::from_secs(120) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    daemon.stop().await;
    let mut copies: BTreeMap<String, usize> = BTreeMap::new();
    for mail in server.received() {
        *copies.entry(mail.headers["message-id"].clone()).or_default() += 1;
    }
    let doubled: usize = copies.values().map(|it| it - 1).sum();
    println!("{kills} kills, {events} events to 4 people: {} mails, {doubled} of them twice", copies.len());
    assert_eq!(copies.len(), wanted, "every person has every mail");
    assert!(doubled <= kills * AT_ONCE, "{doubled} doubled by {kills} kills");
    let mut connection = database.superuser().await;
    let told: i64 = sqlx::query_scalar("SELECT count(*) FROM notifications").fetch_one(&mut connection).await.unwrap();
    assert_eq!(told, wanted as i64, "the console shows each once");
    connection.close().await.unwrap();
}
