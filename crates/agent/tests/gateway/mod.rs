//! A scripted gateway: real TLS, the HTTP/2 client on a connection that the agent
//! dialled, grants signed with the plane's key, and streams typed into by hand.
#![allow(dead_code, clippy::unwrap_used)]

use super::plane::{Plane, eventually};
use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use http::Request;
use jiff::{SignedDuration, Timestamp};
use protocol::stream::{
    ALPN, Closing, ENVIRONMENT_HEADER, Frame, GRANT_HEADER, GatewayRef, Grant, Kind, Limits, PATH, SignedGrant, Size,
};
use protocol::{Problem, Shape, WorkloadRef};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use uuid::Uuid;

const PATIENCE: Duration = Duration::from_secs(120);

pub struct Gateway {
    pub id: String,
    pub url: String,
    lines: Arc<Mutex<Vec<Line>>>,
    accepted: Arc<AtomicUsize>,
    served: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

/// A connection of an agent.
struct Line {
    sender: SendRequest<Bytes>,
    driving: JoinHandle<()>,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

impl Gateway {
    pub async fn start(plane: &Plane, id: &str) -> Self {
        Self::start_as(plane, id, id, "127.0.0.1:0").await
    }

    /// Listens with the certificate of another name, if so wished.
    pub async fn start_as(plane: &Plane, id: &str, named: &str, address: &str) -> Self {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(plane.authority.root_der.clone())).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let (chain, key) = plane.authority.gateway(named);
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = vec![ALPN.to_vec()];
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (accepted, served) = (Arc::default(), Arc::default());
        let counts = (Arc::clone(&accepted), Arc::clone(&served));
        let accepting = tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), Arc::clone(&lines), counts));
        Self { id: id.to_owned(), url, lines, accepted, served, accepting }
    }

    pub fn entry(&self) -> GatewayRef {
        GatewayRef { id: self.id.clone(), url: self.url.clone() }
    }

    /// How many connections there have been.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// On how many of them the agent served anything.
    pub fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        let mut lines = self.lines.lock().unwrap();
        lines.retain(|line| !line.driving.is_finished());
        lines.len()
    }

    pub async fn connected(&self) {
        eventually("a connection of the agent", || (self.connections() > 0).then_some(())).await;
    }

    /// Breaks every connection, as a gateway that is killed.
    pub fn cut(&self) {
        for line in self.lines.lock().unwrap().drain(..) {
            line.driving.abort();
        }
    }

    fn sender(&self) -> SendRequest<Bytes> {
        self.lines.lock().unwrap().last().expect("the agent is connected").sender.clone()
    }

    /// Opens a stream with whatever is in the header.
    pub async fn open_with(&self, header: Option<&str>) -> Result<Stream, (u16, Problem)> {
        self.ask(header.map(|header| (GRANT_HEADER, header)).as_slice()).await
    }

    async fn ask(&self, headers: &[(&str, &str)]) -> Result<Stream, (u16, Problem)> {
        let mut sender = self.sender().ready().await.unwrap();
        let mut request = Request::post(format!("https://agent{PATH}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (answer, to_host) = sender.send_request(request.body(()).unwrap(), false).unwrap();
        let answer = tokio::time::timeout(PATIENCE, answer).await.expect("an answer").unwrap();
        let status = answer.status().as_u16();
        let from_host = answer.into_body();
        let mut stream = Stream { to_host, from_host, buffer: BytesMut::new(), acknowledges: true, seen: 0 };
        if status == 200 {
            return Ok(stream);
        }
        let mut body = Vec::new();
        while let Some(bytes) = stream.raw().await {
            body.extend(bytes);
        }
        Err((status, serde_json::from_slice(&body).unwrap()))
    }

    pub async fn open(&self, plane: &Plane, grant: &Grant) -> Result<Stream, (u16, Problem)> {
        let signed = SignedGrant::sign(grant, &plane.key).unwrap();
        self.open_with(Some(&signed.to_header())).await
    }

    /// With this in the header of the client's environment.
    pub async fn open_in(&self, plane: &Plane, grant: &Grant, environment: &str) -> Result<Stream, (u16, Problem)> {
        let grant = SignedGrant::sign(grant, &plane.key).unwrap().to_header();
        self.ask(&[(GRANT_HEADER, &grant), (ENVIRONMENT_HEADER, environment)]).await
    }

    pub fn grant(&self, plane: &Plane, node: &str, kind: Kind) -> Grant {
        let (now, epoch) = (Timestamp::now(), plane.state().epoch);
        let limits =
            Limits { until: now + SignedDuration::from_hours(1), grace_seconds: 60, idle_seconds: 0, sessions: 32 };
        Grant {
            protocol: Grant::PROTOCOL,
            id: Uuid::now_v7(),
            node: node.to_owned(),
            gateway: self.id.clone(),
            epoch,
            allocation: "allocation-1".into(),
            workload: WorkloadRef::login(Shape::GpuSlice, "u"),
            session: Uuid::now_v7(),
            kind,
            limits,
            issued_at: now,
            expires_at: now + SignedDuration::from_secs(30),
        }
    }
}

type Count = Arc<AtomicUsize>;

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, lines: Arc<Mutex<Vec<Line>>>, counts: (Count, Count)) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let (acceptor, lines, (accepted, served)) = (acceptor.clone(), Arc::clone(&lines), counts.clone());
        tokio::spawn(async move {
            socket.set_nodelay(true).unwrap();
            let Ok(socket) = acceptor.accept(socket).await else { return };
            accepted.fetch_add(1, Ordering::SeqCst);
            let mut builder = h2::client::Builder::new();
            builder.initial_window_size(1 << 20).initial_connection_window_size(64 << 20).max_frame_size(1 << 17);
            let Ok((sender, mut connection)) = builder.handshake::<_, Bytes>(socket).await else { return };
            let mut pings = connection.ping_pong().unwrap();
            tokio::spawn(async move {
                if pings.ping(h2::Ping::opaque()).await.is_ok() {
                    served.fetch_add(1, Ordering::SeqCst);
                }
            });
            let driving = tokio::spawn(async move {
                let _ = connection.await;
            });
            lines.lock().unwrap().push(Line { sender, driving });
        });
    }
}

