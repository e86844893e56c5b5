//! A server with an owner and an operator, and `gpuaas` as they run it.

use std::{
    collections::BTreeSet,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use client::Client;
use contract::{
    Nothing, Page,
    allocations::{Allocation, AllocationFilter, ListAllocations},
    budgets::{Budget, BudgetFilter, ListBudgets},
    id::OrganizationId,
    organizations::OrganizationPath,
    projects::{ListProjects, Project, ProjectFilter, ProjectPath},
    webhooks::{ListWebhooks, Webhook, WebhookFilter},
};
use gpuaasd::roles::Role;
use tempfile::TempDir;
use testkit::{
    Database, Member, Server, World,
    cloud::{key_spec, make_key},
    process::binary,
};
use tokio::{net::TcpListener, process::Command, sync::Barrier};

pub const TEAM: &str = include_str!("../../../../../docs/examples/team.yaml");
const EXAMPLE_KEY: &str =
    "public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPLEyFsEd9Z8SsZUCWIDcMdAyTHyRQWbo3uI4wm3mzM me@laptop";
pub const OFFER: &str = include_str!("../../../../../docs/examples/offer.yaml");

pub struct Stand {
    pub world: World,
    pub organization: OrganizationId,
    pub owner: Client,
    /// A session: keys of people are added with one.
    token: String,
    operator: String,
    folder: TempDir,
    /// A key of the owner's and its proof, as fields of a document.
    key: String,
}

#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    pub fn has(self, code: i32, says: &[&str]) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        for it in says {
            assert!(self.out.contains(it) || self.err.contains(it), "{it}: {self:?}");
        }
        self
    }
}

impl Stand {
    pub async fn new() -> Stand {
        let server = Server::with(Arc::new(Database::new().await), &[Role::Api], |_| ()).await;
        let world = World::on(server).await;
        let (organization, owner) = world.organization().await;
        let (token, operator) = (session(&world, &owner).await, world.operator().await.token);
        let folder = tempfile::tempdir().unwrap();
        let spec = key_spec(owner.id, "vision-laptop", &make_key(folder.path(), "vision-laptop"));
        let proof = serde_json::to_string(spec.proof.as_str()).unwrap();
        let key = format!("public_key: {}\nproof: {proof}", spec.public_key.as_str());
        let owner = world.as_(&owner);
        let stand = Stand { world, organization, owner, token, operator, folder, key };
        stand.staff("apply", OFFER, &["--yes"]).await.has(0, &["sku a100-slice", "price a100-slice/USD"]);
        stand
    }

    /// A command with a stack, as the owner.
    pub async fn run(&self, verb: &str, stack: &str, more: &[&str]) -> Ended {
        self.run_on(&self.world.server.base, verb, stack, more).await
    }

    pub async fn run_on(&self, base: &str, verb: &str, stack: &str, more: &[&str]) -> Ended {
        ended(self.command(base, &self.token, verb, stack, more)).await
    }

    /// As platform staff.
    pub async fn staff(&self, verb: &str, stack: &str, more: &[&str]) -> Ended {
        ended(self.command(&self.world.server.base, &self.operator, verb, stack, more)).await
    }

    pub fn command_on(&self, base: &str, verb: &str, stack: &str, more: &[&str]) -> Command {
        self.command(base, &self.token, verb, stack, more)
    }

