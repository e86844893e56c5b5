//! Signing in through an external issuer, against a real one: `oidc-provider`.

use std::time::Duration;

use client::{Client, ClientError, Credential, Options};
use contract::{
    Code, SecretText,
    sessions::{
        CreateSession, Credentials, ExchangeOidcToken, FinishOidc, OidcFinish, OidcStart, OidcStarted, OidcToken,
        StartOidc, TokenSet,
    },
    ssh_keys::AddSshKey,
    users::{WhoAmI, Whoami},
};
use gpuaasd::roles::Role;
use platform::{config, policies::settings};
use serde_json::{Value, json};
use testkit::{
    Database, Issuer, Member, Server, World,
    cloud::{key_spec, make_key},
    issuer::{CALLBACK, CLIENT, CLIENT_SECRET, PUBLIC_CLIENT, base64_url},
    server::eventually,
    world::{PASSWORD, set_policy},
};

/// A platform that knows an issuer.
struct Site {
    world: World,
    issuer: Issuer,
}

impl Site {
    async fn new() -> Site {
        Site::at(Issuer::start().await, CLIENT, Some(CLIENT_SECRET)).await
    }

    async fn at(issuer: Issuer, client_id: &str, client_secret: Option<&str>) -> Site {
        let oidc = config::Oidc {
            issuer: issuer.url.clone(),
            client_id: client_id.to_owned(),
            client_secret: client_secret.map(str::to_owned),
            redirect_uris: vec![CALLBACK.to_owned()],
        };
        let database = Database::new().await.into();
        let server = Server::with(database, &Role::ALL, |config| config.oidc = Some(oidc)).await;
        Site { world: World::on(server).await, issuer }
    }

    async fn with_self_service(self) -> Site {
        let operator = self.world.operator().await;
        set_policy(&self.world.as_(&operator), settings::SELF_SERVICE.0.name, "true").await;
        self.world.server.control_plane.policies.refresh(&self.world.server.control_plane.db).await.unwrap();
        self
    }

    /// Asks once, so that a refusal is seen and not waited for.
    fn client(&self, token: Option<&str>) -> Client {
        let credential = token.map_or_else(Credential::none, Credential::bearer);
        Client::with_options(&self.world.server.base, credential, Options { attempts: 1, ..Options::default() })
            .unwrap()
    }

    async fn start(&self) -> OidcStarted {
        self.try_start(CALLBACK).await.unwrap()
    }

    async fn try_start(&self, redirect_uri: &str) -> Result<OidcStarted, ClientError> {
        let body = OidcStart { redirect_uri: redirect_uri.to_owned() };
        self.client(None).call::<StartOidc>(Default::default(), Default::default(), body).await
    }

    async fn finish(&self, code: &str, state: &str) -> Result<TokenSet, ClientError> {
        let body = OidcFinish { code: SecretText::new(code.into()), state: SecretText::new(state.into()) };
        self.client(None).call::<FinishOidc>(Default::default(), Default::default(), body).await
    }

    /// The whole way: start, the issuer's pages, finish.
    async fn sign_in(&self, who: &str) -> Result<TokenSet, ClientError> {
        let started = self.start().await;
        let returned = self.issuer.visit(&started.authorization_url, who).await;
        assert_eq!(returned["state"], started.state.expose());
        self.finish(&returned["code"], &returned["state"]).await
    }

    async fn exchange(&self, id_token: &str) -> Result<TokenSet, ClientError> {
        let body = OidcToken { id_token: SecretText::new(id_token.to_owned()) };
        self.client(None).call::<ExchangeOidcToken>(Default::default(), Default::default(), body).await
    }

    async fn with_password(&self, person: &Member) -> Result<TokenSet, ClientError> {
        let body = Credentials { email: person.email.clone(), password: SecretText::new(PASSWORD.into()) };
        self.client(None).call::<CreateSession>(Default::default(), Default::default(), body).await
    }

    async fn whoami(&self, tokens: &TokenSet) -> Result<Whoami, ClientError> {
        let client = self.client(Some(tokens.access_token.expose()));
        client.call::<WhoAmI>(Default::default(), Default::default(), Default::default()).await
    }

    /// What readiness says of the issuer. It is ready either way.
    async fn standing(&self) -> String {
        let answer = reqwest::get(format!("{}/readyz", self.world.server.base)).await.unwrap();
        assert_eq!(answer.status(), 200);
        let body: Value = answer.json().await.unwrap();
        body["parts"]["oidc"].as_str().unwrap_or("not asked yet").to_owned()
    }

