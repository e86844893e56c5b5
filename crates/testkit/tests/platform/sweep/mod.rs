//! Every endpoint and channel, called by everyone who may not: nobody, a
//! stranger with the victim's organization, a stranger with an organization of
//! their own and the victim's rows in it, somebody without the permission, an
//! expired key and a revoked one. None may pass, none may learn that anything
//! exists, and nothing of the victim's may change.

mod routes;
mod victim;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contract::{Auth, EndpointInfo, Role, Verb, Word};
use reqwest::Client;
use routes::{Route, Routes, children, params};
use testkit::{Database, Server, World};
use uuid::Uuid;
use victim::{KINDS, Victim, WORDS, kind};

/// A server that does nothing by itself, so that whatever changes was asked for.
async fn quiet_world() -> World {
    let world = World::on(Server::alone(Arc::new(Database::new().await), |_| ()).await).await;
    let operator = world.as_(&world.operator().await);
    let lanes = contract::Lane::ALL.iter().map(|it| it.as_str()).chain(["address"]);
    for lane in lanes.filter(|it| *it != "node") {
        testkit::world::set_policy(&operator, &format!("rate_limit.{lane}_per_minute"), "1000000").await;
    }
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    world
}

/// What was asked, what was answered, and what is wrong with it.
struct Sweep<'a> {
    http: Client,
    base: &'a str,
    routes: &'a Routes,
    victim: &'a Victim,
    calls: BTreeMap<&'static str, usize>,
    swept: BTreeMap<&'static str, BTreeSet<&'static str>>,
    ids: usize,
    leaks: Vec<String>,
    failures: Vec<String>,
    wrong: Vec<String>,
}

struct Answer {
    status: u16,
    body: String,
    /// The victim's ids that the query and the body held: to be told that there
    /// is no such thing tells nothing.
    sent: Vec<String>,
}

