//! Several people and several windows at one allocation.

use client::Client;
use contract::{
    Nothing, Permission, Role, Word,
    access_sessions::AccessSessionState,
    access_tickets::AccessTicketSpec,
    id::AccessSessionId,
    keys::{CreatePersonalKey, KeyPath, KeySpec, RevokePersonalKey},
    members::{ChangeMember, MemberPath, MemberSpec, RemoveMember},
    sessions::SignOutEverywhere,
};
use protocol::stream::Closing;
use testkit::{
    Tenant,
    server::eventually,
    shell::{End, Shell},
    world::set_policy,
};

use crate::sessions::stand::{Stand, code, terminal};

impl Stand {
    /// A window of somebody's.
    async fn window(&self, person: &Tenant, spec: AccessTicketSpec) -> Shell {
        let ticket = person.ticket(self.allocation, spec).await.unwrap();
        Shell::open(&ticket.url, &ticket, None).await.unwrap()
    }

    /// A shell that somebody shares, in use.
    async fn shares(&self, person: &Tenant) -> (AccessSessionId, Shell) {
        let ticket = person.ticket(self.allocation, AccessTicketSpec { share: true, ..terminal() }).await.unwrap();
        let mut shell = Shell::open(&ticket.url, &ticket, None).await.unwrap();
        shell.runs("MARK=shared").await;
        (ticket.session_id, shell)
    }

    /// A shared shell of the tenant's that somebody drives who came in with this.
    async fn taken_by(&self, client: Client, colleague: &Tenant) -> (AccessSessionId, Shell) {
        let (session, mut owner) = self.shares(&self.tenant).await;
        let guest = Tenant { client, ..colleague.clone() };
        let mut taken = self.window(&guest, joins(session, false)).await;
        taken.told("this session was taken over by another window").await;
        assert_eq!(owner.ends().await, End::Close(Closing::TakenOver));
        taken.types("echo it-is-$MARK\r").await;
        taken.shows("it-is-shared").await;
        (session, taken)
    }

    /// Whoever drives it is cut off, and it is over.
    async fn is_cut_off(&self, (session, mut taken): (AccessSessionId, Shell), why: &str) {
        assert_eq!(taken.ends().await, End::Close(Closing::Ended), "{why}");
        eventually("the session is over", || async {
            self.sessions(Some(AccessSessionState::Ended)).await.iter().any(|it| it.id == session)
        })
        .await;
        println!("took over, and was cut off: {why}");
    }

    fn member(&self, person: &Tenant) -> MemberPath {
        MemberPath { organization_id: self.id(), user_id: person.owner.id }
    }

    async fn removes(&self, person: &Tenant) {
        let path = self.member(person);
        self.tenant.client.call::<RemoveMember>(path, Nothing {}, Nothing {}).await.unwrap();
    }
}

