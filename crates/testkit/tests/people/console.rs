//! The console as a browser meets it: its pages, and the session that it keeps.

use std::time::Duration;

use contract::{
    Nothing,
    gateways::{CreateGateway, GatewayPath, GatewaySpec, RemoveGateway},
    organizations::OrganizationPath,
    projects::{CreateProject, ProjectSpec},
    regions::{CreateRegion, RegionSpec},
};
use futures_util::StreamExt;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use testkit::{Member, Server, World, server::eventually, world::PASSWORD};
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

/// A browser that shows pages of this server.
struct Browser {
    base: String,
    http: reqwest::Client,
}

impl Browser {
    fn on(world: &World) -> Browser {
        Browser { base: world.server.base.clone(), http: reqwest::Client::new() }
    }

    async fn show(&self, path: &str) -> Response {
        self.http.get(format!("{}{path}", self.base)).header("accept", "text/html").send().await.unwrap()
    }

    async fn sign_in(&self, person: &Member) -> Response {
        let body = json!({ "email": person.email, "password": PASSWORD });
        let request = self.http.post(format!("{}/console/session", self.base));
        request.header("sec-fetch-site", "same-origin").json(&body).send().await.unwrap()
    }

    async fn refresh(&self, cookie: &str, site: &str) -> Response {
        let request = self.http.post(format!("{}/console/session/refresh", self.base));
        request.header("sec-fetch-site", site).header("cookie", cookie).send().await.unwrap()
    }

    async fn whoami(&self, token: &str) -> StatusCode {
        let request = self.http.get(format!("{}/v1/whoami", self.base));
        request.bearer_auth(token).send().await.unwrap().status()
    }
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map(|it| it.to_str().unwrap()).unwrap_or_default()
}

/// The cookie as a browser would send it back.
fn cookie(answer: &Response) -> String {
    header(answer, "set-cookie").split(';').next().unwrap().to_owned()
}