pub fn shell() -> Kind {
    Kind::Terminal {
        size: Size { columns: 80, rows: 24 },
        term: "xterm-256color".into(),
        command: None,
        resume: false,
        from: None,
        recorded: None,
        watch: false,
    }
}

pub fn run(line: &str) -> Kind {
    match shell() {
        Kind::Terminal { size, term, resume, from, recorded, watch, .. } => {
            Kind::Terminal { size, term, command: Some(line.to_owned()), resume, from, recorded, watch }
        }
        other => other,
    }
}

/// The same session again, from an offset or by its screen.
pub fn again(grant: &Grant, offset: Option<u64>, looks_on: bool) -> Grant {
    let mut grant = Grant { id: Uuid::now_v7(), issued_at: Timestamp::now(), ..grant.clone() };
    grant.expires_at = grant.issued_at + SignedDuration::from_secs(30);
    if let Kind::Terminal { resume, from, watch, .. } = &mut grant.kind {
        (*resume, *from, *watch) = (true, offset, looks_on);
    }
    grant
}

pub struct Stream {
    to_host: SendStream<Bytes>,
    from_host: RecvStream,
    buffer: BytesMut,
    pub acknowledges: bool,
    /// The offset after the last output that was seen.
    pub seen: u64,
}

impl Stream {
    /// The next bytes; none at the end, also when the line broke.
    pub async fn raw(&mut self) -> Option<Bytes> {
        loop {
            let bytes = tokio::time::timeout(PATIENCE, self.from_host.data()).await.expect("bytes or an end")?.ok()?;
            let _ = self.from_host.flow_control().release_capacity(bytes.len());
            if !bytes.is_empty() {
                return Some(bytes);
            }
        }
    }

    pub async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = Frame::take(&mut self.buffer).unwrap() {
                if let Frame::Output(offset, bytes) = &frame {
                    self.seen = offset + bytes.len() as u64;
                    if self.acknowledges {
                        self.send(&Frame::Ack(self.seen));
                    }
                }
                return Some(frame);
            }
            let bytes = self.raw().await?;
            self.buffer.extend_from_slice(&bytes);
        }
    }

    pub fn send(&mut self, frame: &Frame) {
        self.send_raw(frame.to_bytes());
    }

    pub fn send_raw(&mut self, bytes: Bytes) {
        self.to_host.reserve_capacity(bytes.len());
        let _ = self.to_host.send_data(bytes, false);
    }

    pub fn finish(&mut self) {
        let _ = self.to_host.send_data(Bytes::new(), true);
    }

    pub fn typed(&mut self, text: &str) {
        self.send(&Frame::Input(Bytes::copy_from_slice(text.as_bytes())));
    }

    /// Reads output until it contains the text, and gives all of it.
    pub async fn until(&mut self, text: &str) -> String {
        let mut all = Vec::new();
        while let Some(frame) = self.frame().await {
            match frame {
                Frame::Output(_, bytes) | Frame::Screen(_, bytes) | Frame::ErrorOutput(bytes) => all.extend(bytes),
                Frame::Exit(_) | Frame::Close(_) => {
                    panic!("{frame:?} before {text:?}; {}", String::from_utf8_lossy(&all))
                }
                _ => {}
            }
            if String::from_utf8_lossy(&all).contains(text) {
                return String::from_utf8_lossy(&all).into_owned();
            }
        }
        panic!("the stream ended before {text:?}; {}", String::from_utf8_lossy(&all));
    }

    /// The next screen; who left just before may have been told of.
    pub async fn screen(&mut self) -> (u64, Bytes) {
        loop {
            match self.frame().await {
                Some(Frame::Screen(offset, bytes)) => return (offset, bytes),
                Some(Frame::Notice(_)) => {}
                other => panic!("no screen but {other:?}"),
            }
        }
    }

    /// Everything up to the last frame, and that frame.
    pub async fn rest(&mut self) -> (Vec<u8>, Option<Frame>) {
        let mut all = Vec::new();
        while let Some(frame) = self.frame().await {
            match frame {
                Frame::Output(_, bytes) => all.extend(bytes),
                Frame::Exit(_) | Frame::Close(_) => return (all, Some(frame)),
                _ => {}
            }
        }
        (all, None)
    }

    pub async fn closed_with(&mut self) -> Closing {
        match self.rest().await.1 {
            Some(Frame::Close(closing)) => closing,
            other => panic!("it ended with {other:?}"),
        }
    }
}
