//! The control plane as a script: tickets that work once, and a memory of all it
//! was told.

use super::ca::Ca;
use super::{GATEWAY, NODE, bind};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::{SignedDuration, Timestamp};
use protocol::gateway::*;
use protocol::stream::{Closing, Grant, Kind, Limits, SignedGrant, Size};
use protocol::{PROTOCOL, Problem, Shape, SigningKey, WorkloadRef};
use russh::keys::ssh_key::certificate::{Builder, CertType};
use russh::keys::ssh_key::private::Ed25519Keypair;
use russh::keys::{PrivateKey, PublicKey};
use serde::Serialize;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use tokio_rustls::TlsAcceptor;
use uuid::Uuid;

/// What a ticket opens.
#[derive(Clone)]
pub struct Ticket {
    pub session: Uuid,
    pub kind: Kind,
    pub recording: Option<RecordingOrder>,
    pub allocation: String,
}

#[derive(Default)]
struct Memory {
    tickets: HashMap<String, Ticket>,
    refusals: HashMap<String, u16>,
    sessions: HashMap<Uuid, Ticket>,
    cookies: HashMap<String, Ticket>,
    exchanged: Vec<ExchangeRequest>,
    admitted: Vec<AdmitRequest>,
    refused_nodes: HashSet<String>,
    beats: Vec<BeatRequest>,
    lefts: Vec<LeftRequest>,
    chunks: Vec<ChunkRequest>,
    ends: Vec<EndOrder>,
    cuts: Vec<String>,
    /// Who may come in with SSH: the key, the login, and what may be opened.
    ssh: Vec<(String, String, Vec<String>)>,
    logins: Vec<SshRequest>,
}

pub struct Plane {
    ca: Arc<Ca>,
    address: SocketAddr,
    memory: Mutex<Memory>,
    /// Answers nothing but 503.
    pub is_away: AtomicBool,
    /// Takes no piece of a recording.
    pub refuse_chunks: AtomicBool,
    /// How many grants were asked for one by one.
    pub grants: AtomicUsize,
}

impl Plane {
    pub async fn start(ca: Arc<Ca>) -> Arc<Self> {
        let listener = bind().await;
        let address = listener.local_addr().unwrap();
        let acceptor = TlsAcceptor::from(ca.server_config(b"http/1.1"));
        let plane = Arc::new(Self {
            ca,
            address,
            memory: Mutex::default(),
            is_away: AtomicBool::new(false),
            refuse_chunks: AtomicBool::new(false),
            grants: AtomicUsize::new(0),
        });
        let serving = plane.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (plane, acceptor) = (serving.clone(), acceptor.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let is_known = stream.get_ref().1.peer_certificates().is_some();
                    let service = service_fn(move |request| {
                        let plane = plane.clone();
                        async move { Ok::<_, std::convert::Infallible>(plane.answer(is_known, request).await) }
                    });
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        plane
    }

    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap()
    }

    pub fn admitted(&self, node: &str) -> bool {
        self.memory().admitted.iter().any(|it| it.node == node)
    }

    pub fn refuse_node(&self, node: &str) {
        self.memory().refused_nodes.insert(node.into());
    }

    /// A ticket for a shell that runs this script of the host.
    pub fn terminal(&self, ticket: &str, script: &str) -> Uuid {
        self.ticket(ticket, shell(script), None)
    }

    pub fn ticket(&self, ticket: &str, kind: Kind, recording: Option<RecordingOrder>) -> Uuid {
        let session = Uuid::now_v7();
        let made = Ticket { session, kind, recording, allocation: "alloc_1".into() };
        self.memory().tickets.insert(ticket.into(), made);
        session
    }

    /// One more ticket for a session that is there.
    pub fn resume(&self, ticket: &str, session: Uuid, script: &str) {
        let mut kind = shell(script);
        if let Kind::Terminal { resume, .. } = &mut kind {
            *resume = true;
        }
        let made = Ticket { session, kind, recording: None, allocation: "alloc_1".into() };
        self.memory().tickets.insert(ticket.into(), made);
    }

    /// Refuses this ticket with that status.
    pub fn refuse(&self, ticket: &str, status: u16) {
        self.memory().refusals.insert(ticket.into(), status);
    }

    pub fn order_end(&self, session: Uuid, closing: Closing) {
        self.memory().ends.push(EndOrder { session, closing });
    }

    pub fn order_cut(&self, node: &str) {
        self.memory().cuts.push(node.into());
    }

    pub fn exchanged(&self) -> Vec<ExchangeRequest> {
        self.memory().exchanged.clone()
    }