async fn read(answer: Response) -> Value {
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_has_an_address_and_the_api_keeps_its_own() {
    let world = World::new().await;
    let browser = Browser::on(&world);
    for path in ["/", "/allocations/alloc-1?tab=history", "/sign-in"] {
        let page = browser.show(path).await;
        assert!(header(&page, "content-type").starts_with("text/html"), "{path}");
        let policy = header(&page, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(header(&page, "x-content-type-options"), "nosniff");
        assert!(page.text().await.unwrap().contains("<!doctype html>"));
    }
    for path in ["/v1/nowhere", "/assets/none.js", "/.well-known/none"] {
        let refused = browser.show(path).await;
        assert_eq!(refused.status(), StatusCode::NOT_FOUND, "{path}");
        assert_eq!(header(&refused, "content-type"), "application/problem+json");
    }
    let posted = browser.http.post(format!("{}/allocations", browser.base)).send().await.unwrap();
    assert_eq!(posted.status(), StatusCode::NOT_FOUND, "pages are only shown");
}

/// What the policy of a page says of one directive.
async fn allowed(browser: &Browser, directive: &str) -> String {
    let page = browser.show("/").await;
    let policy = header(&page, "content-security-policy").to_owned();
    let found = policy.split(';').map(str::trim).find_map(|it| it.strip_prefix(directive));
    found.unwrap_or_else(|| panic!("{directive} in {policy}")).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_may_talk_to_the_gateways_that_there_are_and_to_nothing_else() {
    let world = World::new().await;
    let browser = Browser::on(&world);
    assert_eq!(allowed(&browser, "connect-src").await, "'self'");
    let operator = world.as_(&world.operator().await);
    let region = operator.call::<CreateRegion>(Nothing {}, Nothing {}, RegionSpec { name: "edge".parse().unwrap() });
    let spec = GatewaySpec {
        name: "edge-1".parse().unwrap(),
        region_id: region.await.unwrap().id,
        agent_url: "https://edge-1.example.com:7444".parse().unwrap(),
        public_url: "wss://gw.example.com".parse().unwrap(),
        ssh_address: None,
        web_domain: "web.example.net".parse().unwrap(),
    };
    let made = operator.call::<CreateGateway>(Nothing {}, Nothing {}, spec).await.unwrap();
    eventually("pages know it", || async { allowed(&browser, "connect-src").await == "'self' wss://gw.example.com" })
        .await;
    assert_eq!(allowed(&browser, "form-action").await, "'self' https://*.web.example.net");
    let path = GatewayPath { gateway_id: made.gateway.id };
    operator.call::<RemoveGateway>(path, Nothing {}, Nothing {}).await.unwrap();
    eventually("pages forget it", || async { allowed(&browser, "connect-src").await == "'self'" }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_keeps_its_refresh_token_where_no_script_reads_it() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let browser = Browser::on(&world);
    let opened = browser.sign_in(&person).await;
    assert_eq!(opened.status(), StatusCode::CREATED);
    let set = header(&opened, "set-cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/;"] {
        assert!(set.contains(part), "{part} in {set}");
    }
    let first = cookie(&opened);
    let tokens = read(opened).await;
    assert_eq!(tokens.get("refresh_token"), None, "it is in the cookie alone");
    assert_eq!(browser.whoami(tokens["access_token"].as_str().unwrap()).await, StatusCode::OK);

    let refreshed = browser.refresh(&first, "same-origin").await;
    assert_eq!(refreshed.status(), StatusCode::OK);
    let second = cookie(&refreshed);
    assert_ne!(first, second, "each works once");
    assert_eq!(browser.whoami(read(refreshed).await["access_token"].as_str().unwrap()).await, StatusCode::OK);

    world.server.control_plane.db.clock.advance(Duration::from_secs(60));
    let reused = browser.refresh(&first, "same-origin").await;
    assert_eq!(reused.status(), StatusCode::UNAUTHORIZED);
    assert!(header(&reused, "set-cookie").contains("Max-Age=0"), "what does not work is forgotten");
    let after = browser.refresh(&second, "same-origin").await;
    assert_eq!(after.status(), StatusCode::UNAUTHORIZED, "somebody else had the token too");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_sites_page_cannot_use_the_session_nor_one_without_a_cookie() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let browser = Browser::on(&world);
    let kept = cookie(&browser.sign_in(&person).await);
    for site in ["cross-site", "same-site", "none"] {
        let refused = browser.refresh(&kept, site).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{site}");
        assert_eq!(header(&refused, "set-cookie"), "");
    }
    let nobody = browser.refresh("other=1", "same-origin").await;
    assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(browser.refresh(&kept, "same-origin").await.status(), StatusCode::OK, "it was not used up");
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_ends_the_session_and_forgets_it() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let browser = Browser::on(&world);
    let opened = browser.sign_in(&person).await;
    let kept = cookie(&opened);
    let tokens = read(opened).await;
    let address = format!("{}/console/session/{}", browser.base, tokens["session_id"].as_str().unwrap());
    let request = browser.http.delete(address).bearer_auth(tokens["access_token"].as_str().unwrap());
    let ended = request.send().await.unwrap();
    assert_eq!(ended.status(), StatusCode::OK);
    assert!(header(&ended, "set-cookie").contains("Max-Age=0"));
    assert_eq!(browser.refresh(&kept, "same-origin").await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_the_cookie_never_travels_without() {
    let database = std::sync::Arc::new(testkit::Database::new().await);
    let secure = |config: &mut platform::config::Config| config.identity.issuer = "https://gpu.example.com".into();
    let world = World::on(Server::alone(database, secure).await).await;
    let person = world.person_with_password().await;
    let opened = Browser::on(&world).sign_in(&person).await;
    let set = header(&opened, "set-cookie");
    assert!(set.starts_with("__Host-gpuaas_refresh=") && set.ends_with("; Secure"), "{set}");
    assert!(set.contains("; Path=/;") && !set.contains("Domain"), "what browsers ask of that prefix: {set}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_refresh_cookies_are_refused_and_forgotten() {
    let world = World::new().await;
    let (victim, attacker) = (world.person_with_password().await, world.person_with_password().await);
    let browser = Browser::on(&world);
    let (own, tossed) = (cookie(&browser.sign_in(&victim).await), cookie(&browser.sign_in(&attacker).await));
    for both in [format!("{tossed}; {own}"), format!("{own}; other=1; {tossed}")] {
        let refused = browser.refresh(&both, "same-origin").await;
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "another site's cookie decides who somebody is");
        assert!(header(&refused, "set-cookie").contains("Max-Age=0"));
    }
    assert_eq!(browser.refresh(&own, "same-origin").await.status(), StatusCode::OK, "neither was used up");
}

/// A gateway as an operator of `gpu.example.com` would add it.
fn gateway_spec(region_id: contract::id::RegionId, name: &str, agents: &str, web: &str) -> GatewaySpec {
    GatewaySpec {
        name: name.parse().unwrap(),
        region_id,
        agent_url: format!("https://{agents}:7444").parse().unwrap(),
        public_url: "wss://gw.example.com".parse().unwrap(),
        ssh_address: None,
        web_domain: web.parse().unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_names_stay_apart_from_the_consoles_and_the_node_listeners() {
    let database = std::sync::Arc::new(testkit::Database::new().await);
    let named = |config: &mut platform::config::Config| {
        config.identity.issuer = "https://gpu.example.com".into();
        config.node.names = vec!["nodes.example.com".into(), "127.0.0.1".into()];
    };
    let world = World::on(Server::alone(database, named).await).await;
    let operator = world.as_(&world.operator().await);
    let region = operator.call::<CreateRegion>(Nothing {}, Nothing {}, RegionSpec { name: "edge".parse().unwrap() });
    let region = region.await.unwrap().id;
    let create = async |name: &str, agents: &str, web: &str| {
        operator.call::<CreateGateway>(Nothing {}, Nothing {}, gateway_spec(region, name, agents, web)).await
    };
    let below = ["gpu.example.com", "web.gpu.example.com", "example.com", "web.example.com"];
    for (number, web) in below.into_iter().enumerate() {
        let refused = create(&format!("a-{number}"), "edge.example.com", web).await.unwrap_err();
        assert!(refused.is(contract::Code::InvalidValue), "{web}: {refused}");
        assert!(refused.to_string().contains("gpu.example.com"), "{refused}");
    }
    let refused = create("b", "NODES.example.com", "example-web.net").await.unwrap_err();
    assert!(refused.is(contract::Code::InvalidValue), "{refused}");
    create("c", "edge.example.com", "example-web.net").await.unwrap();
    create("d", "127.0.0.1", "web.example.net").await.expect("one machine for all of it is a usual way to begin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_watches_events_with_its_token_offered_as_a_protocol() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    // What made the organization may be told late.
    let address = format!("{}/v1/organizations/{organization}/events/watch?subject=project.", world.server.base);
    let offer = |protocols: String| {
        let mut request = address.replace("http://", "ws://").into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
        tokio_tungstenite::connect_async(request)
    };
    let (mut socket, answer) = offer(format!("gpuaas.v1, bearer.{}", owner.token)).await.unwrap();
    assert_eq!(answer.headers()["sec-websocket-protocol"], "gpuaas.v1", "the token is not repeated");
    let ready = socket.next().await.unwrap().unwrap();
    assert!(ready.to_text().unwrap().contains("ready"));
    let path = OrganizationPath { organization_id: organization };
    let spec = ProjectSpec { name: "seen".parse().unwrap() };
    world.as_(&owner).call::<CreateProject>(path, Default::default(), spec).await.unwrap();
    let event = socket.next().await.unwrap().unwrap();
    assert!(event.to_text().unwrap().contains("project.created"));

    let refused = offer("gpuaas.v1, bearer.nobody".into()).await.unwrap_err();
    assert!(matches!(refused, tungstenite::Error::Http(it) if it.status() == StatusCode::UNAUTHORIZED.as_u16()));
}