impl<'a> Sweep<'a> {
    fn new(world: &'a World, routes: &'a Routes, victim: &'a Victim) -> Sweep<'a> {
        Sweep {
            http: Client::new(),
            base: &world.server.base,
            routes,
            victim,
            calls: BTreeMap::new(),
            swept: BTreeMap::new(),
            ids: 0,
            leaks: vec![],
            failures: vec![],
            wrong: vec![],
        }
    }

    /// Calls with the victim's ids but for those that `own` replaces.
    async fn ask(&mut self, route: &Route, own: impl Fn(&str) -> Option<String>, token: Option<&str>) -> Answer {
        let info = &route.info;
        let mut path = info.path.to_owned();
        for name in params(info.path) {
            let value = own(name).unwrap_or_else(|| {
                self.ids += usize::from(kind(name).is_some());
                self.victim.value(info.path, name)
            });
            path = path.replace(&format!("{{{name}}}"), &value);
        }
        let method = reqwest::Method::from_bytes(info.verb.as_str().as_bytes()).unwrap();
        let query = self.routes.query(route, self.victim);
        // None of what is sent in queries needs escaping.
        let pairs: Vec<String> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = self.http.request(method, format!("{}{path}?{}", self.base, pairs.join("&")));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if info.success == 101 {
            request = request
                .header("connection", "upgrade")
                .header("upgrade", "websocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        }
        if matches!(info.verb, Verb::POST | Verb::PUT | Verb::PATCH) {
            request = request.header("idempotency-key", Uuid::now_v7().to_string());
        }
        let body = self.routes.body(route, self.victim);
        let sent = query.iter().map(|it| it.1.as_str()).chain(body.iter().flat_map(texts));
        let is_mark = |it: &&str| self.victim.marks.iter().any(|mark| mark == it);
        let sent: Vec<String> = sent.filter(is_mark).map(str::to_owned).collect();
        self.ids += sent.len();
        if let Some(body) = &body {
            request = request.json(body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        // A channel that opens is another test's subject; its bytes have no end.
        let body = if status == 101 { String::new() } else { answer.text().await.unwrap_or_default() };
        Answer { status, body, sent }
    }

    /// Counts an answer, and notes what it must not be.
    fn judge(&mut self, caller: &'static str, info: &EndpointInfo, answer: &Answer, expected: impl Fn(u16) -> bool) {
        *self.calls.entry(caller).or_default() += 1;
        self.swept.entry(caller).or_default().insert(info.operation);
        let what = format!("{caller}: {} {}: {} {}", info.verb.as_str(), info.path, answer.status, answer.body);
        if answer.status >= 500 {
            self.failures.push(what.clone());
        }
        if !expected(answer.status) {
            self.wrong.push(what.clone());
        }
        let is_leaked = |mark: &&String| answer.body.contains(mark.as_str()) && !answer.sent.contains(mark);
        if let Some(mark) = self.victim.marks.iter().find(is_leaked) {
            self.leaks.push(format!("{mark} in {what}"));
        }
    }

    fn is_clean(&self) {
        let found = [&self.leaks, &self.failures, &self.wrong].map(|it| it.join("\n"));
        assert_eq!(found, ["", "", ""], "leaks, 5xx and unexpected answers");
    }

    fn swept(&self, caller: &str) -> usize {
        self.swept.get(caller).map_or(0, BTreeSet::len)
    }
}

/// Every text in a JSON value.
fn texts(value: &serde_json::Value) -> Vec<&str> {
    match value {
        serde_json::Value::String(it) => vec![it],
        serde_json::Value::Array(all) => all.iter().flat_map(texts).collect(),
        serde_json::Value::Object(all) => all.values().flat_map(texts).collect(),
        _ => vec![],
    }
}

/// Whether the path names something that only a tenant has.
fn names_a_tenants(path: &str) -> bool {
    params(path).iter().any(|it| kind(it).is_some_and(|it| it.is_tenants))
}

/// What somebody must get who names the victim's organization or project.
fn for_stranger(info: &EndpointInfo) -> impl Fn(u16) -> bool {
    let (auth, names_a_tenants) = (info.policy.auth, names_a_tenants(info.path));
    move |status| match auth {
        Auth::Organization(_) | Auth::Project(_) => status == 404,
        Auth::Platform(_) => status == 403,
        // About themselves, and what is public: the answer holds nothing of the victim's.
        Auth::Public { .. } | Auth::SignedIn | Auth::Person => !names_a_tenants || (400..500).contains(&status),
    }
}

/// Which parameters of a path are the victim's while the organization is the
/// caller's: all children, each alone, and none where the body holds ids.
fn mixtures<'p>(routes: &Routes, route: &'p Route) -> Vec<Vec<&'p str>> {
    let children = children(route.info.path);
    let mut all = vec![children.clone()];
    if children.len() > 1 {
        all.extend(children.iter().map(|it| vec![*it]));
    }
    if !children.is_empty() && routes.holds_ids(route).0 {
        all.push(vec![]);
    }
    all
}

/// What somebody must get who names the victim's rows in an organization of their own.
fn for_mixture(routes: &Routes, route: &Route, victims: &[&str]) -> impl Fn(u16) -> bool {
    let auth = route.info.policy.auth;
    let names_theirs = victims.iter().any(|it| kind(it).is_some_and(|it| it.is_tenants)) || routes.holds_ids(route).1;
    move |status| match auth {
        Auth::Platform(_) => status == 403,
        Auth::Organization(_) | Auth::Project(_) => !names_theirs || (400..500).contains(&status),
        Auth::Public { .. } | Auth::SignedIn | Auth::Person => true,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn caller_without_permission_passes_nowhere() {
    let world = quiet_world().await;
    let routes = Routes::new();
    let fleet = victim::fleet(&world).await;
    let victim = Victim::new(&world, "zyxvictim", &fleet).await;
    let kinds = victim.real_children(&world).await;
    let (_, stranger) = world.organization().await;
    let expired = world.key(&victim.owner, contract::Permission::ALL).await;
    let revoked = world.key(&victim.owner, contract::Permission::ALL).await;
    let mut above = world.server.database.superuser().await;
    for (token, change) in [(&expired, "expires_at = now() - interval '1 second'"), (&revoked, "revoked_at = now()")] {
        let statement = format!("UPDATE keys SET {change} WHERE hash = sha256($1::bytea)");
        let done =
            sqlx::query(sqlx::AssertSqlSafe(statement)).bind(token.as_bytes()).execute(&mut above).await.unwrap();
        assert_eq!(done.rows_affected(), 1);
    }
    let without = victim.keys_without(&world).await;
    let before = victim.checksums(&world).await;

    let mut sweep = Sweep::new(&world, &routes, &victim);
    for (number, route) in routes.all.iter().enumerate() {
        let info = &route.info;
        let is_public = matches!(info.policy.auth, Auth::Public { .. });
        let answer = sweep.ask(route, |_| None, None).await;
        sweep.judge("nobody", info, &answer, |it| is_public || it == 401);
        let answer = sweep.ask(route, |_| None, Some(&stranger.token)).await;
        sweep.judge("stranger", info, &answer, for_stranger(info));
        for (turn, victims) in mixtures(&routes, route).iter().enumerate() {
            // Somebody new each time: what they do to their own may end it.
            let own = Victim::new(&world, &format!("own{number}x{turn}"), &fleet).await;
            let chosen = |name: &str| (!victims.contains(&name)).then(|| own.value(info.path, name));
            let answer = sweep.ask(route, chosen, Some(&own.owner.token)).await;
            sweep.judge("insider", info, &answer, for_mixture(&routes, route, victims));
        }
        if let Auth::Organization(permission) | Auth::Project(permission) | Auth::Platform(permission) =
            info.policy.auth
        {
            let answer = sweep.ask(route, |_| None, Some(&without[permission.as_str()])).await;
            sweep.judge("without permission", info, &answer, |it| it == 403);
        }
        if !is_public {
            let answer = sweep.ask(route, |_| None, Some(&expired)).await;
            sweep.judge("expired key", info, &answer, |it| it == 401);
            let answer = sweep.ask(route, |_| None, Some(&revoked)).await;
            sweep.judge("revoked key", info, &answer, |it| it == 401);
        }
    }
    println!(
        "swept {} endpoints x {} callers in {} calls, {} ids tried, {kinds} kinds with a real child of {}; leaks {}, 5xx {}",
        routes.all.len(),
        sweep.calls.len(),
        sweep.calls.values().sum::<usize>(),
        sweep.ids,
        KINDS.len(),
        sweep.leaks.len(),
        sweep.failures.len()
    );
    sweep.is_clean();
    let count = |which: fn(&EndpointInfo) -> bool| routes.all.iter().filter(|it| which(&it.info)).count();
    let closed = count(|it| !matches!(it.policy.auth, Auth::Public { .. }));
    let gated = count(|it| matches!(it.policy.auth, Auth::Organization(_) | Auth::Project(_) | Auth::Platform(_)));
    let all = ["nobody", "stranger", "insider"].map(|it| sweep.swept(it));
    assert_eq!(all, [routes.all.len(); 3], "each of them calls every endpoint");
    assert_eq!(["expired key", "revoked key"].map(|it| sweep.swept(it)), [closed; 2]);
    assert_eq!(sweep.swept("without permission"), gated);
    assert_eq!(kinds, KINDS.len());
    let after = victim.checksums(&world).await;
    assert!(before.len() > 35, "rows of the victim's are in many tables: {:?}", before.keys());
    assert_eq!(before, after, "nothing of the victim's changed");
}

/// What these answer lies in a store beside the database; `GetRecording` shows that the row is found.
const STORED: [&str; 4] = ["DownloadRecording", "VerifyRecording", "DownloadAnyRecording", "VerifyAnyRecording"];

/// The rows that the sweep names are found by whoever may see them: a stranger
/// is not refused because a row is broken.
#[tokio::test(flavor = "multi_thread")]
async fn row_that_the_sweep_names_is_visible_to_permitted_callers() {
    let world = quiet_world().await;
    let routes = Routes::new();
    let victim = Victim::new(&world, "zyxvictim", &victim::fleet(&world).await).await;
    let operator = world.operator().await;
    let mut sweep = Sweep::new(&world, &routes, &victim);
    let mut unseen = Vec::new();
    let mut seen = 0;
    for route in routes.all.iter().filter(|it| it.info.verb == Verb::GET && it.info.success == 200) {
        let token = match route.info.policy.auth {
            Auth::Organization(_) | Auth::Project(_) => &victim.owner.token,
            Auth::Platform(_) => &operator.token,
            Auth::Public { .. } | Auth::SignedIn | Auth::Person => continue,
        };
        let answer = sweep.ask(route, |_| None, Some(token)).await;
        seen += 1;
        if answer.status != 200 && !STORED.contains(&route.info.operation) {
            unseen.push(format!("{} {}: {} {}", route.info.operation, route.info.path, answer.status, answer.body));
        }
    }
    println!("{seen} reads by those who may: {} unseen", unseen.len());
    assert_eq!(unseen, Vec::<String>::new());
}

/// A new kind of id cannot be forgotten: it needs a real row before this passes.
#[tokio::test(flavor = "multi_thread")]
async fn every_id_that_a_request_can_hold_is_of_a_kind_with_a_real_row() {
    let world = quiet_world().await;
    let routes = Routes::new();
    let victim = Victim::new(&world, "zyxvictim", &victim::fleet(&world).await).await;
    let mut named = BTreeSet::new();
    for route in &routes.all {
        named.extend(params(route.info.path));
        // They panic where a kind is unknown.
        routes.query(route, &victim);
        routes.body(route, &victim);
    }
    let is_known = |it: &&&str| kind(it).is_some() || WORDS.iter().any(|word| word.0 == **it);
    let unknown: Vec<&&str> = named.iter().filter(|it| !is_known(it)).collect();
    assert!(unknown.is_empty(), "add them to KINDS, with a real row of the victim's: {unknown:?}");
    assert_eq!(victim.real_children(&world).await, KINDS.len());
    println!("{} parameters in paths, {} kinds with a real row of {}", named.len(), KINDS.len(), KINDS.len());
}

/// A role that lacks the permission is refused too, not only a narrow key.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_the_permission_is_refused() {
    let world = quiet_world().await;
    let routes = Routes::new();
    let victim = Victim::new(&world, "zyxvictim", &victim::fleet(&world).await).await;
    let mut sweep = Sweep::new(&world, &routes, &victim);
    let mut refused = 0;
    for role in Role::ALL {
        let member = world.member_of(victim.ids["organization_id"].into(), *role).await;
        for route in &routes.all {
            let (Auth::Organization(permission) | Auth::Project(permission)) = route.info.policy.auth else { continue };
            if role.grants(permission) {
                continue;
            }
            let answer = sweep.ask(route, |_| None, Some(&member.token)).await;
            assert_eq!(answer.status, 403, "{role} {}: {}", route.info.operation, answer.body);
            refused += 1;
        }
    }
    println!("{refused} calls by roles that lack the permission were refused");
    assert!(refused > 50);
}