fn joins(session: AccessSessionId, watch: bool) -> AccessTicketSpec {
    AccessTicketSpec { resume: Some(session), watch, ..terminal() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_is_announced_in_both_windows() {
    let stand = Stand::new().await;
    let (session, mut first) = stand.tenant.shell(stand.allocation).await;
    first.runs("MARK=kept").await;
    let spec = AccessTicketSpec { resume: Some(session), ..terminal() };
    let mut second = stand.window(&stand.tenant, spec.clone()).await;
    second.told("this session was taken over by another window").await;
    assert_eq!(first.ends().await, End::Close(Closing::TakenOver));
    let (code, words) = first.closes().await;
    assert!(code == 4409 && words.contains("continued from another connection"), "{code} {words}");
    second.types("echo still-$MARK\r").await;
    second.shows("still-kept").await;
    // And back, again with a word to both.
    let mut third = stand.window(&stand.tenant, spec).await;
    third.told("this session was taken over by another window").await;
    assert_eq!(second.ends().await, End::Close(Closing::TakenOver));
    let open = stand.sessions(Some(AccessSessionState::Open)).await;
    assert_eq!(open.iter().filter(|it| it.id == session).count(), 1, "it is one session throughout");
}

#[tokio::test(flavor = "multi_thread")]
async fn colleague_watches_and_takes_over_only_shared_sessions() {
    let stand = Stand::new().await;
    let colleague = stand.colleague().await;
    let (private, mut own) = stand.tenant.shell(stand.allocation).await;
    own.runs("echo mine").await;
    for watch in [false, true] {
        let spec = AccessTicketSpec { resume: Some(private), watch, ..terminal() };
        let refused = colleague.ticket(stand.allocation, spec).await.unwrap_err();
        assert!(refused.to_string().contains("is not shared"), "{refused}");
        assert_eq!(code(refused), "access_refused");
    }

    let (shared, mut owner) = stand.shares(&stand.tenant).await;
    // Who may not even come in does not look on either.
    let viewer = stand.cloud.world().member_of(stand.id(), Role::Viewer).await;
    let refused = stand.try_ticket(&stand.cloud.world().as_(&viewer), joins(shared, true)).await.unwrap_err();
    assert_eq!(code(refused), "forbidden");
    let mut watcher = stand.window(&colleague, joins(shared, true)).await;
    owner.told("a viewer is watching").await;
    owner.runs("echo seen-by-$((1 + 1))").await;
    watcher.shows("seen-by-2").await;
    // Keys of who looks on reach nobody.
    watcher.types("echo intru$((1))der\r").await;
    owner.runs("echo after-$((2 + 2))").await;
    watcher.shows("after-4").await;
    assert!(!watcher.text.contains("intru1der") && !owner.text.contains("intru1der"), "{}", watcher.text);

    let mut taken = stand.window(&colleague, joins(shared, false)).await;
    taken.told("this session was taken over by another window").await;
    assert_eq!(owner.ends().await, End::Close(Closing::TakenOver));
    taken.types("echo it-is-$MARK\r").await;
    taken.shows("it-is-shared").await;
    watcher.shows("it-is-shared").await;
    let sessions = stand.sessions(None).await;
    let watching = sessions.iter().find(|it| it.watches == Some(shared)).expect("who looks on has a session");
    assert_eq!(watching.user_id, Some(colleague.owner.id), "and is known by name");

    // Who leaves the organization neither looks on nor types any longer.
    stand.removes(&colleague).await;
    assert_eq!(watcher.ends().await, End::Close(Closing::Ended));
    stand.is_cut_off((shared, taken), "removed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn takeover_lasts_no_longer_than_the_role_and_the_credential_behind_it() {
    let stand = Stand::new().await;
    let world = stand.cloud.world();

    let colleague = stand.colleague().await;
    let me = world.signed_in(colleague.owner.id).await;
    let spec = KeySpec { name: "guest".parse().unwrap(), scopes: Permission::ALL.to_vec(), expires_at: None };
    let key = me.call::<CreatePersonalKey>(Nothing {}, Nothing {}, spec).await.unwrap();
    let taken = stand.taken_by(world.server.client(Some(key.secret.expose())), &colleague).await;
    me.call::<RevokePersonalKey>(KeyPath { key_id: key.key.id }, Nothing {}, Nothing {}).await.unwrap();
    stand.is_cut_off(taken, "the key was revoked").await;

    let colleague = stand.colleague().await;
    let taken = stand.taken_by(world.signed_in(colleague.owner.id).await, &colleague).await;
    let elsewhere = world.signed_in(colleague.owner.id).await;
    elsewhere.call::<SignOutEverywhere>(Nothing {}, Nothing {}, Nothing {}).await.unwrap();
    stand.is_cut_off(taken, "signed out everywhere").await;

    let colleague = stand.colleague().await;
    let taken = stand.taken_by(colleague.client.clone(), &colleague).await;
    let viewer = MemberSpec { role: Role::Viewer };
    stand.tenant.client.call::<ChangeMember>(stand.member(&colleague), Nothing {}, viewer).await.unwrap();
    stand.is_cut_off(taken, "demoted").await;

    // Nor longer than who shared it.
    let colleague = stand.colleague().await;
    let (session, _owner) = stand.shares(&colleague).await;
    let mut taken = stand.window(&stand.tenant, joins(session, false)).await;
    taken.told("this session was taken over by another window").await;
    stand.removes(&colleague).await;
    stand.is_cut_off((session, taken), "its owner was removed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_who_is_back_does_not_depend_on_the_guest_any_more() {
    let stand = Stand::new().await;
    let colleague = stand.colleague().await;
    let (session, mut taken) = stand.taken_by(colleague.client.clone(), &colleague).await;
    let mut owner = stand.window(&stand.tenant, joins(session, false)).await;
    owner.told("this session was taken over by another window").await;
    assert_eq!(taken.ends().await, End::Close(Closing::TakenOver));
    let mut watcher = stand.window(&colleague, joins(session, true)).await;
    stand.removes(&colleague).await;
    // The beat that ends this looked at the owner's window too.
    assert_eq!(watcher.ends().await, End::Close(Closing::Ended));
    owner.types("echo still-$MARK\r").await;
    owner.shows("still-shared").await;
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
        code == 4429 && words.contains("has reached its session limit") && words.contains("end one"),
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
