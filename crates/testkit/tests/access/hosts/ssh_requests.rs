//! What SSH clients ask for beside a shell or a command: their language, and
//! signals for what runs.

use std::sync::Arc;

use russh::{
    Channel, ChannelMsg, Sig,
    client::{self, Msg},
    keys::{PrivateKeyWithHashAlg, PublicKeyOrCertificate, load_secret_key},
};

use crate::hosts::{
    site::Site,
    ssh::{Laptop, PATIENCE, ok, run},
};

/// OpenSSH's client sends no signals. This one does, and trusts everybody.
struct Trusting;

impl client::Handler for Trusting {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        Ok(true)
    }
}

/// Reads until the text was printed; everything that was.
async fn until(channel: &mut Channel<Msg>, text: &str) -> String {
    let mut all = String::new();
    while !all.contains(text) {
        match tokio::time::timeout(PATIENCE, channel.wait()).await.expect("something comes") {
            Some(ChannelMsg::Data { data } | ChannelMsg::ExtendedData { data, .. }) => {
                all.push_str(&String::from_utf8_lossy(&data));
            }
            Some(_) => (),
            None => panic!("it ended before {text:?}: {all}"),
        }
    }
    all
}

/// What was printed to the end, and the exit code.
async fn rest(channel: &mut Channel<Msg>) -> (String, Option<u32>) {
    let (mut all, mut code) = (String::new(), None);
    while let Some(message) = tokio::time::timeout(PATIENCE, channel.wait()).await.expect("it ends") {
        match message {
            ChannelMsg::Data { data } => all.push_str(&String::from_utf8_lossy(&data)),
            ChannelMsg::ExitStatus { exit_status } => code = Some(exit_status),
            _ => (),
        }
    }
    (all, code)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn a_language_and_signals_reach_what_runs_on_the_host() {
    let site = Site::new(&[("access.sessions_per_allocation", "50")], "").await;
    let laptop = Laptop::of(&site, &site.tenant.owner);
    language(&laptop).await;
    laptop.make_key("key").await;
    laptop.register(&site, site.tenant.owner.id, "key").await;
    signals(&laptop).await;
    site.clear().await;
}

async fn language(laptop: &Laptop) {
    ok(run(&mut laptop.gpuaas(&["ssh-config", &laptop.allocation, "--write"])).await);
    let host = format!("{}.gpuaas", laptop.allocation);
    let print = "echo $LANG ${LC_TIME-none} ${EVIL-none}";
    for terminal in ["-T", "-tt"] {
        let send = ["-o", "SendEnv=LANG LC_* EVIL", terminal, &host, print];
        let mut ssh = laptop.configured("ssh", &send);
        let said = ok(run(ssh.env("LANG", "de_DE.UTF-8").env("LC_TIME", "C").env("EVIL", "yes")).await);
        assert_eq!(said.trim_end(), "de_DE.UTF-8 C none");
        println!("ssh {terminal} -o SendEnv='LANG LC_* EVIL': {}", said.trim_end());
    }
    let said = ok(run(&mut laptop.configured("ssh", &[&host, print])).await);
    assert_eq!(said, "C.UTF-8 none none\n", "what the host has of its own");
}

async fn signals(laptop: &Laptop) {
    let mut client = client::connect(Arc::default(), ("127.0.0.1", laptop.port), Trusting).await.unwrap();
    let key = PrivateKeyWithHashAlg::new(Arc::new(load_secret_key(laptop.path("key"), None).unwrap()), None);
    assert!(client.authenticate_publickey(&laptop.allocation, key).await.unwrap().success());

    let mut command = client.channel_open_session().await.unwrap();
    command.exec(true, "trap 'echo caught; exit 4' TERM; echo ready; sleep 100 & wait").await.unwrap();
    until(&mut command, "ready").await;
    // Not among those that SSH knows: it reaches nobody.
    command.signal(Sig::Custom("STOP".into())).await.unwrap();
    command.signal(Sig::TERM).await.unwrap();
    assert_eq!(rest(&mut command).await, ("caught\n".into(), Some(4)));
    println!("TERM to a command: it caught it, and exited with 4");

    let mut shell = client.channel_open_session().await.unwrap();
    shell.request_pty(true, "xterm", 80, 24, 0, 0, &[]).await.unwrap();
    shell.request_shell(true).await.unwrap();
    let line = "PS1=; sh -c 'echo started$((1+1)); exec sleep 100'; echo \"ended\" $?\n";
    shell.data(line.as_bytes()).await.unwrap();
    until(&mut shell, "started2").await;
    shell.signal(Sig::Custom("USR2".into())).await.unwrap();
    until(&mut shell, &format!("ended {}", 128 + 12)).await;
    shell.data(&b"exit 3\n"[..]).await.unwrap();
    assert_eq!(rest(&mut shell).await.1, Some(3), "the shell went on");
    println!("USR2 to a shell: it ended the job in the foreground, and the shell went on");
}
