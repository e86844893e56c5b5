//! Two at once, one that is killed, and a server that is not there.

use testkit::server::eventually;

use crate::declare::stand::{Between, Manner, Stand, TEAM, ended};

#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_make_one_of_each() {
    let stand = Stand::new().await;
    let between = Between::start(&stand.world.server.base, Manner::Pair).await;
    let one = stand.run_on(&between.base, "apply", TEAM, &["--yes"]);
    let other = stand.run_on(&between.base, "apply", TEAM, &["--yes"]);
    let (one, other) = tokio::join!(one, other);
    one.has(0, &["7 to create"]);
    other.has(0, &["7 to create"]);
    stand.has_one_of_each().await;
    stand.run("diff", TEAM, &[]).await.has(0, &["no changes"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_that_is_killed_goes_on_where_it_was() {
    let stand = Stand::new().await;
    for (end, left) in [("/webhooks", "1 to create"), ("/allocations", "no changes")] {
        let between = Between::start(&stand.world.server.base, Manner::Swallow(end)).await;
        let mut killed = stand.command_on(&between.base, "apply", TEAM, &["--yes"]).spawn().unwrap();
        eventually(end, || async { !between.swallowed.lock().unwrap().is_empty() }).await;
        killed.kill().await.unwrap();
        stand.run("diff", TEAM, &[]).await.has(i32::from(left != "no changes"), &[left]);
    }
    stand.run("apply", TEAM, &["--yes"]).await.has(0, &["no changes"]);
    stand.has_one_of_each().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_in_the_middle_still_shows_the_secrets() {
    let stand = Stand::new().await;
    let broken = TEAM.replace("gpus: 2", "gpus: 3");
    let failed = stand.run("apply", &broken, &["--yes"]).await;
    let failed = failed.has(7, &["(allocation vision/notebook)", "Completed 6 of 7 steps"]);
    assert!(failed.out.contains("Secret of webhook https://hooks.example.com/gpuaas: "), "{failed:?}");
    let done = stand.run("apply", TEAM, &["--yes"]).await.has(0, &["1 to create"]);
    assert!(!done.out.contains("Secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_is_said_so_after_the_files_were_judged() {
    let stand = Stand::new().await;
    let away = |stack: &str| ended(stand.command_on("http://127.0.0.1:1", "apply", stack, &["--yes"]));
    away(TEAM).await.has(9, &["127.0.0.1:1"]);
    away("kind: stack\n").await.has(2, &["`name`: required field is missing"]);
}