    pub fn beats(&self) -> Vec<BeatRequest> {
        self.memory().beats.clone()
    }

    pub fn chunks(&self) -> Vec<ChunkRequest> {
        self.memory().chunks.clone()
    }

    pub fn left(&self, session: Uuid) -> Option<LeftRequest> {
        self.memory().lefts.iter().find(|it| it.session == session).cloned()
    }

    /// The lines of a recording, from the chunks as they came.
    pub fn cast(&self, recording: Uuid) -> Vec<Value> {
        let mut chunks: Vec<_> = self.chunks().into_iter().filter(|it| it.recording == recording).collect();
        chunks.sort_by_key(|it| (it.segment, it.number));
        let mut text = Vec::new();
        for (at, chunk) in chunks.iter().filter(|it| it.segment == chunks[0].segment).enumerate() {
            assert_eq!(chunk.number as usize, at, "no piece is missing");
            let bytes = BASE64_STANDARD.decode(&chunk.bytes).unwrap();
            assert_eq!(protocol::agent_binary::sha256_hex(&bytes), chunk.sha256);
            text.extend(zstd::decode_all(&bytes[..]).unwrap());
        }
        let text = String::from_utf8(text).unwrap();
        text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    async fn answer(&self, is_known: bool, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        if self.is_away.load(SeqCst) {
            return problem(503, "unavailable");
        }
        if !is_known && path != paths::JOIN {
            return problem(401, "no_certificate");
        }
        match path.as_str() {
            paths::JOIN => self.join(read(&body)),
            paths::BEAT => self.beat(read(&body)),
            paths::ADMIT => self.admit(read(&body)),
            paths::EXCHANGE => self.exchange(read(&body)),
            paths::WEB_VISIT => self.web_visit(read(&body)),
            paths::GRANT => self.grant(read(&body)),
            paths::SSH => self.ssh(read(&body)),
            paths::LEFT => {
                self.memory().lefts.push(read(&body));
                json(&Done { protocol: PROTOCOL })
            }
            paths::CHUNK if self.refuse_chunks.load(SeqCst) => problem(409, refusals::RECORDING),
            paths::CHUNK => {
                self.memory().chunks.push(read(&body));
                json(&Done { protocol: PROTOCOL })
            }
            _ => problem(404, "not_found"),
        }
    }

    fn join(&self, request: JoinRequest) -> Response<Full<Bytes>> {
        assert_eq!(request.token, "token");
        json(&JoinAnswer {
            protocol: PROTOCOL,
            gateway_id: GATEWAY.into(),
            certificate: self.ca.certify(&request.csr, GATEWAY, true),
            roots: self.ca.roots(),
            now: Timestamp::now(),
        })
    }

    fn beat(&self, request: BeatRequest) -> Response<Full<Bytes>> {
        let mut memory = self.memory();
        let answer = BeatAnswer {
            protocol: PROTOCOL,
            now: Timestamp::now(),
            certificate: request.csr.as_ref().map(|csr| self.ca.certify(csr, GATEWAY, false)),
            roots: None,
            ssh_host_certificate: request.ssh_host_key.as_deref().map(certify),
            end: std::mem::take(&mut memory.ends),
            cut: std::mem::take(&mut memory.cuts),
            next_ms: 200,
        };
        memory.beats.push(request);
        json(&answer)
    }

    fn admit(&self, request: AdmitRequest) -> Response<Full<Bytes>> {
        let mut memory = self.memory();
        let is_admitted = !memory.refused_nodes.contains(&request.node);
        memory.admitted.push(request);
        json(&AdmitAnswer { protocol: PROTOCOL, is_admitted })
    }

    fn exchange(&self, request: ExchangeRequest) -> Response<Full<Bytes>> {
        let mut memory = self.memory();
        memory.exchanged.push(request.clone());
        if let Some(status) = memory.refusals.get(&request.ticket) {
            return problem(*status, "refused");
        }
        let Some(ticket) = memory.tickets.remove(&request.ticket) else { return problem(401, "bad_ticket") };
        memory.sessions.insert(ticket.session, ticket.clone());
        if let Some(cookie) = request.cookie_sha256 {
            memory.cookies.insert(cookie, ticket.clone());
        }
        json(&session(&ticket, request.seen))
    }

    fn web_visit(&self, request: WebVisitRequest) -> Response<Full<Bytes>> {
        let memory = self.memory();
        match memory.cookies.get(&request.cookie_sha256) {
            Some(ticket)
                if ticket.allocation == request.allocation && ticket.kind == (Kind::Tcp { port: request.port }) =>
            {
                json(&session(ticket, None))
            }
            _ => problem(401, "no_such_web_service"),
        }
    }

    /// Lets the holder of a key in.
    pub fn let_in(&self, key: &str, login: &str, kinds: &[&str]) {
        let kinds = kinds.iter().map(|it| (*it).to_owned()).collect();
        self.memory().ssh.push((key.split(' ').take(2).collect::<Vec<_>>().join(" "), login.into(), kinds));
    }

    pub fn logins(&self) -> Vec<SshRequest> {
        self.memory().logins.clone()
    }

    fn ssh(&self, request: SshRequest) -> Response<Full<Bytes>> {
        let mut memory = self.memory();
        memory.logins.push(request.clone());
        let key = request.key.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let known = memory.ssh.iter().find(|(held, login, _)| *held == key && *login == request.login);
        let Some((_, _, kinds)) = known.filter(|_| request.is_proven).cloned() else { return problem(401, "no_key") };
        let session = Uuid::now_v7();
        let ticket = Ticket { session, kind: Kind::File, recording: None, allocation: "alloc_1".into() };
        memory.sessions.insert(session, ticket.clone());
        json(&SessionAnswer { kinds, ..self::session(&ticket, None) })
    }

    fn grant(&self, request: GrantRequest) -> Response<Full<Bytes>> {
        self.grants.fetch_add(1, SeqCst);
        let memory = self.memory();
        let Some(ticket) = memory.sessions.get(&request.session) else { return problem(404, "no_such_session") };
        let grant = sign(ticket.session, request.kind);
        json(&GrantAnswer { protocol: PROTOCOL, node: NODE.into(), grant, recording: None })
    }
}

pub fn shell(script: &str) -> Kind {
    Kind::Terminal {
        size: Size::DEFAULT,
        term: "xterm-256color".into(),
        command: Some(script.into()),
        resume: false,
        from: None,
        recorded: None,
        watch: false,
    }
}

fn session(ticket: &Ticket, seen: Option<u64>) -> SessionAnswer {
    let is_shell = matches!(ticket.kind, Kind::Terminal { .. });
    SessionAnswer {
        protocol: PROTOCOL,
        session: ticket.session,
        node: NODE.into(),
        grant: is_shell.then(|| sign(ticket.session, ticket.kind.clone())),
        kinds: vec![ticket.kind.name().into()],
        port: if let Kind::Tcp { port } = ticket.kind { Some(port) } else { None },
        recording: ticket.recording.clone(),
        until: Timestamp::now() + SignedDuration::from_hours(1),
        title: "ada in alloc_1".into(),
        seen,
        is_new: !matches!(ticket.kind, Kind::Terminal { resume: true, .. }),
    }
}

/// What certifies the keys of gateways.
pub fn host_authority() -> PrivateKey {
    PrivateKey::from(Ed25519Keypair::from_seed(&[9; 32]))
}

fn certify(line: &str) -> String {
    let key = PublicKey::from_openssh(line).unwrap();
    let now = u64::try_from(Timestamp::now().as_second()).unwrap();
    let mut builder = Builder::new(vec![1; 16], key.key_data().clone(), now - 60, now + 3600).unwrap();
    builder.cert_type(CertType::Host).unwrap();
    builder.key_id(GATEWAY).unwrap();
    builder.valid_principal("127.0.0.1").unwrap();
    builder.sign(&host_authority()).unwrap().to_openssh().unwrap()
}

pub fn key() -> SigningKey {
    SigningKey::from_seed(&[7; 32]).unwrap()
}

fn sign(session: Uuid, kind: Kind) -> SignedGrant {
    let now = Timestamp::now();
    let grant = Grant {
        protocol: PROTOCOL,
        id: Uuid::now_v7(),
        node: NODE.into(),
        gateway: GATEWAY.into(),
        epoch: 1,
        allocation: "alloc_1".into(),
        workload: WorkloadRef::login(Shape::GpuSlice, "g1"),
        session,
        kind,
        limits: Limits { until: now + SignedDuration::from_hours(1), grace_seconds: 60, idle_seconds: 0, sessions: 8 },
        issued_at: now,
        expires_at: now + SignedDuration::from_secs(30),
    };
    SignedGrant::sign(&grant, &key()).unwrap()
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> T {
    serde_json::from_slice(body).unwrap()
}

fn json(message: &impl Serialize) -> Response<Full<Bytes>> {
    Response::new(Full::new(serde_json::to_vec(message).unwrap().into()))
}

fn problem(status: u16, code: &str) -> Response<Full<Bytes>> {
    let mut response = json(&Problem { code: code.into(), ..Problem::default() });
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}
