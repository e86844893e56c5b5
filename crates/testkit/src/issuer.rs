//! A real OpenID provider (npm `oidc-provider`) that can rotate its keys, go
//! away and come back, and the browser that a person would use with it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use reqwest::{Client, Response, header, redirect};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::{npm, process::free_port};

pub const CLIENT: &str = "gpuaas";
pub const CLIENT_SECRET: &str = "a secret, with + and %"; // secret-scan: allow
pub const PUBLIC_CLIENT: &str = "gpuaas-public";
/// The one address that the provider's clients may be sent back to.
pub const CALLBACK: &str = "http://127.0.0.1:7777/callback";

pub struct Issuer {
    pub url: String,
    port: u16,
    keys: tempfile::TempDir,
    tool: PathBuf,
    child: Option<Child>,
}

impl Issuer {
    pub async fn start() -> Issuer {
        let tool = tokio::task::spawn_blocking(install).await.unwrap();
        let mut issuer = Issuer::away(tool);
        issuer.come_back().await;
        issuer
    }

    /// One that is not there yet.
    pub async fn not_yet() -> Issuer {
        Issuer::away(tokio::task::spawn_blocking(install).await.unwrap())
    }

    fn away(tool: PathBuf) -> Issuer {
        let port = free_port();
        Issuer { url: format!("http://127.0.0.1:{port}"), port, keys: tempfile::tempdir().unwrap(), tool, child: None }
    }

    /// As `kill -9`.
    pub async fn go_away(&mut self) {
        self.child.take().expect("it runs").kill().await.unwrap();
    }

    pub async fn come_back(&mut self) {
        let child = Command::new("node")
            .arg(self.tool.join("server.mjs"))
            .arg(self.port.to_string())
            .arg(self.keys.path().join("keys.json"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        self.child = Some(child.expect("tests need Node.js: `make test` installs it"));
        let discovery = format!("{}/.well-known/openid-configuration", self.url);
        let started = Instant::now();
        while !reqwest::get(&discovery).await.is_ok_and(|it| it.status().is_success()) {
            assert!(started.elapsed() < Duration::from_secs(60), "the issuer was not ready after a minute");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Signs with a new key from now on; publishes the old ones too, or not.
    pub async fn rotate(&self, alg: &str, keep: bool) {
        self.administer("rotate", &json!({ "alg": alg, "keep": keep })).await;
    }

    /// A token with any claims, signed by the issuer's own key.
    pub async fn sign(&self, claims: &Value) -> String {
        self.administer("sign", claims).await["token"].as_str().unwrap().to_owned()
    }

    async fn administer(&self, what: &str, body: &Value) -> Value {
        let answer = Client::new().post(format!("{}/admin/{what}", self.url)).json(body).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }

    /// Signs `who` in with a browser; what the callback gets, by parameter.
    pub async fn visit(&self, authorization_url: &str, who: &str) -> BTreeMap<String, String> {
        let mut browser = Browser::new();
        let mut at = reqwest::Url::parse(authorization_url).unwrap();
        at.query_pairs_mut().append_pair("login_hint", who);
        for _ in 0..10 {
            let answer = browser.get(&at).await;
            let status = answer.status();
            let Some(next) = answer.headers().get(header::LOCATION) else {
                panic!("the issuer answered {status}: {}", answer.text().await.unwrap());
            };
            at = at.join(next.to_str().unwrap()).unwrap();
            if at.as_str().starts_with(CALLBACK) {
                return at.query_pairs().into_owned().collect();
            }
        }
        panic!("the issuer sends the browser in circles");
    }

    /// An identity token for `who`, obtained by a program of its own.
    pub async fn id_token(&self, who: &str) -> String {
        let verifier = "v".repeat(43);
        let hash = kernel::secrets::hash_token(&verifier);
        let challenge = base64_url(hash.as_bytes());
        let query = [
            ("response_type", "code"),
            ("client_id", CLIENT),
            ("redirect_uri", CALLBACK),
            ("scope", "openid"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        let address = reqwest::Url::parse_with_params(&format!("{}/auth", self.url), query).unwrap();
        let code = self.visit(address.as_str(), who).await.remove("code").unwrap();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", &verifier),
        ];
        let body = reqwest::Url::parse_with_params("http://x/", form).unwrap();
        let secret = "a+secret%2C+with+%2B+and+%25"; // secret-scan: allow
        let request = Client::new().post(format!("{}/token", self.url)).basic_auth(CLIENT, Some(secret));
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer: Value = request.body(body.query().unwrap().to_owned()).send().await.unwrap().json().await.unwrap();
        answer["id_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

/// Keeps cookies and follows nothing by itself.
struct Browser {
    http: Client,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    fn new() -> Browser {
        let http = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        Browser { http, cookies: BTreeMap::new() }
    }

    async fn get(&mut self, at: &reqwest::Url) -> Response {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let answer = self.http.get(at.clone()).header(header::COOKIE, cookies.join("; ")).send().await.unwrap();
        for cookie in answer.headers().get_all(header::SET_COOKIE) {
            let cookie = cookie.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = cookie.split_once('=').unwrap();
            match value {
                "" => self.cookies.remove(name),
                value => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        answer
    }
}

pub fn base64_url(bytes: &[u8]) -> String {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Installs the provider beside the build, once for all test processes.
fn install() -> PathBuf {
    npm::install(
        "oidc",
        &[
            ("package.json", include_str!("../tools/oidc/package.json")),
            ("package-lock.json", include_str!("../tools/oidc/package-lock.json")),
            ("server.mjs", include_str!("../tools/oidc/server.mjs")),
        ],
    )
}
