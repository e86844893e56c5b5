//! A mail server that hangs over some mail, and what other mail notices of it.

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use contract::{
    Nothing, Role as MemberRole,
    account_tokens::{PasswordResetSpec, RequestPasswordReset},
    invitations::{CreateInvitation, InvitationSpec},
    organizations::OrganizationPath,
};
use gpuaasd::roles::Role;
use testkit::{Database, Server, World, server::eventually, world::set_policy};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// Speaks SMTP, and says nothing more once a recipient's address begins with `slow`.
#[derive(Clone, Default)]
struct Mailbox {
    hanging: Arc<Mutex<usize>>,
    given_up: Arc<Mutex<usize>>,
    accepted: Arc<Mutex<Vec<String>>>,
}

impl Mailbox {
    async fn open() -> (Mailbox, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (mailbox, url) = (Mailbox::default(), format!("smtp://{}", listener.local_addr().unwrap()));
        tokio::spawn({
            let mailbox = mailbox.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(mailbox.clone().speak(stream));
                }
            }
        });
        (mailbox, url)
    }

    async fn speak(self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let (mut to, mut is_message) = (String::new(), false);
        stream.write_all(b"220 mail.example.test\r\n").await?;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let answer: &[u8] = match line.trim_end() {
                "." if is_message => {
                    self.accepted.lock().unwrap().push(to.clone());
                    is_message = false;
                    b"250 accepted\r\n"
                }
                _ if is_message => continue,
                "DATA" => {
                    is_message = true;
                    b"354 go on\r\n"
                }
                line if line.starts_with("RCPT TO:<slow") => {
                    *self.hanging.lock().unwrap() += 1;
                    // Whoever waits for an answer says nothing and stays until they give it up.
                    let _ = stream.read_line(&mut String::new()).await;
                    *self.given_up.lock().unwrap() += 1;
                    return Ok(());
                }
                line => {
                    to = line.strip_prefix("RCPT TO:").map_or(to, |it| it.trim_matches(['<', '>']).to_owned());
                    b"250 ok\r\n"
                }
            };
            stream.write_all(answer).await?;
        }
    }

    fn hanging(&self) -> usize {
        *self.hanging.lock().unwrap()
    }

    fn given_up(&self) -> usize {
        *self.given_up.lock().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn password_reset_does_not_wait_behind_mail_that_hangs() {
    let (mailbox, url) = Mailbox::open().await;
    let database = Arc::new(Database::alone().await);
    let server = async |roles: &[Role]| {
        Server::with(database.clone(), roles, |config| {
            config.mail.url = Some(url.clone());
            config.mail.from = Some("gpuaas <no-reply@example.test>".into());
        })
        .await
    };
    let world = World::on(server(&[Role::Api, Role::Relay]).await).await;
    let operator = world.as_(&world.operator().await);
    for (key, value) in [("rate_limit.default_per_minute", "100000"), ("mail.timeout_seconds", "30")] {
        set_policy(&operator, key, value).await;
    }
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    let (organization_id, owner) = world.organization().await;
    let owner = world.as_(&owner);
    for nth in 0..60 {
        let spec =
            InvitationSpec { email: format!("slow{nth}@example.test").parse().unwrap(), role: MemberRole::Member };
        owner.call::<CreateInvitation>(OrganizationPath { organization_id }, Nothing {}, spec).await.unwrap();
    }
    let person = world.person_with_password().await;
    // Nothing was sent until now, so that no mail hung while all this was made.
    let _sending = server(&[Role::Reconcile]).await;
    eventually("the mail server to hang", || async { mailbox.hanging() >= 4 }).await;

    let asked = Instant::now();
    let body = PasswordResetSpec { email: person.email.clone() };
    world.server.client(None).call::<RequestPasswordReset>(Nothing {}, Nothing {}, body).await.unwrap();
    let address = person.email.to_string();
    eventually("the password reset", || async { mailbox.accepted.lock().unwrap().contains(&address) }).await;
    let given_up = mailbox.given_up();
    println!("a password reset was mailed after {:?} while {} mails hung", asked.elapsed(), mailbox.hanging());
    assert_eq!(given_up, 0, "it was mailed before the first mail that hangs was given up");
}