    /// An account as an earlier release made them, before anybody proved its address.
    async fn squatter(&self) -> Member {
        let person = self.world.person_with_password().await;
        let mut connection = self.world.server.database.superuser().await;
        let statement = "UPDATE users SET address_proven_at = NULL WHERE id = $1";
        sqlx::query(statement).bind(person.id.uuid()).execute(&mut connection).await.unwrap();
        person
    }

    /// A shell that somebody has open; where it leads is not what is tested here.
    async fn open_shell(&self, person: &Member) {
        let mut connection = self.world.server.database.superuser().await;
        let alone = "SET session_replication_role = replica;
            DO $$ DECLARE c text; BEGIN
              FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = 'access_sessions'::regclass AND contype = 'f' LOOP
                EXECUTE format('ALTER TABLE access_sessions DROP CONSTRAINT %I', c);
              END LOOP;
            END $$";
        sqlx::raw_sql(alone).execute(&mut connection).await.unwrap();
        sqlx::query(
            "INSERT INTO access_sessions (id, organization_id, project_id, allocation_id, node_id, kind, actor, principal_id,
               user_id, address, gateway_id, generation, grace_seconds, until, state, heard_at)
             VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'terminal',
               $1, $2, $2, '198.51.100.1', gen_random_uuid(), 0, 300, now() + interval '1 day', 'open', now() + interval '1 day')",
        )
        .bind(format!("user:{}", person.id))
        .bind(person.id.uuid())
        .execute(&mut connection)
        .await
        .unwrap();
    }

    async fn count(&self, table: &str) -> i64 {
        let statement = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        sqlx::query_scalar(statement).fetch_one(&mut self.world.server.database.superuser().await).await.unwrap()
    }

    /// Claims that would be believed, with some of them changed.
    fn claims(&self, change: Value) -> Value {
        let now = self.world.server.control_plane.db.clock.estimate().as_second();
        let mut claims =
            json!({ "iss": self.issuer.url, "sub": "someone", "aud": CLIENT, "iat": now, "exp": now + 300 });
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    }
}

