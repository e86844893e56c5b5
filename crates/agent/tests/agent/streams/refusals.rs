//! Grants that are refused: each with its code, counted, and nothing started.

use crate::gateway::{Gateway, again, shell};
use crate::streams::world::{World, login};
use jiff::SignedDuration;
use protocol::SigningKey;
use protocol::stream::{Frame, Kind, SignedGrant, Size, refusals};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_grant_is_refused_with_its_code_and_counted() {
    let world = World::new().await;
    world.plane.state().epoch = 5;
    crate::streams::world::polled(&world.plane).await;
    let old = protocol::stream::Grant { epoch: 4, ..world.grant(shell()) };
    let hour = SignedDuration::from_hours(1);
    let change = |edit: &dyn Fn(&mut protocol::stream::Grant)| {
        let mut grant = world.grant(shell());
        edit(&mut grant);
        grant
    };
    let cases = [
        (old, 403, refusals::OLD_EPOCH),
        (change(&|it| it.node = "node-other".into()), 403, refusals::OTHER_NODE),
        (change(&|it| it.gateway = "gw-2".into()), 403, refusals::OTHER_GATEWAY),
        (change(&|it| it.expires_at = it.issued_at - hour), 403, refusals::EXPIRED),
        (change(&|it| it.issued_at -= hour), 403, refusals::EXPIRED),
        (change(&|it| it.workload = login("nobody-here")), 404, refusals::NO_ALLOCATION),
        (change(&|it| it.workload = login("../../root")), 404, refusals::NO_ALLOCATION),
        (change(&|it| it.limits.sessions = 0), 429, refusals::TOO_MANY),
        (again(&world.grant(shell()), None, false), 404, refusals::NO_SESSION),
        (again(&world.grant(shell()), None, true), 404, refusals::NO_SESSION),
        (change(&|it| it.kind = Kind::Serial { size: Size::DEFAULT }), 422, refusals::UNSUPPORTED),
        (change(&|it| it.kind = Kind::Tcp { port: 9 }), 422, refusals::NOTHING_LISTENS),
    ];
    for (grant, status, code) in cases {
        let before = world.sessions().refused().of(code);
        assert_eq!(world.refusal(&grant).await, (status, code.to_owned()));
        assert_eq!(world.sessions().refused().of(code), before + 1, "{code}");
    }
    assert_eq!(world.sessions().live(), 0, "nothing was started");
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_mangled_and_used_grants_are_refused() {
    let world = World::new().await;
    let refused = |header: Option<String>| {
        let gateway = &world.gateway;
        async move {
            match gateway.open_with(header.as_deref()).await {
                Ok(_) => panic!("it was opened"),
                Err((status, problem)) => (status, problem.code),
            }
        }
    };
    let thief = SigningKey::from_seed(&[66; 32]).unwrap();
    let forged = SignedGrant::sign(&world.grant(shell()), &thief).unwrap();
    let renamed = SignedGrant { key_id: world.plane.key.id().to_owned(), ..forged.clone() };
    assert_eq!(refused(Some(forged.to_header())).await, (403, refusals::FORGED.into()));
    assert_eq!(refused(Some(renamed.to_header())).await, (403, refusals::FORGED.into()));
    assert_eq!(refused(None).await, (400, refusals::MALFORMED.into()));
    assert_eq!(refused(Some("no grant at all".into())).await, (400, refusals::MALFORMED.into()));
    let counted = world.sessions().refused();
    assert_eq!((counted.of(refusals::FORGED), counted.of(refusals::MALFORMED)), (2, 2));
    let grant = world.grant(Kind::Exec { command: "true".into() });
    let header = SignedGrant::sign(&grant, &world.plane.key).unwrap().to_header();
    // A hundred at once: one wins.
    let tries = (0..100).map(|_| world.gateway.open_with(Some(&header)));
    let answers = join_all(tries).await;
    let won = answers.iter().filter(|answer| answer.is_ok()).count();
    let used =
        answers.iter().filter(|it| it.as_ref().is_err_and(|(_, problem)| problem.code == refusals::USED)).count();
    assert_eq!((won, used), (1, 99));
    assert_eq!(world.sessions().refused().of(refusals::USED), 99);
}

async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = futures.map(Box::pin).collect();
    let mut done = Vec::new();
    while !all.is_empty() {
        let (at, output) = std::future::poll_fn(|context| {
            let ready = all.iter_mut().enumerate().find_map(|(at, future)| match future.as_mut().poll(context) {
                std::task::Poll::Ready(output) => Some((at, output)),
                std::task::Poll::Pending => None,
            });
            ready.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
        })
        .await;
        drop(all.swap_remove(at));
        done.push(output);
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allocation_has_as_many_sessions_as_it_may() {
    let world = World::new().await;
    let limited = || {
        let mut grant = world.grant(shell());
        grant.limits.sessions = 2;
        grant
    };
    let first = limited();
    let mut stream = world.gateway.open(&world.plane, &first).await.unwrap();
    let _second = world.gateway.open(&world.plane, &limited()).await.unwrap();
    assert_eq!(world.refusal(&limited()).await, (429, refusals::TOO_MANY.into()));
    // A further stream of the same session is no further session.
    let mut more = again(&first, None, false);
    more.kind = Kind::Exec { command: "echo more".into() };
    let mut exec = world.gateway.open(&world.plane, &more).await.unwrap();
    assert_eq!(exec.rest().await.0, b"more\n");
    stream.typed("exit\n");
    stream.rest().await;
    drop((stream, exec));
    crate::plane::eventually("room", || (world.sessions().live() == 1).then_some(())).await;
    world.gateway.open(&world.plane, &limited()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_with_the_certificate_of_another_is_not_served() {
    let world = World::new().await;
    let other = Gateway::start_as(&world.plane, "gw-2", "gw-3", "127.0.0.1:0").await;
    let good = Gateway::start(&world.plane, "gw-4").await;
    world.plane.state().gateways = vec![world.gateway.entry(), other.entry(), good.entry()];
    good.connected().await;
    assert_eq!(other.served(), 0, "the agent hangs up before it serves anything");
    let counted = || (world.sessions().refused().of("wrong_gateway_certificate") > 0).then_some(());
    crate::plane::eventually("it is counted", counted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn above_the_most_streams_of_a_gateway_one_is_refused_at_once_and_the_others_go_on() {
    let world = World::new().await;
    world.sessions().allow_streams(2);
    let cat = || Kind::Exec { command: "cat".into() };
    let ((_, mut first), (_, mut second)) = (world.open(cat()).await, world.open(cat()).await);
    let grant = world.grant(cat());
    let began = Instant::now();
    let (status, problem) = world.gateway.open(&world.plane, &grant).await.err().expect("it is refused");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!((status, problem.code.as_str()), (429, refusals::TOO_MANY_STREAMS));
    assert!(problem.detail.contains("2 streams for this gateway"), "{problem:?}");
    assert!(problem.advice.contains("close an unused shell") && problem.advice.contains("try again"), "{problem:?}");
    println!("refused after {:?}: {}; {}", began.elapsed(), problem.detail, problem.advice);
    // More at once than the library keeps apart for those.
    let grants: Vec<_> = (0..100).map(|_| world.grant(cat())).collect();
    let tries = join_all(grants.iter().map(|it| world.gateway.open(&world.plane, it))).await;
    assert!(tries.iter().all(|it| it.as_ref().is_err_and(|(_, it)| it.code == refusals::TOO_MANY_STREAMS)));
    assert_eq!(world.sessions().refused().of(refusals::TOO_MANY_STREAMS), 101);
    for stream in [&mut first, &mut second] {
        stream.typed("untouched\n");
        stream.until("untouched").await;
    }
    // The grant was not spent: it opens a stream as soon as there is room for one.
    second.send(&Frame::EndOfInput);
    second.rest().await;
    let again = async {
        loop {
            match world.gateway.open(&world.plane, &grant).await {
                Ok(stream) => return stream,
                Err((_, problem)) => assert_eq!(problem.code, refusals::TOO_MANY_STREAMS),
            }
        }
    };
    let mut third = tokio::time::timeout(Duration::from_secs(10), again).await.expect("there is room");
    third.typed("in\n");
    third.until("in").await;
}
