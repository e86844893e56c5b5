//! Which hosts are let in.

use crate::stage::{Ca, Host, NODE, Stage, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_names_no_node_is_refused() {
    let stage = Stage::new().await;
    for uris in [
        &["gpuaas://gateway/node_1"][..],
        &[],
        &["gpuaas://node/node_1", "gpuaas://node/node_2"],
        &["gpuaas://node/../node_1"],
    ] {
        let mut host = Host::dial(stage.agents, stage.ca.named(uris), &stage.ca).await.unwrap();
        host.is_closed().await;
    }
    assert!(!stage.plane.admitted(NODE));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_ca_is_refused() {
    let stage = Stage::new().await;
    let foreign = Ca::new();
    if let Ok(mut host) = Host::dial(stage.agents, foreign.node(NODE), &stage.ca).await {
        host.is_closed().await;
    }
    assert!(!stage.plane.admitted(NODE));
    let _host = stage.host(NODE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_not_admitted_or_is_cut_goes() {
    let stage = Stage::new().await;
    stage.plane.refuse_node("node_2");
    let mut refused = Host::dial(stage.agents, stage.ca.node("node_2"), &stage.ca).await.unwrap();
    refused.is_closed().await;
    let mut host = stage.host(NODE).await;
    eventually("a beat tells of it", || stage.plane.beats().last().is_some_and(|it| it.nodes == 1)).await;
    stage.plane.order_cut(NODE);
    host.is_closed().await;
    eventually("a beat tells of it", || stage.plane.beats().last().is_some_and(|it| it.nodes == 0)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_connection_replaces_an_older() {
    let stage = Stage::new().await;
    let mut older = stage.host(NODE).await;
    let _newer = stage.host(NODE).await;
    older.is_closed().await;
    stage.plane.terminal("t", "echo");
    let mut client = stage.terminal("t").await;
    client.opened().await;
    client.type_in("x").await;
    assert_eq!(client.output(1).await, b"x");
}

#[tokio::test(flavor = "multi_thread")]
async fn client_ahead_of_its_host_is_connected_when_the_host_arrives() {
    let stage = Stage::new().await;
    stage.plane.terminal("t", "echo");
    let mut client = stage.terminal("t").await;
    eventually("the ticket is exchanged", || !stage.plane.exchanged().is_empty()).await;
    let _host = stage.host(NODE).await;
    client.opened().await;
    client.type_in("x").await;
    assert_eq!(client.output(1).await, b"x");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aging_certificate_is_renewed_through_the_beat() {
    let stage = Stage::new().await;
    // The first certificate of a gateway is past two thirds of its life here.
    eventually("a new one is asked for", || stage.plane.beats().iter().any(|it| it.csr.is_some())).await;
    let folder = gateway::identity::Folder::open(stage.folder.path()).unwrap();
    let is_kept = || folder.identity().unwrap().unwrap().pair.renew_at().unwrap() > jiff::Timestamp::now();
    eventually("it is kept", is_kept).await;
    let _host = stage.host(NODE).await;
    assert!(stage.plane.beats().iter().all(|it| it.generation == 1));
}
