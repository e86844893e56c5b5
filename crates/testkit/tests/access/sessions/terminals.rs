//! Terminals through everything.

use contract::{
    Code, Nothing, Role,
    access_sessions::{AccessSessionPath, AccessSessionState, EndAccessSession, GetAccessSession},
    access_tickets::{BreakGlass, BreakGlassSpec},
    allocations::{AllocationState, AnyAllocationPath},
    gateways::{GatewayPath, RemoveGateway},
    notifications::{ListNotifications, NotificationFilter},
};
use testkit::{
    gateway::{Ending, Terminal},
    server::eventually,
    world::set_policy,
};

use crate::sessions::stand::{Stand, code, terminal};

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_answers_and_its_exit_code_comes_through() {
    let stand = Stand::new().await;
    let ticket = stand.ticket(terminal()).await;
    assert!(ticket.url.starts_with("ws://127.0.0.1:"), "{}", ticket.url);
    let mut shell = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
    shell.type_in("echo it is $((40 + 2))\n").await;
    assert!(shell.prints("it is 42").await, "{}", String::from_utf8_lossy(&shell.printed));
    eventually("the session to be open", || async {
        stand.sessions(Some(AccessSessionState::Open)).await.iter().any(|it| it.id == ticket.session_id)
    })
    .await;
    shell.type_in("exit 7\n").await;
    assert_eq!(shell.ends().await, Ending::Exit(7));
    eventually("the session to be over", || async {
        stand.sessions(Some(AccessSessionState::Ended)).await.iter().any(|it| it.id == ticket.session_id)
    })
    .await;
    let path = AccessSessionPath { organization_id: stand.id(), access_session_id: ticket.session_id };
    let session = stand.tenant.client.call::<GetAccessSession>(path, Nothing {}, Nothing {}).await.unwrap();
    assert_eq!((session.exit_code, session.reason.as_deref()), (Some(7), Some("exit")));
    assert!(session.bytes_out > 0 && session.user_id == Some(stand.tenant.owner.id), "{session:?}");
    println!("exit code {:?}, {} bytes out, {}", session.exit_code, session.bytes_out, session.address);
}

#[tokio::test(flavor = "multi_thread")]
async fn person_who_comes_back_finds_the_same_shell_and_others_do_not() {
    let stand = Stand::new().await;
    let ticket = stand.ticket(terminal()).await;
    let mut shell = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
    shell.type_in("MARK=kept; echo ready-$MARK\n").await;
    assert!(shell.prints("ready-kept").await);
    drop(shell);
    eventually("the session to be detached", || async {
        stand.sessions(Some(AccessSessionState::Detached)).await.iter().any(|it| it.id == ticket.session_id)
    })
    .await;
    let mut spec = terminal();
    spec.resume = Some(ticket.session_id);
    let other = stand.cloud.world().member_of(stand.id(), Role::Member).await;
    let refused = stand.try_ticket(&stand.cloud.world().as_(&other), spec.clone()).await.unwrap_err();
    assert_eq!(code(refused), "access_refused", "it was not shared");
    let again = stand.ticket(spec).await;
    assert_eq!(again.session_id, ticket.session_id);
    let mut shell = Terminal::open(stand.gateway.public, again.ticket.expose()).await;
    shell.type_in("echo still-$MARK\n").await;
    assert!(shell.prints("still-kept").await, "{}", String::from_utf8_lossy(&shell.printed));
    let path = AccessSessionPath { organization_id: stand.id(), access_session_id: ticket.session_id };
    stand.tenant.client.call::<EndAccessSession>(path, Nothing {}, Nothing {}).await.unwrap();
    assert_eq!(shell.ends().await, Ending::Closed(4410), "ended by its owner");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_allocation_ends_its_sessions() {
    let stand = Stand::new().await;
    let ticket = stand.ticket(terminal()).await;
    let mut shell = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
    shell.type_in("echo inside\n").await;
    assert!(shell.prints("inside").await);
    stand.tenant.release(stand.allocation).await.unwrap();
    let ending = shell.ends().await;
    assert!(matches!(ending, Ending::Closed(4404 | 4410)), "{ending:?}");
    stand.tenant.reaches(stand.allocation, AllocationState::Released).await;
    eventually("the session to be over", || async {
        stand.sessions(Some(AccessSessionState::Ended)).await.iter().any(|it| it.id == ticket.session_id)
    })
    .await;
    let refused = stand.try_ticket(&stand.tenant.client, terminal()).await.unwrap_err();
    assert_eq!(code(refused), Code::Conflict.info().name);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_whose_host_is_away_is_not_waited_for() {
    let stand = Stand::new().await;
    stand.cloud.hosts.stop();
    stand.gateway.has_hosts(stand.operator(), 0).await;
    let ticket = stand.ticket(terminal()).await;
    let mut shell = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
    assert_eq!(shell.ends().await, Ending::Closed(4404));
    eventually("the session to be over", || async {
        stand.sessions(Some(AccessSessionState::Ended)).await.iter().any(|it| it.id == ticket.session_id)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_gateway_is_refused_and_left_by_hosts() {
    let stand = Stand::new().await;
    let control = stand.gateway.control();
    let path = GatewayPath { gateway_id: stand.gateway.id };
    stand.operator().call::<RemoveGateway>(path, Nothing {}, Nothing {}).await.unwrap();
    let asked = std::time::Instant::now();
    eventually("its certificate to be refused", || async {
        let request = protocol::gateway::AdmitRequest { protocol: 1, node: String::new(), serial: String::new() };
        control.admit(&request).await.is_err()
    })
    .await;
    println!("refused after {} ms", asked.elapsed().as_millis());
    let refused = stand.try_ticket(&stand.tenant.client, terminal()).await.unwrap_err();
    assert_eq!(code(refused), "unavailable", "no gateway is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn breaking_the_glass_opens_a_terminal_and_notifies_the_owners() {
    let stand = Stand::new().await;
    let spec = BreakGlassSpec { reason: "the tenant asked for help".parse().unwrap(), node_id: None };
    let path = AnyAllocationPath { allocation_id: stand.allocation };
    let ticket = stand.operator().call::<BreakGlass>(path, Nothing {}, spec).await.unwrap();
    let mut shell = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
    shell.type_in("echo staff-was-here\n").await;
    assert!(shell.prints("staff-was-here").await);
    eventually("the owner to be told", || async {
        let filter = NotificationFilter::default();
        let page = stand.tenant.client.call::<ListNotifications>(Nothing {}, filter, Nothing {}).await.unwrap();
        page.items.iter().any(|it| it.body.contains("Reason: the tenant asked for help."))
    })
    .await;
    let sessions = stand.sessions(None).await;
    let session = sessions.iter().find(|it| it.id == ticket.session_id).unwrap();
    assert_eq!(session.break_glass.as_deref(), Some("the tenant asked for help"));
    assert_eq!(session.recording_ids.len(), 1, "it is recorded where that is possible");
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_are_rationed_by_policy() {
    let stand = Stand::new().await;
    set_policy(stand.operator(), "rate_limit.terminal_ticket_per_minute", "2").await;
    eventually("the ration to apply", || async {
        let refused = stand.try_ticket(&stand.tenant.client, terminal()).await.err();
        refused.is_some_and(|it| code(it) == "too_many_requests")
    })
    .await;
}
