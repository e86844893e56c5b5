//! A scripted agent: speaks the node protocol over real TLS and does nothing
//! by itself. What it says, and with which certificate, the test decides.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use contract::id::NodeId;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use protocol::{
    DriverKind, EnrollAnswer, EnrollRequest, Gpu, HealthEvent, Inventory, Outcome, PROTOCOL, PollAnswer, PollRequest,
    Problem, RefusedCounts, RenewAnswer, RenewRequest, Report, SignedTask, Task, TaskKey, paths,
};
use rcgen::{CertificateParams, KeyPair, SanType};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::Server;

/// Why the control plane did not do as asked.
#[derive(Debug)]
pub enum Refused {
    /// It said why.
    Problem { status: u16, problem: Problem },
    /// The connection ended or was never made.
    Broken(String),
}

impl Refused {
    /// The code of the problem; `broken` when there was none.
    pub fn code(&self) -> &str {
        match self {
            Refused::Problem { problem, .. } => &problem.code,
            Refused::Broken(_) => "broken",
        }
    }
}

/// A connection to the node listener.
pub struct Line(SendRequest<Full<Bytes>>);

/// What a host is known by: a PEM chain and the key of its first certificate.
pub struct Identity<'a> {
    pub chain: &'a str,
    pub key: &'a KeyPair,
}

impl Line {
    pub async fn open(address: SocketAddr, roots: &str, identity: Option<Identity<'_>>) -> Result<Line, Refused> {
        let mut trusted = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(roots.as_bytes()) {
            trusted.add(root.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
        let builder = builder.with_root_certificates(trusted);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(Identity { chain, key }) => {
                let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<_, _>>().unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        };
        let broken = |error: std::io::Error| Refused::Broken(error.to_string());
        let stream = TcpStream::connect(address).await.map_err(broken)?;
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(broken)?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|error| Refused::Broken(error.to_string()))?;
        tokio::spawn(connection);
        Ok(Line(sender))
    }

    pub async fn send<A: DeserializeOwned>(&mut self, path: &str, message: &impl Serialize) -> Result<A, Refused> {
        self.send_bytes(path, serde_json::to_vec(message).unwrap()).await
    }

    pub async fn send_bytes<A: DeserializeOwned>(&mut self, path: &str, body: Vec<u8>) -> Result<A, Refused> {
        let request = http::Request::post(path).header("host", "127.0.0.1").body(Full::from(body)).unwrap();
        let (status, _, bytes) = self.ask(request).await?;
        if status == 200 {
            return Ok(serde_json::from_slice(&bytes).unwrap());
        }
        Err(Refused::Problem { status, problem: serde_json::from_slice(&bytes).unwrap() })
    }

    pub async fn get(&mut self, path: &str) -> Result<(u16, http::HeaderMap, Bytes), Refused> {
        self.ask(http::Request::get(path).header("host", "127.0.0.1").body(Full::default()).unwrap()).await
    }

    async fn ask(&mut self, request: http::Request<Full<Bytes>>) -> Result<(u16, http::HeaderMap, Bytes), Refused> {
        let broken = |error: hyper::Error| Refused::Broken(error.to_string());
        self.0.ready().await.map_err(broken)?;
        let answer = self.0.send_request(request).await.map_err(broken)?;
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.map_err(broken)?.to_bytes();
        Ok((parts.status.as_u16(), parts.headers, bytes))
    }
}

/// A host that enrolled.
pub struct Agent {
    pub address: SocketAddr,
    pub node: NodeId,
    pub roots: String,
    pub key: KeyPair,
    pub chain: String,
    pub task_keys: Vec<TaskKey>,
    pub inventory: Inventory,
    pub generation: u64,
    pub sequence: u64,
    pub refused: RefusedCounts,
    line: Option<Line>,
}

/// A certificate signing request without any name, or with those given.
pub fn csr(key: &KeyPair, names: &[&str]) -> String {
    let mut params = CertificateParams::default();
    params.subject_alt_names = names.iter().map(|it| SanType::URI((*it).try_into().unwrap())).collect();
    params.serialize_request(key).unwrap().pem().unwrap()
}

/// A simulated host with so many GPUs, all of whose UUIDs begin with its name.
pub fn inventory(hostname: &str, gpus: u32) -> Inventory {
    let gpu = |index: u32| Gpu {
        index,
        uuid: format!("GPU-{hostname}-{index}"),
        pci: format!("0000:{index:02x}:00.0"),
        model: "NVIDIA H200".into(),
        memory_bytes: 141 << 30,
        numa: Some(index / 4),
        fabric: Some(format!("mlx5_{index}")),
        nvme: vec![format!("nvme{index}n1")],
        driver_version: Some("570.0".into()),
        ecc: Some(true),
        mig: Some(false),
    };
    Inventory {
        hostname: hostname.into(),
        machine_id: format!("machine-{hostname}"),
        os: "Debian 12".into(),
        kernel: "6.1".into(),
        agent_version: "0.1.0".into(),
        agent_target: Some("x86_64-unknown-linux-gnu".into()),
        driver: DriverKind::Sim,
        cpus: 64,
        memory_bytes: 1 << 40,
        gpus: (0..gpus).map(gpu).collect(),
        fabric_domain: None,
        wipe_script: false,
        isolates_vms: true,
    }
}

impl Agent {
    /// Enrolls with a token and a fresh key.
    pub async fn enroll(server: &Server, token: &str, inventory: Inventory) -> Result<Agent, Refused> {
        let key = KeyPair::generate().unwrap();
        let request = csr(&key, &[]);
        Agent::enroll_with(server, token, inventory, key, request).await
    }