#[track_caller]
fn refused(answer: Result<TokenSet, ClientError>, code: Code, word: &str) {
    match answer.expect_err(word) {
        ClientError::Problem(it) if it.code == code.info().name => assert!(it.detail.contains(word), "{}", it.detail),
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_at_the_issuer_and_finds_the_same_account_again() {
    for (client_id, secret) in [(CLIENT, Some(CLIENT_SECRET)), (PUBLIC_CLIENT, None)] {
        let site = Site::at(Issuer::start().await, client_id, secret).await.with_self_service().await;
        let first = site.sign_in("someone").await.unwrap();
        let me = site.whoami(&first).await.unwrap();
        let user = me.user.unwrap();
        assert_eq!((user.email.as_str(), user.name.as_str()), ("someone@example.test", "someone"));
        assert_eq!(me.session_id, Some(first.session_id));
        let second = site.sign_in("someone").await.unwrap();
        assert_eq!(second.user_id, first.user_id);
        assert_ne!(second.session_id, first.session_id);
        assert_ne!(site.sign_in("another").await.unwrap().user_id, first.user_id);
        assert_eq!(site.count("oidc_starts").await, 0, "finished sign-ins leave nothing behind");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_works_once_and_not_for_long() {
    let site = Site::new().await.with_self_service().await;
    let started = site.start().await;
    let returned = site.issuer.visit(&started.authorization_url, "someone").await;
    site.finish(&returned["code"], started.state.expose()).await.unwrap();
    refused(site.finish(&returned["code"], started.state.expose()).await, Code::Unauthenticated, "start again");
    refused(site.finish("code", "gps_unknown").await, Code::Unauthenticated, "start again");

    let other = site.start().await;
    let again = site.finish(&returned["code"], other.state.expose()).await;
    refused(again, Code::Unauthenticated, "did not accept the code");
    refused(site.finish("code", other.state.expose()).await, Code::Unauthenticated, "already finished");

    let late = site.start().await;
    let returned = site.issuer.visit(&late.authorization_url, "someone").await;
    site.world.server.control_plane.db.clock.advance(Duration::from_secs(601));
    refused(site.finish(&returned["code"], late.state.expose()).await, Code::Unauthenticated, "or expired");
    assert_eq!(site.count("sessions").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_finishes_of_one_sign_in_make_one_session() {
    let site = Site::new().await.with_self_service().await;
    let started = site.start().await;
    let returned = site.issuer.visit(&started.authorization_url, "someone").await;
    let finish = || site.finish(&returned["code"], started.state.expose());
    let (a, b, c, d) = tokio::join!(finish(), finish(), finish(), finish());
    let (good, bad): (Vec<_>, Vec<_>) = [a, b, c, d].into_iter().partition(Result::is_ok);
    assert_eq!((good.len(), bad.len()), (1, 3));
    for answer in bad {
        refused(answer, Code::Unauthenticated, "start again");
    }
    assert_eq!((site.count("sessions").await, site.count("users").await), (1, 2), "the operator, and one person");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_not_for_this_sign_in_or_platform_is_refused() {
    let site = Site::new().await.with_self_service().await;
    site.sign_in("someone").await.unwrap();
    let sessions = site.count("sessions").await;

    let started = site.start().await;
    let mut url = reqwest::Url::parse(&started.authorization_url).unwrap();
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let swap = |(name, value): (String, String)| if name == "nonce" { (name, "another".into()) } else { (name, value) };
    url.query_pairs_mut().clear().extend_pairs(pairs.into_iter().map(swap));
    let returned = site.issuer.visit(url.as_str(), "someone").await;
    let answer = site.finish(&returned["code"], started.state.expose()).await;
    refused(answer, Code::Unauthenticated, "does not belong to this sign-in");

    let now = site.world.server.control_plane.db.clock.estimate().as_second();
    let wrong = [
        (json!({ "aud": "other" }), "another client"),
        (json!({ "aud": [CLIENT, "other"] }), "another client"),
        (json!({ "iss": "https://login.example.com" }), "another issuer"),
        (json!({ "exp": now - 61 }), "expired"),
        (json!({ "iat": now + 120 }), "future"),
        (json!({ "iat": now - 700 }), "too old"),
        (json!({ "sub": 7 }), "claims"),
    ];
    for (change, word) in wrong {
        let token = site.issuer.sign(&site.claims(change)).await;
        refused(site.exchange(&token).await, Code::Unauthenticated, word);
    }
    let part = |value: Value| base64_url(value.to_string().as_bytes());
    let unsigned = format!("{}.{}.", part(json!({ "alg": "none" })), part(site.claims(json!({}))));
    refused(site.exchange(&unsigned).await, Code::Unauthenticated, "not signed");
    let good = site.issuer.sign(&site.claims(json!({}))).await;
    let (rest, signature) = good.rsplit_once('.').unwrap();
    let bent = format!("{rest}.{}", signature.chars().rev().collect::<String>());
    refused(site.exchange(&bent).await, Code::Unauthenticated, "signature");
    assert_eq!(site.count("sessions").await, sessions);
    site.exchange(&good).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_first_sight_a_confirmed_address_finds_its_account() {
    let site = Site::new().await;
    refused(site.sign_in("someone").await, Code::SelfServiceOff, "invitation");
    let person = site.world.person().await;
    let name = person.email.as_str().split('@').next().unwrap().to_owned();
    assert_eq!(site.sign_in(&name).await.unwrap().user_id, person.id);
    let other = site.sign_in(&format!("{name}~other")).await;
    refused(other, Code::Unauthenticated, "a different identity");

    let site = site.with_self_service().await;
    refused(site.sign_in("unverified").await, Code::Unauthenticated, "verify it");
    let token = site.issuer.id_token("another").await;
    refused(site.exchange(&token).await, Code::Unauthenticated, "does not confirm an email");
    let claims = site.claims(json!({ "sub": "another", "email": "another@example.test", "email_verified": true }));
    let claimed = site.exchange(&site.issuer.sign(&claims).await).await.unwrap();
    assert_eq!(site.sign_in("another").await.unwrap().user_id, claimed.user_id);
}

#[tokio::test(flavor = "multi_thread")]
async fn squatter_of_an_address_loses_it_to_its_owner() {
    let site = Site::new().await.with_self_service().await;
    let squatter = site.squatter().await;
    site.open_shell(&squatter).await;
    let session = site.with_password(&squatter).await.unwrap();
    let owner = site.sign_in(squatter.email.as_str().split('@').next().unwrap()).await.unwrap();
    assert_eq!(owner.user_id, squatter.id);
    assert_eq!(site.count("access_sessions WHERE state <> 'ended'").await, 0, "the squatter's shell is over");
    assert!(site.with_password(&squatter).await.unwrap_err().is(Code::Unauthenticated));
    eventually("the session and the key to end", || async {
        let key = site.client(Some(&squatter.token));
        let key = key.call::<WhoAmI>(Default::default(), Default::default(), Default::default()).await;
        key.is_err() && site.whoami(&session).await.is_err()
    })
    .await;
    site.whoami(&owner).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inviter_who_signed_up_for_somebody_loses_the_account_to_its_owner() {
    // Self-service is off, as it is by default.
    let site = Site::new().await;
    let squatter = site.squatter().await;
    site.open_shell(&squatter).await;
    let session = site.with_password(&squatter).await.unwrap();
    let me = site.client(Some(session.access_token.expose()));
    let folder = tempfile::tempdir().unwrap();
    let spec = key_spec(squatter.id, "squatter", &make_key(folder.path(), "squatter"));
    me.call::<AddSshKey>(Default::default(), Default::default(), spec).await.unwrap();
    let owner = site.sign_in(squatter.email.as_str().split('@').next().unwrap()).await.unwrap();
    assert_eq!(owner.user_id, squatter.id);
    let by_password = site.with_password(&squatter).await.expect_err("the squatter's password is gone");
    assert!(by_password.is(Code::Unauthenticated), "{by_password}");
    assert_eq!(site.count("ssh_keys").await, 0, "and so is the squatter's SSH key");
    assert_eq!(site.count("access_sessions WHERE state <> 'ended'").await, 0, "and the squatter's shell");
    eventually("the session and the key to end", || async {
        let key = site.client(Some(&squatter.token));
        let key = key.call::<WhoAmI>(Default::default(), Default::default(), Default::default()).await;
        key.is_err() && site.whoami(&session).await.is_err()
    })
    .await;
    // Once proven, it stays: the second sign-in ends nothing.
    site.sign_in(squatter.email.as_str().split('@').next().unwrap()).await.unwrap();
    site.whoami(&owner).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn id_token_opens_one_session_and_none_when_it_was_made_for_a_browser() {
    let site = Site::new().await.with_self_service().await;
    let user = site.sign_in("someone").await.unwrap().user_id;
    let token = site.issuer.id_token("someone").await;
    assert_eq!(site.exchange(&token).await.unwrap().user_id, user);
    let sessions = site.count("sessions").await;
    refused(site.exchange(&token).await, Code::Unauthenticated, "already used");
    let browsers = site.issuer.sign(&site.claims(json!({ "nonce": "of a browser" }))).await;
    refused(site.exchange(&browsers).await, Code::Unauthenticated, "another sign-in");
    assert_eq!(site.count("sessions").await, sessions);
    // It is refused for as long as it would be believed, and forgotten after.
    site.world.server.control_plane.db.clock.advance(Duration::from_secs(3600));
    refused(site.exchange(&token).await, Code::Unauthenticated, "too old");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_issuers_new_keys_are_noticed_and_its_old_ones_believed_while_published() {
    let site = Site::new().await.with_self_service().await;
    let user = site.sign_in("someone").await.unwrap().user_id;
    let old = site.issuer.id_token("someone").await;
    for alg in ["ES256", "EdDSA"] {
        site.issuer.rotate(alg, true).await;
        assert_eq!(site.sign_in("someone").await.unwrap().user_id, user, "{alg}");
        let token = site.issuer.id_token("someone").await;
        assert_eq!(site.exchange(&token).await.unwrap().user_id, user, "{alg}");
    }
    assert_eq!(site.exchange(&old).await.unwrap().user_id, user, "its key is still published");

    site.issuer.rotate("RS256", false).await;
    let new = site.issuer.id_token("someone").await;
    assert_eq!(site.exchange(&new).await.unwrap().user_id, user);
    refused(site.exchange(&old).await, Code::Unauthenticated, "does not publish");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_that_is_away_stops_nobody_who_needs_it_not() {
    let mut site = Site::new().await.with_self_service().await;
    let session = site.sign_in("someone").await.unwrap();
    let token = site.issuer.id_token("someone").await;
    let unheard = site.issuer.sign(&site.claims(json!({}))).await;
    let foreign = unheard.replacen(unheard.split('.').next().unwrap(), &other_key(), 1);
    let started = site.start().await;
    let returned = site.issuer.visit(&started.authorization_url, "someone").await;
    assert_eq!(site.standing().await, "ok");

    site.issuer.go_away().await;
    assert_eq!(site.exchange(&token).await.unwrap().user_id, session.user_id, "its keys are known");
    site.whoami(&session).await.unwrap();
    let person = site.world.person_with_password().await;
    site.with_password(&person).await.unwrap();
    refused(site.finish(&returned["code"], started.state.expose()).await, Code::Unavailable, "does not respond");
    refused(site.exchange(&foreign).await, Code::Unavailable, "does not respond");
    assert!(site.standing().await.contains("verified with the known keys"));
    assert_eq!(site.count("oidc_starts").await, 1, "the sign-in may be finished later");

    site.issuer.come_back().await;
    eventually("readiness to say so", || async { site.standing().await == "ok" }).await;
    refused(site.exchange(&foreign).await, Code::Unauthenticated, "does not publish");
    assert_eq!(site.sign_in("someone").await.unwrap().user_id, session.user_id);

    site.issuer.go_away().await;
    site.world.server.control_plane.db.clock.advance(Duration::from_secs(86_400));
    refused(site.exchange(&token).await, Code::Unavailable, "does not respond");
    assert!(site.standing().await.contains("signing in through it fails"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_starts_before_its_issuer_and_finds_it_later() {
    let mut site = Site::at(Issuer::not_yet().await, CLIENT, Some(CLIENT_SECRET)).await.with_self_service().await;
    eventually("the first try to fail", || async { site.standing().await.contains("signing in through it fails") })
        .await;
    assert!(site.try_start(CALLBACK).await.unwrap_err().is(Code::Unavailable));
    site.issuer.come_back().await;
    eventually("the issuer to be found", || async { site.standing().await == "ok" }).await;
    site.sign_in("someone").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_sent_back_only_where_the_operator_allows() {
    let site = Site::new().await;
    let error = site.try_start("http://127.0.0.1:7777/elsewhere").await.unwrap_err();
    assert!(error.is(Code::InvalidValue), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_issuer_there_is_nothing_to_find() {
    let world = World::new().await;
    let client = world.server.client(None);
    let body = OidcStart { redirect_uri: CALLBACK.to_owned() };
    let start = client.call::<StartOidc>(Default::default(), Default::default(), body).await.unwrap_err();
    let body = OidcToken { id_token: SecretText::new("a.b.c".into()) };
    let exchange = client.call::<ExchangeOidcToken>(Default::default(), Default::default(), body).await.unwrap_err();
    let body = OidcFinish { code: SecretText::new("c".into()), state: SecretText::new("s".into()) };
    let finish = client.call::<FinishOidc>(Default::default(), Default::default(), body).await.unwrap_err();
    for error in [start, exchange, finish] {
        assert!(error.is(Code::NotFound), "{error}");
    }
}

/// A second factor of somebody, straight in the database.
async fn add_passkey(site: &Site, user: contract::id::UserId) {
    sqlx::query(
        "INSERT INTO mfa_factors (id, user_id, kind, name, credential_id, public_key, sign_count)
         VALUES (gen_random_uuid(), $1, 'passkey', 'laptop', sha256($2::bytea), '', 0)",
    )
    .bind(user.uuid())
    .bind(user.to_string().into_bytes())
    .execute(&mut site.world.server.database.superuser().await)
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn second_factor_is_asked_for_after_the_issuer_where_policy_says_so() {
    let site = Site::new().await.with_self_service().await;
    let user = site.sign_in("someone").await.unwrap().user_id;
    add_passkey(&site, user).await;
    site.sign_in("someone").await.expect("the issuer has factors of its own");
    let operator = site.world.operator().await;
    set_policy(&site.world.as_(&operator), settings::MFA_WITH_OIDC.0.name, "true").await;
    site.world.server.control_plane.policies.refresh(&site.world.server.control_plane.db).await.unwrap();
    let before = site.count("sessions").await;
    let error = site.sign_in("someone").await.expect_err("there is no session before the second factor");
    assert!(error.is(Code::MfaRequired), "{error}");
    assert!(error.problem().unwrap().challenge.as_ref().unwrap().passkey.is_some());
    assert_eq!(site.count("sessions").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn second_factor_of_a_squatter_goes_when_the_owner_comes() {
    let site = Site::new().await.with_self_service().await;
    let squatter = site.squatter().await;
    add_passkey(&site, squatter.id).await;
    let owner = site.sign_in(squatter.email.as_str().split('@').next().unwrap()).await.unwrap();
    assert_eq!(owner.user_id, squatter.id);
    assert_eq!(site.count("mfa_factors").await, 0);
}

/// The header of a token that names a key nobody has.
fn other_key() -> String {
    base64_url(json!({ "alg": "RS256", "kid": "nobody's" }).to_string().as_bytes())
}
