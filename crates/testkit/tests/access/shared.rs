//! Several people and several windows at one allocation.

use contract::{Nothing, Role, access_sessions::AccessSessionState, access_tickets::AccessTicketSpec};
use protocol::stream::Closing;
use testkit::{
    Tenant,
    server::eventually,
    shell::{End, Shell},
    world::set_policy,
};

use crate::stand::{Stand, code, terminal};

impl Stand {
    /// A window of somebody's.
    async fn window(&self, person: &Tenant, spec: AccessTicketSpec) -> Shell {
        let ticket = person.ticket(self.allocation, spec).await.unwrap();
        Shell::open(&ticket.url, &ticket, None).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_is_announced_in_both_windows() {
    let stand = Stand::new().await;
    let (session, mut first) = stand.tenant.shell(stand.allocation).await;
    first.runs("MARK=kept").await;
    let spec = AccessTicketSpec { resume: Some(session), ..terminal() };
    let mut second = stand.window(&stand.tenant, spec.clone()).await;
    second.told("you took this session over").await;
    assert_eq!(first.ends().await, End::Close(Closing::TakenOver));
    let (code, words) = first.closes().await;
    assert!(code == 4409 && words.contains("taken over"), "{code} {words}");
    second.types("echo still-$MARK\r").await;
    second.shows("still-kept").await;
    // And back, again with a word to both.
    let mut third = stand.window(&stand.tenant, spec).await;
    third.told("you took this session over").await;
    assert_eq!(second.ends().await, End::Close(Closing::TakenOver));
    let open = stand.sessions(Some(AccessSessionState::Open)).await;
    assert_eq!(open.iter().filter(|it| it.id == session).count(), 1, "it is one session throughout");
}

#[tokio::test(flavor = "multi_thread")]
async fn others_look_on_and_take_over_only_what_was_shared() {
    let stand = Stand::new().await;
    let colleague = stand.colleague().await;
    let (private, mut own) = stand.tenant.shell(stand.allocation).await;
    own.runs("echo mine").await;
    for watch in [false, true] {
        let spec = AccessTicketSpec { resume: Some(private), watch, ..terminal() };
        let refused = colleague.ticket(stand.allocation, spec).await.unwrap_err();
        assert!(refused.to_string().contains("was not shared"), "{refused}");
        assert_eq!(code(refused), "access_refused");
    }

    let shared = stand.ticket(AccessTicketSpec { share: true, ..terminal() }).await;
    let mut owner = Shell::open(&shared.url, &shared, None).await.unwrap();
    owner.runs("MARK=shared").await;
    let joins = |watch| AccessTicketSpec { resume: Some(shared.session_id), watch, ..terminal() };
    // Who may not even come in does not look on either.
    let viewer = stand.cloud.world().member_of(stand.id(), Role::Viewer).await;
    let refused = stand.try_ticket(&stand.cloud.world().as_(&viewer), joins(true)).await.unwrap_err();
    assert_eq!(code(refused), "forbidden");
    let mut watcher = stand.window(&colleague, joins(true)).await;
    owner.told("somebody looks on").await;
    owner.runs("echo seen-by-$((1 + 1))").await;
    watcher.shows("seen-by-2").await;
    // Keys of who looks on reach nobody.
    watcher.types("echo intru$((1))der\r").await;
    owner.runs("echo after-$((2 + 2))").await;
    watcher.shows("after-4").await;
    assert!(!watcher.text.contains("intru1der") && !owner.text.contains("intru1der"), "{}", watcher.text);

    let mut taken = stand.window(&colleague, joins(false)).await;
    taken.told("you took this session over").await;
    assert_eq!(owner.ends().await, End::Close(Closing::TakenOver));
    taken.types("echo it-is-$MARK\r").await;
    taken.shows("it-is-shared").await;
    watcher.shows("it-is-shared").await;
    let sessions = stand.sessions(None).await;
    let watching =
        sessions.iter().find(|it| it.watches == Some(shared.session_id)).expect("who looks on has a session");
    assert_eq!(watching.user_id, Some(colleague.owner.id), "and is known by name");

    // Who leaves the organization does not look on any longer.
    let path = contract::members::MemberPath { organization_id: stand.id(), user_id: colleague.owner.id };
    let gone = stand.tenant.client.call::<contract::members::RemoveMember>(path, Nothing {}, Nothing {}).await;
    gone.unwrap();
    assert_eq!(watcher.ends().await, End::Close(Closing::Ended));
    println!("looked on, typed in vain, took over, and was cut off with the membership");
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_sessions_as_policy_allows_and_then_a_clear_refusal() {
    let stand = Stand::new().await;
    set_policy(stand.operator(), "access.sessions_per_allocation", "3").await;
    let mut shells = Vec::new();
    for number in 0..3 {
        let (_, mut shell) = stand.tenant.shell(stand.allocation).await;
        assert!(shell.runs(&format!("NUMBER={number}; echo shell-$NUMBER")).await.contains(&format!("shell-{number}")));
        shells.push(shell);
    }
    let more = stand.ticket(terminal()).await;
    let Err(End::Closed(code, words)) = Shell::open(&more.url, &more, None).await else { panic!("it is refused") };
    assert!(
        code == 4429 && words.contains("as many sessions as it may") && words.contains("end one"),
        "{code} {words}"
    );
    println!("the fourth heard: {code} {words}");
    for (number, shell) in shells.iter_mut().enumerate() {
        assert!(shell.runs("echo still-$NUMBER").await.contains(&format!("still-{number}")), "each is its own");
    }
    let mut last = shells.pop().expect("there are three");
    last.types("exit 0\r").await;
    assert_eq!(last.ends().await, End::Exit(0));
    eventually("the place to be free", || async { stand.sessions(None).await.len() == 2 }).await;
    let (_, mut next) = stand.tenant.shell(stand.allocation).await;
    assert!(next.runs("echo in-$((3))").await.contains("in-3"));
}
