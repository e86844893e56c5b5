//! Two gateways behind one name: it does not matter which of them answers.

use contract::{
    Nothing,
    gateways::{GatewayPath, GetGateway},
    id::GatewayId,
};
use protocol::stream::Closing;
use reqwest::StatusCode;
use testkit::{
    Door, SharedName,
    process::free_port,
    server::eventually,
    shell::{End, Shell, terminal},
};

use crate::hosts::{
    site::Site,
    ssh::{ok, run},
    web::{Browser, http_ticket},
};

/// Two gateways that the host is connected to; the name leads to the first.
async fn pair(policies: &[(&str, &str)]) -> (SharedName, Site, Door) {
    let name = SharedName::new().await;
    let site = Site::behind(Some(&name), policies, "").await;
    let second = site.second_door(&name).await;
    for id in [site.door.id, second.id] {
        has_host(&site, id).await;
    }
    (name, site, second)
}

async fn has_host(site: &Site, gateway_id: GatewayId) {
    let operator = site.operator();
    eventually("the host at the gateway", || async {
        let path = GatewayPath { gateway_id };
        operator.call::<GetGateway>(path, Nothing {}, Nothing {}).await.unwrap().nodes == 1
    })
    .await;
}

async fn pid_of(shell: &mut Shell) -> String {
    let said = shell.runs("echo \"sh\"ell=$$.").await;
    said.rsplit("shell=").next().and_then(|it| it.split('.').next()).expect("it says").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn a_session_begun_at_one_gateway_goes_on_at_the_other() {
    let (name, mut site, second) = pair(&[("access.recording", "on")]).await;
    let id = site.allocation().id;
    let (session, mut shell) = site.tenant.shell(id).await;
    let pid = pid_of(&mut shell).await;
    shell.types("for i in 1 2 3 4 5 6; do echo tick-$i; sleep 0.3; done; echo ticked\r").await;
    shell.shows("tick-2").await;
    name.leads_to(second.port);
    site.door.kill().await;
    assert!(matches!(shell.ends().await, End::Closed(..)), "its client notices");
    let (seen, before) = (shell.seen, shell.text.clone());
    // Who comes back goes to the name, and says what they saw.
    let mut again = site.tenant.back(id, session, None, Some(seen)).await.unwrap();
    assert!(again.opened.resumed && again.opened.offset == seen, "{:?}", again.opened);
    let all = before + &again.shows("ticked").await;
    for tick in 1..=6 {
        assert_eq!(all.matches(&format!("tick-{tick}\r")).count(), 1, "each line came once: {all:?}");
    }
    assert_eq!(pid_of(&mut again).await, pid, "it is the same shell");

    // The first is back: the session moves there while the second still carries it.
    site.door.start_again().await;
    has_host(&site, site.door.id).await;
    name.leads_to(site.door.port);
    let mut moved = site.tenant.back(id, session, None, Some(again.seen)).await.unwrap();
    moved.told("this session was taken over by another window").await;
    assert_eq!(again.ends().await, End::Close(Closing::TakenOver));
    assert_eq!(pid_of(&mut moved).await, pid);
    moved.types("exit 4\r").await;
    assert_eq!(moved.ends().await, End::Exit(4));
    println!("the same shell went through the first gateway, the second, and the first again");
    crate::hosts::deaths::verified(&site).await;
    site.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn tickets_and_cookies_work_at_every_gateway_and_host_keys_are_certified() {
    let (name, site, second) = pair(&[]).await;
    let id = site.allocation().id;
    let ticket = site.tenant.ticket(id, terminal()).await.unwrap();
    assert_eq!(ticket.url, format!("ws://{}", name.address), "people are sent to the name");
    let uses: Vec<_> = (0..20)
        .map(|number| {
            let url = if number % 2 == 0 { site.door.url.clone() } else { second.url.clone() };
            let ticket = ticket.clone();
            tokio::spawn(async move { Shell::open(&url, &ticket, None).await })
        })
        .collect();
    let mut won = Vec::new();
    for one in uses {
        match one.await.unwrap() {
            Ok(shell) => won.push(shell),
            Err(End::Closed(code, _)) => assert_eq!(code, 4401),
            Err(end) => panic!("{end:?}"),
        }
    }
    assert_eq!(won.len(), 1, "of ten uses at each gateway one wins");
    assert!(won[0].runs("echo in-$((1))").await.contains("in-1"));

    let port = free_port();
    let _serving = site.web_service(site.allocation(), port, "notebook").await;
    let ticket = http_ticket(&site.tenant, site.allocation(), port).await;
    let url = ticket.web_url.clone().unwrap();
    let mut browser = Browser::at(&url, site.door.address());
    assert_eq!(browser.enter(ticket.ticket.expose()).await.status(), StatusCode::SEE_OTHER);
    name.leads_to(second.port);
    let mut other = Browser::at(&url, second.address());
    assert_eq!(other.text("/").await.0, StatusCode::UNAUTHORIZED);
    other.cookie = browser.cookie.clone();
    for _ in 0..3 {
        assert_eq!(other.text("/b").await, (StatusCode::OK, "notebook /b".into()));
        assert_eq!(browser.text("/a").await, (StatusCode::OK, "notebook /a".into()));
    }
    let sessions = site.sessions(None).await;
    assert_eq!(sessions.iter().filter(|it| it.port == Some(port)).count(), 1, "it is one session: {sessions:?}");

    let (mut keys, mut certified) = (Vec::new(), Vec::new());
    for port in [site.door.ssh_port, second.ssh_port] {
        for (found, option) in [(&mut keys, None), (&mut certified, Some("-c"))] {
            let mut scan = tokio::process::Command::new("ssh-keyscan");
            let said = ok(run(scan.args(option).args(["-t", "ed25519", "-p", &port.to_string(), "127.0.0.1"])).await);
            let said = said.lines().filter(|it| !it.starts_with('#'));
            found.extend(said.map(str::to_owned));
        }
    }
    let key = |line: &String| line.rsplit(' ').next().unwrap().to_owned();
    assert!(keys.len() == 2 && key(&keys[0]) != key(&keys[1]), "each gateway has a host key of its own: {keys:?}");
    assert!(certified.len() == 2 && certified.iter().all(|it| it.contains("-cert-v01@openssh.com ")), "{certified:?}");
    println!("one ticket won once, one cookie worked at both, and each shows a certificate of its own key");
    site.clear().await;
}