    pub async fn enroll_with(
        server: &Server,
        token: &str,
        inventory: Inventory,
        key: KeyPair,
        csr: String,
    ) -> Result<Agent, Refused> {
        let address = server.node_address.expect("the server speaks with hosts");
        let roots = server.control_plane.fleet.ca.authority().roots_pem().to_owned();
        let mut line = Line::open(address, &roots, None).await?;
        let request = EnrollRequest {
            protocol: PROTOCOL,
            token: token.to_owned(),
            csr,
            agent_version: inventory.agent_version.clone(),
            hostname: inventory.hostname.clone(),
            inventory: inventory.clone(),
        };
        let answer: EnrollAnswer = line.send(paths::ENROLL, &request).await?;
        Ok(Agent {
            address,
            node: answer.node_id.parse().unwrap(),
            roots: answer.roots,
            key,
            chain: answer.certificate,
            task_keys: answer.task_keys,
            inventory,
            generation: 1,
            sequence: 0,
            refused: RefusedCounts::default(),
            line: None,
        })
    }

    /// A connection with the agent's certificate.
    pub async fn connect(&self) -> Result<Line, Refused> {
        let identity = Identity { chain: &self.chain, key: &self.key };
        Line::open(self.address, &self.roots, Some(identity)).await
    }

    /// The next poll as an agent that has nothing to say would send it.
    pub fn quiet(&mut self) -> PollRequest {
        self.sequence += 1;
        PollRequest {
            protocol: PROTOCOL,
            generation: self.generation,
            sequence: self.sequence,
            agent_version: self.inventory.agent_version.clone(),
            inventory_hash: self.inventory.hash(),
            inventory: None,
            health: vec![],
            samples: vec![],
            reports: vec![],
            refused: self.refused,
            wait_ms: 0,
        }
    }

    /// Sends a poll over the connection that is open, or a new one.
    pub async fn send(&mut self, request: &PollRequest) -> Result<PollAnswer, Refused> {
        let mut line = match self.line.take() {
            Some(line) => line,
            None => self.connect().await?,
        };
        let answer = line.send(paths::POLL, request).await;
        if !matches!(answer, Err(Refused::Broken(_))) {
            self.line = Some(line);
        }
        answer
    }

    pub async fn poll(&mut self) -> Result<PollAnswer, Refused> {
        let request = self.quiet();
        self.send(&request).await
    }

    /// Polls and waits for something to do.
    pub async fn wait(&mut self, wait_ms: u32) -> Result<PollAnswer, Refused> {
        let request = PollRequest { wait_ms, ..self.quiet() };
        self.send(&request).await
    }

    /// Says what the host is made of, as after a start.
    pub async fn introduce(&mut self) -> Result<PollAnswer, Refused> {
        let request = PollRequest { inventory: Some(self.inventory.clone()), ..self.quiet() };
        self.send(&request).await
    }

    pub async fn complain(&mut self, health: Vec<HealthEvent>) -> Result<PollAnswer, Refused> {
        let request = PollRequest { health, ..self.quiet() };
        self.send(&request).await
    }

    pub async fn report(&mut self, task: &Task, outcome: Outcome) -> Result<PollAnswer, Refused> {
        let report = Report {
            task: task.id,
            resource: task.resource.clone(),
            epoch: task.epoch,
            version: task.version,
            generation: self.generation,
            outcome,
        };
        let request = PollRequest { reports: vec![report], ..self.quiet() };
        self.send(&request).await
    }

    /// The tasks of an answer, each verified as an agent does.
    pub fn verified(&self, tasks: &[SignedTask]) -> Vec<Task> {
        tasks.iter().map(|it| it.verify(&self.task_keys).unwrap()).collect()
    }

    pub async fn renew(&mut self) -> Result<RenewAnswer, Refused> {
        let key = KeyPair::generate().unwrap();
        let request = RenewRequest { protocol: PROTOCOL, csr: csr(&key, &[]) };
        let answer: RenewAnswer = self.connect().await?.send(paths::RENEW, &request).await?;
        (self.key, self.chain, self.line) = (key, answer.certificate.clone(), None);
        Ok(answer)
    }

    /// As after a restart of the agent.
    pub fn restart(&mut self) {
        self.generation += 1;
        (self.sequence, self.line, self.refused) = (0, None, RefusedCounts::default());
    }

    /// Ends the connection.
    pub fn hang_up(&mut self) {
        self.line = None;
    }
}
