//! Somebody who is signed out gets the mails.

use contract::{Nothing, sessions::SignOutEverywhere};
use testkit::{MailServer, cloud::ask, server::eventually};

use crate::wallets::stand::{DOLLAR, Stand};

#[tokio::test(flavor = "multi_thread")]
async fn owner_who_is_signed_out_gets_a_mail_when_the_money_runs_out() {
    let server = MailServer::start().await;
    let stand = Stand::mailing(&server).await;
    stand.credit(4 * DOLLAR).await;
    stand.start(ask(1)).await;
    let session = stand.world.signed_in(stand.owner.id).await;
    session.call::<SignOutEverywhere>(Nothing {}, Nothing {}, Nothing {}).await.unwrap();
    // Nobody looks; four hours later the money is gone.
    stand.pass(245).await;
    let subject = |text: &str| server.received().iter().filter(|it| it.headers["subject"].contains(text)).count();
    eventually("four mails to arrive", || async {
        stand.settle().await;
        server.received().len() >= 4
    })
    .await;
    for text in ["is low", "is used up: allocations will end", "is used up", "ended: the balance is used up"] {
        assert!(subject(text) >= 1, "{text}: {:?}", server.received());
    }
    assert_eq!(server.received().len(), 4, "one for each crossing, and one for the allocation");
    for mail in server.received() {
        assert_eq!((mail.defects.len(), &mail.envelope_to[..]), (0, &[stand.owner.email.to_string()][..]));
        println!("Subject: {}\n\n{}\n----", mail.headers["subject"], mail.text);
    }
}
