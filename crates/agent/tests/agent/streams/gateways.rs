//! Several gateways, gateways that go and come back, and new certificates.

use crate::gateway::{Gateway, again, shell};
use crate::plane::eventually;
use crate::streams::world::World;
use protocol::stream::{Closing, refusals};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_through_another_gateway() {
    let world = World::new().await;
    let second = Gateway::start(&world.plane, "gw-2").await;
    world.plane.state().gateways = vec![world.gateway.entry(), second.entry()];
    second.connected().await;
    let (grant, mut stream) = world.open(shell()).await;
    stream.typed("there=here; echo $((40+2))\n");
    stream.until("42").await;
    let seen = stream.seen;
    let foreign = again(&grant, Some(seen), false);
    let refused = second.open(&world.plane, &foreign).await.err().unwrap();
    assert_eq!(refused.1.code, refusals::OTHER_GATEWAY);
    let mut moved = foreign.clone();
    moved.gateway = "gw-2".into();
    let mut elsewhere = second.open(&world.plane, &moved).await.unwrap();
    assert_eq!(stream.closed_with().await, Closing::TakenOver);
    elsewhere.typed("echo $there\n");
    elsewhere.until("here\r\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_survives_its_gateway_and_is_found_again() {
    let world = World::new().await;
    let (grant, mut stream) = world.open(shell()).await;
    stream.typed("there=here; echo $((40+2))\n");
    stream.until("42").await;
    let seen = stream.seen;
    world.gateway.cut();
    while stream.frame().await.is_some() {}
    world.gateway.connected().await;
    let mut stream = world.gateway.open(&world.plane, &again(&grant, Some(seen), false)).await.unwrap();
    stream.typed("echo $there\n");
    stream.until("here\r\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_leaves_the_list_keeps_its_streams_until_they_end() {
    let world = World::new().await;
    let (_, mut stream) = world.open(shell()).await;
    stream.until("$").await;
    let second = Gateway::start(&world.plane, "gw-2").await;
    world.plane.state().gateways = vec![second.entry()];
    second.connected().await;
    stream.typed("echo $((40+2))\n");
    stream.until("42").await;
    assert_eq!(world.gateway.connections(), 1);
    stream.typed("exit\n");
    stream.rest().await;
    drop(stream);
    eventually("the connection to end", || (world.gateway.connections() == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_shown_as_soon_as_no_stream_is_cut_by_it() {
    let world = World::new().await;
    let (_, mut stream) = world.open(shell()).await;
    stream.until("$").await;
    let before = world.gateway.accepted();
    world.plane.state().asks_renewal = true;
    world.plane.wake();
    eventually("the renewal", || (world.plane.state().renewals == 1).then_some(())).await;
    stream.typed("echo $((40+2)); exit\n");
    stream.until("42").await;
    stream.rest().await;
    drop(stream);
    eventually("a connection anew", || (world.gateway.accepted() > before).then_some(())).await;
    world.gateway.connected().await;
    let (_, mut stream) = world.open(shell()).await;
    stream.until("$").await;
}
