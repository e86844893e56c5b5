//! Mail through a real mail server: received and readable, refused and shown,
//! and one for each cause.

use contract::{
    Nothing, Role,
    invitations::{CreateInvitation, InvitationSpec, RevokeInvitation},
    mails::MailState,
    notification_kinds::NotificationKind,
    notifications::{ForgetMailRefusal, GetNotificationPreferences},
    organizations::OrganizationPath,
    sessions::SignOutEverywhere,
};
use testkit::MailServer;

use super::stand::{FROM, Stand, about};

#[tokio::test(flavor = "multi_thread")]
async fn person_who_is_signed_out_gets_a_mail_that_can_be_read() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let session = stand.world.signed_in(stand.owner.id).await;
    session.call::<SignOutEverywhere>(Nothing {}, Nothing {}, Nothing {}).await.unwrap();
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    stand.world.server.settle().await;
    let mails = server.received();
    assert_eq!(mails.len(), 1, "{mails:?}");
    let mail = &mails[0];
    assert_eq!(mail.defects, Vec::<String>::new());
    assert_eq!(mail.envelope_to, [stand.owner.email.to_string()]);
    assert_eq!((mail.headers["from"].as_str(), mail.envelope_from.as_str()), (FROM, "no-reply@gpu.example.test"));
    assert_eq!(mail.headers["to"], stand.owner.email.to_string());
    assert_eq!(mail.headers["subject"], "The balance of Test Organization is used up");
    assert!(mail.text.contains("Allocations are being released, newest first."), "{}", mail.text);
    assert!(mail.html.contains("<h1") && mail.html.contains("newest first."), "{}", mail.html);
    assert!(mail.text.contains("(wallet_depleted) cannot be turned off"), "{}", mail.text);
    assert!(!mail.headers.contains_key("list-unsubscribe"), "what is mandatory cannot be stopped");
    assert_eq!(mail.headers["auto-submitted"], "auto-generated");
    let known = &stand.mails().await[0];
    assert_eq!(mail.headers["message-id"], format!("<{}>", known.message_id));
    assert_eq!((known.state.clone(), known.attempts), (MailState::Sent.into(), 1));
    let shown = stand.told(&stand.owner).await.remove(0).mail.unwrap();
    assert!(shown.state == MailState::Sent && shown.sent_at.is_some());
    // Nothing is left to do, and nothing is done again.
    stand.later(86_000).await;
    assert_eq!(server.received().len(), 1);
    println!("Subject: {}\nMessage-ID: {}\n\n{}", mail.headers["subject"], mail.headers["message-id"], mail.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_in_a_mail_are_escaped_and_encoded() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let project = stand.world.project(stand.organization).await;
    let allocation = stand.allocation(project, &format!("user:{}", stand.owner.id)).await;
    stand.is_told("allocation.node_lost", about(allocation)).await;
    stand.world.server.settle().await;
    let mail = server.received().remove(0);
    assert_eq!(mail.headers["subject"], "Allocation train-<1> ended: its host is lost");
    assert!(mail.html.contains("train-&lt;1&gt;") && !mail.html.contains("train-<1>"), "{}", mail.html);
    assert!(mail.text.contains("train-<1> (project"), "{}", mail.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_for_later_gets_the_mail_later_and_once() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    server.answer("rcpt", &["451 4.3.0 graylisted, come again", "421 4.3.2 too busy"]);
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    stand.world.server.settle().await;
    let waiting = stand.told(&stand.owner).await.remove(0).mail.unwrap();
    assert_eq!((waiting.state, waiting.attempts), (MailState::Pending.into(), 1));
    println!("after 451: {}", waiting.error.as_deref().unwrap());
    assert!(waiting.error.unwrap().contains("graylisted"));
    stand.later(31).await;
    assert_eq!((server.refusals(), server.received().len()), (2, 0));
    stand.later(61).await;
    assert_eq!(server.received().len(), 1);
    stand.later(7200).await;
    assert_eq!((server.received().len(), stand.mails().await[0].attempts), (1, 3), "one mail, whatever it took");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_refused_is_left_alone_shown_and_resumed() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    server.answer("rcpt", &["550 5.1.1 <{address}> unknown here"]);
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    stand.world.server.settle().await;
    let refused = stand.mails().await.remove(0);
    assert_eq!((refused.state, refused.last_code, refused.attempts), (MailState::Refused.into(), Some(550), 1));
    let session = stand.world.signed_in(stand.owner.id).await;
    let shown = session.call::<GetNotificationPreferences>(Nothing {}, Nothing {}, Nothing {}).await.unwrap();
    let refusal = shown.mail.refusal.unwrap();
    println!("refused: {} {}", refusal.code, refusal.reason);
    assert!(refusal.code == 550 && refusal.reason.contains("unknown here"), "{refusal:?}");
    assert!(!refusal.reason.contains("example.test"), "no address where it cannot be erased: {refusal:?}");
    // Not even tried while it stands, whatever happens.
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    stand.later(7200).await;
    assert_eq!((server.refusals(), server.received().len()), (1, 0));
    assert_eq!(stand.told(&stand.owner).await.len(), 2, "they are still told in the console");
    // Time moved past the end of the session's token.
    let session = stand.world.signed_in(stand.owner.id).await;
    let mended = session.call::<ForgetMailRefusal>(Nothing {}, Nothing {}, Nothing {}).await.unwrap();
    assert!(mended.refusal.is_none());
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    stand.world.server.settle().await;
    assert_eq!(server.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_mail_ends_and_the_address_is_written_to_again() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    server.answer("data", &["554 5.6.0 not liked"]);
    for _ in 0..2 {
        stand.is_told("wallet.depleted", about("wallet-1")).await;
        stand.world.server.settle().await;
    }
    let mails = stand.mails().await;
    assert_eq!(mails[1].state, MailState::Refused);
    assert_eq!((&mails[0].state, server.received().len()), (&MailState::Sent.into(), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_or_does_not_want_us_is_tried_again_and_at_last_given_up() {
    let mut server = MailServer::not_yet().await;
    let stand = Stand::mailing(&server).await;
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    stand.world.server.settle().await;
    let mail = stand.mails().await.remove(0);
    println!("away: {}", mail.error.as_deref().unwrap());
    assert_eq!((mail.state, mail.attempts, mail.last_code), (MailState::Pending.into(), 1, None));
    server.come_back().await;
    server.answer("mail", &["530 5.7.0 who are you"]);
    stand.later(31).await;
    let mail = stand.mails().await.remove(0);
    assert_eq!((mail.state, mail.attempts, mail.last_code), (MailState::Pending.into(), 2, Some(530)));
    stand.later(61).await;
    assert_eq!(server.received().len(), 1, "it was no fault of the address");
    stand.policy("mail.attempts", "2").await;
    server.go_away().await;
    stand.is_told("wallet.depleted", about("wallet-1")).await;
    stand.world.server.settle().await;
    stand.later(31).await;
    let mail = stand.mails().await.remove(0);
    assert_eq!((mail.state, mail.attempts), (MailState::Exhausted.into(), 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_click_stops_mails_of_a_kind_and_opening_the_link_does_not() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    stand.is_told("wallet.balance_low", about("wallet-1")).await;
    stand.world.server.settle().await;
    let mail = server.received().remove(0);
    assert_eq!(mail.headers["list-unsubscribe-post"], "List-Unsubscribe=One-Click");
    let link = mail.headers["list-unsubscribe"].trim_matches(['<', '>']);
    let path = link.strip_prefix("https://gpu.example.test").unwrap();
    assert!(mail.text.contains(link) && mail.html.contains(link));
    let http = reqwest::Client::new();
    let address = format!("{}{path}", stand.world.server.base);
    let opened = http.get(&address).send().await.unwrap();
    assert_eq!(opened.status(), 200);
    assert!(opened.text().await.unwrap().contains("<form method=\"post\">"));
    let is_on = async |kind: NotificationKind| {
        let client = stand.world.as_(&stand.owner);
        let all = client.call::<GetNotificationPreferences>(Nothing {}, Nothing {}, Nothing {}).await.unwrap();
        all.kinds.into_iter().find(|it| it.kind == kind).unwrap().email
    };
    assert!(is_on(NotificationKind::WalletLow).await, "opening changes nothing: programs open links");
    // As RFC 8058 has it: a form, from a program that is nobody.
    let click = http.post(&address).header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(click.body("List-Unsubscribe=One-Click").send().await.unwrap().status(), 200);
    assert!(!is_on(NotificationKind::WalletLow).await && !is_on(NotificationKind::WalletFunded).await);
    for subject in ["wallet.balance_low", "wallet.depleted"] {
        stand.is_told(subject, about("wallet-1")).await;
    }
    stand.world.server.settle().await;
    assert_eq!(server.received().len(), 2, "the mandatory one only");
    assert_eq!(stand.told(&stand.owner).await.len(), 3, "the console tells of all");
    let forged = format!("{}/unsubscribe/{}", stand.world.server.base, &path["/unsubscribe/".len() + 1..]);
    assert_eq!(http.post(forged).send().await.unwrap().status(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_waits_is_withdrawn_when_it_is_switched_off() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    server.answer("rcpt", &["451 later"]);
    stand.is_told("wallet.balance_low", about("wallet-1")).await;
    stand.world.server.settle().await;
    stand.prefer(&stand.owner, NotificationKind::WalletLow, None, Some(false)).await;
    stand.later(31).await;
    assert_eq!((stand.mails().await[0].state.clone(), server.received().len()), (MailState::Withdrawn.into(), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn invited_person_is_notified_with_an_account_or_without() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    let known = stand.world.person().await;
    let client = stand.world.as_(&stand.owner);
    let path = || OrganizationPath { organization_id: stand.organization };
    let mut invited = Vec::new();
    for email in [known.email.clone(), "guest@example.test".parse().unwrap(), "late@example.test".parse().unwrap()] {
        let spec = InvitationSpec { email, role: Role::Viewer };
        invited.push(client.call::<CreateInvitation>(path(), Nothing {}, spec).await.unwrap().invitation);
    }
    testkit::server::eventually("three mails to wait", || async { stand.mails().await.len() == 3 }).await;
    // What is taken back before it is sent is not sent.
    let revoked =
        contract::invitations::InvitationPath { organization_id: stand.organization, invitation_id: invited[2].id };
    client.call::<RevokeInvitation>(revoked, Nothing {}, Nothing {}).await.unwrap();
    stand.world.server.settle().await;
    let guest = server.to("guest@example.test").remove(0);
    assert_eq!(guest.headers["subject"], "You are invited to Test Organization");
    assert!(guest.text.contains("as viewer") && !guest.headers.contains_key("list-unsubscribe"), "{}", guest.text);
    assert_eq!(server.to(known.email.as_str()).len(), 1);
    assert_eq!(stand.told(&known).await[0].kind, NotificationKind::InvitationReceived);
    assert_eq!(server.received().len(), 2);
}