    fn command(&self, base: &str, token: &str, verb: &str, stack: &str, more: &[&str]) -> Command {
        let file = self.folder.path().join(format!("{}.yaml", uuid::Uuid::now_v7()));
        // Nobody has the private half of the example's key.
        std::fs::write(&file, stack.replace(EXAMPLE_KEY, &self.key)).unwrap();
        let mut command = Command::new(binary("gpuaas"));
        command
            .args([verb, "-f"])
            .arg(&file)
            .args(more)
            .env("GPUAAS_URL", base)
            .env("GPUAAS_TOKEN", token)
            .env("GPUAAS_ORGANIZATION", self.organization.to_string())
            .env("GPUAAS_CONFIG", "/nonexistent/gpuaas.toml")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    fn at(&self) -> OrganizationPath {
        OrganizationPath { organization_id: self.organization }
    }

    pub async fn projects(&self) -> Vec<Project> {
        all(self.owner.call::<ListProjects>(self.at(), ProjectFilter::default(), Nothing {}).await.unwrap())
    }

    pub async fn webhooks(&self) -> Vec<Webhook> {
        all(self.owner.call::<ListWebhooks>(self.at(), WebhookFilter::default(), Nothing {}).await.unwrap())
    }

    pub async fn budgets(&self) -> Vec<Budget> {
        all(self.owner.call::<ListBudgets>(self.at(), BudgetFilter::default(), Nothing {}).await.unwrap())
    }

    /// Of all projects; those that are over do not count.
    pub async fn allocations(&self) -> Vec<Allocation> {
        let mut found = Vec::new();
        for project in self.projects().await {
            let path = ProjectPath { project_id: project.id };
            let query = AllocationFilter::default();
            found.extend(all(self.owner.call::<ListAllocations>(path, query, Nothing {}).await.unwrap()));
        }
        found
    }

    /// Everything that the example makes is there once.
    pub async fn has_one_of_each(&self) {
        assert_eq!(self.projects().await.len(), 1);
        assert_eq!(self.webhooks().await.len(), 1);
        assert_eq!(self.budgets().await.len(), 1);
        assert_eq!(self.allocations().await.len(), 1);
    }
}

fn all<T>(page: Page<T>) -> Vec<T> {
    assert!(page.next_cursor.is_none());
    page.items
}

async fn session(world: &World, member: &Member) -> String {
    let mut tx = kernel::Tx::system(&world.server.control_plane.db, "testkit", kernel::Access::Write).await.unwrap();
    let tokens = people::sessions::open(&world.server.control_plane.people, &mut tx, member.id).await.unwrap();
    tx.commit().await.unwrap();
    tokens.access_token.expose().to_owned()
}

pub async fn ended(mut command: Command) -> Ended {
    let output = command.output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let ended = Ended { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) };
    println!("{}{}[{}]", ended.out, ended.err, ended.code);
    ended
}

/// What stands between a command and the server, and what it does with creations.
#[derive(Clone)]
pub enum Manner {
    /// Lets two of the same go on together.
    Pair,
    /// Passes those to this path on, and never tells what came of it.
    Swallow(&'static str),
}

pub struct Between {
    pub base: String,
    pub swallowed: Arc<Mutex<BTreeSet<String>>>,
}

impl Between {
    pub async fn start(server: &str, manner: Manner) -> Between {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (server, barrier) = (server.to_owned(), Arc::new(Barrier::new(2)));
        let swallowed = Arc::new(Mutex::new(BTreeSet::new()));
        let kept = swallowed.clone();
        let pass = move |request: axum::extract::Request| {
            let (server, barrier, manner, kept) = (server.clone(), barrier.clone(), manner.clone(), kept.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
                let path = parts.uri.path_and_query().unwrap().to_string();
                let is_creation = parts.method == http::Method::POST;
                if is_creation && matches!(manner, Manner::Pair) {
                    // The other may have found it made already, and not come.
                    let _ = tokio::time::timeout(Duration::from_secs(3), barrier.wait()).await;
                }
                let mut headers = parts.headers;
                headers.remove(http::header::HOST);
                let sent = reqwest::Client::new().request(parts.method, format!("{server}{path}"));
                let answer = sent.headers(headers).body(body).send().await.unwrap();
                let (status, headers) = (answer.status(), answer.headers().clone());
                let bytes = answer.bytes().await.unwrap();
                if let Manner::Swallow(end) = manner
                    && is_creation
                    && path.ends_with(end)
                {
                    kept.lock().unwrap().insert(path);
                    std::future::pending::<()>().await;
                }
                let mut response = axum::response::Response::new(axum::body::Body::from(bytes));
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                response.headers_mut().remove(http::header::TRANSFER_ENCODING);
                response
            }
        };
        let router = axum::Router::new().fallback(pass);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Between { base, swallowed }
    }
}
