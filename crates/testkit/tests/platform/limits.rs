//! Rate limits with a real Redis: shared by processes, and kept apart in each
//! of them while Redis is unavailable.

use std::{sync::Arc, time::Instant};

use contract::policies::{PlatformPolicyPath, PolicyValue, SetPlatformPolicy};
use gpuaasd::roles::Role;
use platform::policies::settings;
use testkit::{
    Database, Server, World,
    process::{Daemon, free_port},
    server::eventually,
    services::{self, Service},
};

const PER_MINUTE: usize = 30;

async fn server(database: &Arc<Database>, redis: &Service) -> Server {
    let url = redis.url("redis");
    Server::with(database.clone(), &[Role::Api], |config| config.redis.url = Some(url)).await
}

/// Two processes that share a Redis, and somebody's key.
async fn two(redis: &Service) -> (World, Server) {
    let database = Arc::new(Database::new().await);
    let world = World::on(server(&database, redis).await).await;
    let other = server(&database, redis).await;
    limit(&world).await;
    for control_plane in [&world.server.control_plane, &other.control_plane] {
        eventually("the policy", || async {
            control_plane.policies.number(settings::RATE_DEFAULT) == PER_MINUTE as u64
        })
        .await;
    }
    (world, other)
}

async fn limit(world: &World) {
    let operator = world.as_(&world.operator().await);
    let path = PlatformPolicyPath { key: settings::RATE_DEFAULT.0.name.into() };
    let value = PolicyValue { value: PER_MINUTE.to_string() };
    operator.call::<SetPlatformPolicy>(path, Default::default(), value).await.unwrap();
}

/// What came of asking both servers in turn, and the most that may pass.
struct RequestCounts {
    passed: usize,
    refused: usize,
    most: usize,
}

async fn ask(bases: &[&str], token: &str, times: usize) -> RequestCounts {
    let (http, started) = (reqwest::Client::new(), Instant::now());
    let mut counts = RequestCounts { passed: 0, refused: 0, most: 0 };
    for nth in 0..times {
        let url = format!("{}/v1/whoami", bases[nth % bases.len()]);
        let answer = http.get(url).bearer_auth(token).send().await.unwrap();
        match answer.status().as_u16() {
            200 => counts.passed += 1,
            429 => {
                let wait = answer.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap();
                assert!((1..=60).contains(&wait), "Retry-After: {wait}");
                counts.refused += 1;
            }
            other => panic!("{other}: {}", answer.text().await.unwrap()),
        }
    }
    let refilled = started.elapsed().as_secs_f64() * PER_MINUTE as f64 / 60.0;
    counts.most = PER_MINUTE + 1 + refilled as usize;
    counts
}

fn is_shared(counts: &RequestCounts) {
    assert!((PER_MINUTE..=counts.most).contains(&counts.passed), "{} passed of at most {}", counts.passed, counts.most);
    assert_eq!(counts.passed + counts.refused, 2 * PER_MINUTE);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_share_one_limit() {
    let redis = services::redis().await;
    let (world, other) = two(&redis).await;
    let person = world.person().await;
    is_shared(&ask(&[&world.server.base, &other.base], &person.token, 2 * PER_MINUTE).await);
    let stranger = world.person().await;
    assert_eq!(ask(&[&other.base], &stranger.token, 1).await.passed, 1, "others have their own");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_one_limit() {
    let redis = services::redis().await;
    let database = Arc::new(Database::new().await);
    let world = World::on(Server::with(database.clone(), &[Role::Api], |_| ()).await).await;
    limit(&world).await;
    let person = world.person().await;
    let (url, redis_url) = (database.url(), redis.url("redis"));
    let more = [("GPUAAS_REDIS_URL", redis_url.as_str())];
    let one = Daemon::serve(&url, free_port(), &more).await;
    let two = Daemon::serve(&url, free_port(), &more).await;
    is_shared(&ask(&[&one.base, &two.base], &person.token, 2 * PER_MINUTE).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_requests_pass_under_each_servers_own_limit_until_it_is_back() {
    let mut redis = services::redis().await;
    let (world, other) = two(&redis).await;
    let bases = [world.server.base.as_str(), other.base.as_str()];
    redis.kill().await;
    let person = world.person().await;
    let counts = ask(&bases, &person.token, 2 * PER_MINUTE).await;
    assert_eq!(counts.refused, 0, "each counts for itself");
    assert!(ask(&bases, &person.token, 2 * PER_MINUTE).await.refused > 0, "and each has a limit");
    let page = reqwest::get(format!("{}/metrics", bases[0])).await.unwrap().text().await.unwrap();
    assert!(page.contains("gpuaas_shared_limits_unavailable_total"), "{page}");
    assert!(page.contains("gpuaas_dependency_up{dependency=\"redis\"} 0"), "{page}");

    redis.start_again().await;
    for server in [&world.server, &other] {
        eventually("Redis to be used again", || async {
            let readiness = reqwest::get(format!("{}/readyz", server.base)).await.unwrap();
            readiness.text().await.unwrap().contains("\"redis\":\"ok\"")
        })
        .await;
    }
    // A request that failed makes others do without it for a moment.
    eventually("the limit to be shared again", || async {
        let newcomer = world.person().await;
        let counts = ask(&bases, &newcomer.token, 2 * PER_MINUTE).await;
        (PER_MINUTE..=counts.most).contains(&counts.passed)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_starts_without_redis() {
    let mut redis = services::redis().await;
    redis.kill().await;
    let world = World::on(server(&Arc::new(Database::new().await), &redis).await).await;
    let person = world.person().await;
    assert_eq!(ask(&[&world.server.base], &person.token, 1).await.passed, 1);
    let readiness = reqwest::get(format!("{}/readyz", world.server.base)).await.unwrap();
    assert!(readiness.status().is_success(), "requests are served all the same");
    assert!(readiness.text().await.unwrap().contains("limits are counted per process"));
}
