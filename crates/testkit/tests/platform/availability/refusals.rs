//! Refusals are counted, sampled and bounded, by the address they came from.

use std::{
    net::IpAddr,
    sync::{Arc, LazyLock},
    time::Instant,
};

use futures_util::future::join_all;
use gpuaasd::roles::Role;
use testkit::{Database, Server, World, server::eventually, world::set_policy};

const MANY: usize = 200;

async fn world() -> World {
    let server = Server::with(Arc::new(Database::new().await), &[Role::Api], |config| {
        config.http.trusted_proxies = vec!["127.0.0.1".parse::<IpAddr>().unwrap()];
    });
    World::on(server.await).await
}

/// A request without credentials; a line of `X-Forwarded-For` for each of the texts.
async fn refused(world: &World, forwarded: &[&str]) -> u16 {
    static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(reqwest::Client::new);
    let mut request = CLIENT.get(format!("{}/v1/me/keys", world.server.base));
    for line in forwarded {
        request = request.header("x-forwarded-for", *line);
    }
    request.send().await.unwrap().status().as_u16()
}

/// Minutes that refusals may have been counted in, since then.
fn windows(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_secs() / 60).unwrap() + 2
}

async fn count(world: &World, statement: &'static str) -> i64 {
    sqlx::query_scalar(statement).fetch_one(&mut world.server.database.superuser().await).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_one_address_leave_a_bounded_number_of_audit_entries() {
    let world = world().await;
    let started = Instant::now();
    let answers = join_all((0..MANY).map(|_| refused(&world, &["192.0.2.1"]))).await;
    assert!(answers.iter().all(|it| *it == 401), "{answers:?}");
    let recorded = "SELECT count(*) FROM audit WHERE action LIKE 'denied.%' AND action <> 'denied.summary'";
    let entries = count(&world, recorded).await;
    assert!((1..=20 * windows(started)).contains(&entries), "{MANY} refusals left {entries} entries");
    // Another address is still written down.
    assert_eq!(refused(&world, &["192.0.2.77"]).await, 401);
    let more = count(&world, recorded).await;
    assert_eq!(more, entries + 1);
    // What was left out is counted when the window is over.
    world.server.control_plane.db.clock.advance(std::time::Duration::from_secs(3600));
    eventually("the summary of what was left out", || async {
        let summed =
            "SELECT coalesce(sum((detail->>'count')::bigint), 0)::bigint FROM audit WHERE action = 'denied.summary'";
        count(&world, summed).await + entries == MANY as i64
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_sign_ins_of_one_address_leave_a_bounded_number_of_audit_entries() {
    let world = world().await;
    let operator = world.as_(&world.operator().await);
    set_policy(&operator, "rate_limit.login_per_minute", "100000").await;
    set_policy(&operator, "audit.refusals_per_minute", "3").await;
    let started = Instant::now();
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    for nth in 0..30 {
        let body = serde_json::json!({ "email": format!("nobody{nth}@example.test"), "password": "wrong password" }); // secret-scan: allow
        let request = reqwest::Client::new().post(format!("{}/v1/sessions", world.server.base));
        let answer = request.header("x-forwarded-for", "192.0.2.1").json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 401);
    }
    let entries = "SELECT count(*) FROM audit WHERE action = 'session.create' AND outcome = 'unauthenticated'";
    let entries = count(&world, entries).await;
    assert!((1..=3 * windows(started)).contains(&entries), "30 refused sign-ins left {entries} entries");
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_one_ipv6_network_share_a_limit() {
    let world = world().await;
    let operator = world.as_(&world.operator().await);
    set_policy(&operator, "rate_limit.address_per_minute", "60").await;
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    // So many at once that the limit, which refills by one a second, does not keep up.
    let lines: Vec<String> = (0..MANY).map(|nth| format!("2001:db8:0:1::{nth:x}")).collect();
    let answers = join_all(lines.iter().map(|it| async { refused(&world, &[it]).await })).await;
    assert!(answers.contains(&429), "{MANY} addresses of one network were never asked to wait: {answers:?}");
    assert_eq!(refused(&world, &["2001:db8:0:2::1"]).await, 401, "another network has a limit of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn last_forwarded_line_names_the_address() {
    let world = world().await;
    let operator = world.as_(&world.operator().await);
    set_policy(&operator, "rate_limit.address_per_minute", "60").await;
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    // The client's own line first, the one of the proxy after it.
    let lines: Vec<String> = (0..MANY).map(|nth| format!("203.0.113.{nth}")).collect();
    let answers = join_all(lines.iter().map(|it| async { refused(&world, &[it, "192.0.2.1"]).await })).await;
    assert!(answers.contains(&429), "a client chose its own address with a line of its own: {answers:?}");
}
