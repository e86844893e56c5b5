//! Tickets that are shown twice, late, by the wrong people or at the wrong place.

use contract::{
    Code, Nothing, Role, Within,
    access_tickets::TicketKind,
    gateways::{CreateGateway, GatewaySpec},
};
use gateway::{control::ControlError, identity::join};
use protocol::{
    PROTOCOL,
    gateway::{ExchangeRequest, GrantRequest, SshRequest},
    stream::Kind,
};
use std::time::Duration;
use testkit::{
    gateway::{Ending, Terminal},
    world::set_policy,
};

use trust::{PendingRequest, Trust};

use crate::sessions::stand::{Stand, code, refused, region, terminal};

fn shown(ticket: &str) -> ExchangeRequest {
    ExchangeRequest {
        protocol: PROTOCOL,
        ticket: ticket.to_owned(),
        address: "127.0.0.1".into(),
        seen: None,
        size: None,
        cookie_sha256: None,
    }
}

fn said(error: ControlError) -> (u16, String) {
    match error {
        ControlError::Refused { status, problem } => (status.as_u16(), problem.code),
        other => panic!("no refusal: {other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_lost_the_answer_to_its_token_asks_again_with_its_key() {
    let stand = Stand::new().await;
    let spec = GatewaySpec {
        name: "gw-2".parse().unwrap(),
        region_id: region(stand.operator()).await,
        agent_url: "https://127.0.0.1:1".parse().unwrap(),
        public_url: "ws://127.0.0.1:2".parse().unwrap(),
        ssh_address: None,
        web_domain: "web.localhost".parse().unwrap(),
    };
    let made = stand.operator().call::<CreateGateway>(Nothing {}, Nothing {}, spec).await.unwrap();
    let trust = Trust::in_fingerprint(&made.ca_fingerprint).unwrap();
    let url = format!("https://{}", stand.cloud.world().server.node_address.unwrap());
    let join = async |asked: &PendingRequest| join(&url, made.secret.expose(), &trust, "test", asked.clone()).await;
    let (own, other) = (PendingRequest::new().unwrap(), PendingRequest::new().unwrap());
    let lost = join(&own).await.unwrap();
    let before = refused("used_join_token");
    assert!(join(&other).await.is_err(), "whoever found the token has not the key");
    assert!(refused("used_join_token") > before);
    let again = join(&own).await.unwrap();
    assert_eq!(again.gateway_id, lost.gateway_id);
    assert_ne!(again.pair.certificate, lost.pair.certificate);
}

#[tokio::test(flavor = "multi_thread")]
async fn ticket_used_a_hundred_times_on_two_control_planes_opens_once() {
    let stand = Stand::new().await;
    // Two control planes on one database: only the database can tell who was first.
    let database = stand.cloud.world().server.database.clone();
    let other = testkit::Server::with(database, &[gpuaasd::roles::Role::Nodes], |_| ()).await;
    let mut elsewhere = stand.gateway.identity();
    elsewhere.url = format!("https://{}", other.node_address.unwrap());
    let planes = [stand.gateway.control(), testkit::gateway::control(&elsewhere)].map(std::sync::Arc::new);
    let ticket = stand.ticket(terminal()).await;
    let before = refused("used_ticket");
    let uses: Vec<_> = (0..100)
        .map(|number| {
            let (control, request) = (planes[number % 2].clone(), shown(ticket.ticket.expose()));
            tokio::spawn(async move { control.exchange(&request).await })
        })
        .collect();
    let (mut won, mut lost) = (0, 0);
    for one in uses {
        match one.await.unwrap() {
            Ok(_) => won += 1,
            Err(error) => {
                assert_eq!(said(error), (401, "ticket_refused".into()));
                lost += 1;
            }
        }
    }
    assert_eq!((won, lost), (1, 99));
    assert!(refused("used_ticket") >= before + 99);
    println!("won {won}, refused {lost}");
}

#[tokio::test(flavor = "multi_thread")]
async fn used_expired_and_unknown_tickets_get_one_answer_and_are_counted_apart() {
    let stand = Stand::new().await;
    let ticket = stand.ticket(terminal()).await;
    let mut shell = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
    shell.type_in("echo in\n").await;
    assert!(shell.prints("in").await);
    let before = (refused("used_ticket"), refused("expired_ticket"), refused("unknown_ticket"));
    let mut replayed = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
    assert_eq!(replayed.ends().await, Ending::Closed(4401));
    let mut guessed = Terminal::open(stand.gateway.public, "gpt_nonsense").await;
    assert_eq!(guessed.ends().await, Ending::Closed(4401));
    let late = stand.ticket(terminal()).await;
    stand.cloud.fleet.advance(Duration::from_secs(301));
    let refusal = stand.gateway.control().exchange(&shown(late.ticket.expose())).await.unwrap_err();
    assert_eq!(said(refusal), (401, "ticket_refused".into()));
    let after = (refused("used_ticket"), refused("expired_ticket"), refused("unknown_ticket"));
    assert!(after.0 > before.0 && after.1 > before.1 && after.2 > before.2, "{before:?} {after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_viewers_and_members_who_left_do_not_come_in() {
    let stand = Stand::new().await;
    let world = stand.cloud.world();
    let (_, stranger) = world.organization().await;
    let refusal = stand.try_ticket(&world.as_(&stranger), terminal()).await.unwrap_err();
    assert_eq!(code(refusal), Code::NotFound.info().name, "another organization learns nothing");
    let viewer = world.member_of(stand.id(), Role::Viewer).await;
    let refusal = stand.try_ticket(&world.as_(&viewer), terminal()).await.unwrap_err();
    assert_eq!(code(refusal), Code::Forbidden.info().name);
    let leaver = world.member_of(stand.id(), Role::Member).await;
    let ticket = stand.try_ticket(&world.as_(&leaver), terminal()).await.unwrap();
    let path = contract::members::MemberPath { organization_id: stand.id(), user_id: leaver.id };
    stand
        .tenant
        .client
        .call::<contract::members::RemoveMember>(path, Default::default(), Default::default())
        .await
        .unwrap();
    let before = refused("not_permitted");
    let refusal = stand.gateway.control().exchange(&shown(ticket.ticket.expose())).await.unwrap_err();
    assert_eq!(said(refusal), (403, "access_refused".into()));
    assert!(refused("not_permitted") > before);
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_cannot_claim_that_a_key_was_proven() {
    let stand = Stand::new().await;
    let key = testkit::cloud::new_key(stand.cloud.world(), stand.tenant.owner.id, "laptop").await;
    let request = SshRequest {
        protocol: PROTOCOL,
        login: stand.allocation.to_string(),
        key: key.public_key.to_string(),
        is_proven: true,
        address: "127.0.0.1".into(),
    };
    let before = refused("ssh_unproven_key");
    let refusal = stand.gateway.control().ssh(&request).await.expect_err("a public key opened a shell");
    assert_eq!(said(refusal).0, 401);
    assert!(refused("ssh_unproven_key") > before, "a gateway that claims it is noticed");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_certificate_does_not_pass_for_the_control_planes() {
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    let stand = Stand::new().await;
    let identity = stand.gateway.identity();
    let chain = CertificateDer::pem_slice_iter(identity.pair.certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.pair.key.as_bytes()).unwrap();
    let tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(tls));
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let _ = acceptor.accept(stream).await;
    });
    let trust = Trust::in_roots(&identity.roots).unwrap().anonymous(&trust::ControlClock::default()).unwrap();
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
    let shaken = tokio_rustls::TlsConnector::from(trust).connect(name, stream).await;
    assert!(shaken.is_err(), "an agent would take tasks and keys from a gateway");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forward_opens_its_port_and_no_other() {
    let stand = Stand::new().await;
    let mut spec = terminal();
    (spec.kind, spec.port) = (TicketKind::Tcp, Some(Within::new(8888).unwrap()));
    let ticket = stand.ticket(spec.clone()).await;
    let control = stand.gateway.control();
    let session = control.exchange(&shown(ticket.ticket.expose())).await.unwrap();
    assert_eq!((session.port, session.grant, session.kinds.as_slice()), (Some(8888), None, &["tcp".to_owned()][..]));
    let ask = |kind: Kind| GrantRequest { protocol: PROTOCOL, session: session.session, kind };
    assert!(control.grant(&ask(Kind::Tcp { port: 8888 })).await.is_ok());
    for kind in [Kind::Tcp { port: 22 }, Kind::File, Kind::Exec { command: "id".into() }] {
        assert_eq!(said(control.grant(&ask(kind)).await.unwrap_err()), (403, "access_refused".into()));
    }
    set_policy(stand.operator(), "access.tcp_ports", "8000-8080").await;
    let refusal = stand.try_ticket(&stand.tenant.client, spec).await.unwrap_err();
    assert_eq!(code(refusal), "access_refused");
    let refusal = control.grant(&ask(Kind::Tcp { port: 8888 })).await.unwrap_err();
    assert_eq!(said(refusal), (403, "access_refused".into()), "policy counts at every step");
}
