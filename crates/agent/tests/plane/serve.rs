//! The plane's listener and its four answers.

use super::Shared;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use protocol::agent_binary::{AgentBinary, sha256_hex};
use protocol::{
    EnrollAnswer, EnrollRequest, PROTOCOL, PollAnswer, PollRequest, RenewAnswer, RenewRequest, SignedTask, SigningKey,
    paths,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

type Answer = Result<Response<Full<Bytes>>, Infallible>;

pub async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(shared.authority.root_der.clone())).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let verifier = verifier.allow_unauthenticated().build().unwrap();
    let (chain, key) = &shared.authority.listener;
    let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            shared.state().connections += 1;
            let node = stream.get_ref().1.peer_certificates().and_then(|chain| node_of(&chain[0]));
            let service = service_fn(move |request| answer(Arc::clone(&shared), node.clone(), request));
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn node_of(certificate: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let names = certificate.subject_alternative_name().ok()??;
    names.value.general_names.iter().find_map(|name| match name {
        GeneralName::URI(uri) => uri.strip_prefix("urn:gpuaas:node:").map(str::to_owned),
        _ => None,
    })
}

fn json(status: u16, body: &impl serde::Serialize) -> Answer {
    let body = Full::new(Bytes::from(serde_json::to_vec(body).unwrap()));
    Ok(Response::builder().status(status).body(body).unwrap())
}

fn problem(status: u16, code: &str) -> Answer {
    json(status, &serde_json::json!({"code": code, "title": code, "detail": code, "advice": "none"}))
}

async fn answer(shared: Arc<Shared>, node: Option<String>, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let path = head.uri.path();
    if path == paths::ENROLL {
        return enroll(&shared, &serde_json::from_slice(&body).unwrap());
    }
    let Some(node) = node else {
        return problem(401, "no_certificate");
    };
    if head.method == Method::GET {
        return binary(&shared, path);
    }
    if path == paths::RENEW {
        return renew(&shared, &node, &serde_json::from_slice(&body).unwrap());
    }
    match serde_json::from_slice::<PollRequest>(&body) {
        Ok(request) => poll(&shared, &node, request).await,
        Err(_) => problem(400, "malformed"),
    }
}

fn enroll(shared: &Shared, request: &EnrollRequest) -> Answer {
    let mut state = shared.state();
    if !state.tokens.remove(&request.token) {
        return problem(403, "bad_token");
    }
    state.nodes += 1;
    let node_id = format!("node-{}", request.hostname);
    let certificate = shared.authority.certify(&request.csr, &node_id, state.now, state.certificate_life);
    let roots = shared.authority.roots.clone();
    let (epoch, now, task_keys) = (state.epoch, state.now, shared.keys.clone());
    let trust_version = state.trust_version;
    json(200, &EnrollAnswer { protocol: PROTOCOL, node_id, certificate, roots, task_keys, trust_version, epoch, now })
}

fn renew(shared: &Shared, node: &str, request: &RenewRequest) -> Answer {
    let mut state = shared.state();
    state.renewals += 1;
    state.asks_renewal = false;
    if matches!(state.problem, Some((_, protocol::codes::CERTIFICATE_EXPIRED))) {
        state.problem = None;
    }
    let certificate = shared.authority.certify(&request.csr, node, state.now, state.certificate_life);
    let roots = shared.authority.roots.clone();
    let (epoch, now, task_keys) = (state.epoch, state.now, shared.keys.clone());
    let (trust_version, endorsements) = (state.trust_version, Vec::new());
    let answer =
        RenewAnswer { protocol: PROTOCOL, certificate, roots, task_keys, trust_version, endorsements, epoch, now };
    json(200, &answer)
}

fn binary(shared: &Shared, path: &str) -> Answer {
    let state = shared.state();
    let Some(bytes) = state.agents.get(path) else {
        return problem(404, "no_such_agent");
    };
    let mut parts = path.rsplit('/');
    let (target, version) = (parts.next().unwrap(), parts.next().unwrap());
    let sha256 = sha256_hex(bytes);
    let key = SigningKey::from_seed(&[9; 32]).unwrap();
    let signature = AgentBinary { version, target, sha256: &sha256 }.sign(&key);
    let answer = Response::builder().header(paths::SHA256_HEADER, &sha256).header(paths::SIGNATURE_HEADER, signature);
    Ok(answer.body(Full::new(bytes.clone().into())).unwrap())
}

async fn poll(shared: &Shared, node: &str, request: PollRequest) -> Answer {
    let deadline = tokio::time::Instant::now() + Duration::from_millis(request.wait_ms.into());
    if let Some((status, code)) = shared.state().problem {
        return problem(StatusCode::from_u16(status).unwrap().as_u16(), code);
    }
    let mut accepted = Vec::new();
    {
        let mut state = shared.state();
        if state.keeps_reports {
            for report in &request.reports {
                accepted.push(report.task);
                state.tasks.entry(node.to_owned()).or_default().retain(|task| task.id != report.task);
                state.reports.push(report.clone());
            }
        }
    }
    let is_news = !request.reports.is_empty() || request.inventory.is_some() || !request.health.is_empty();
    shared.state().polls.push((node.to_owned(), request));
    loop {
        let woken = shared.wake.notified();
        let tasks = tasks_of(shared, node);
        let left = deadline.saturating_duration_since(tokio::time::Instant::now());
        let asks = shared.state().asks_renewal;
        if is_news || asks || !tasks.is_empty() || left.is_zero() {
            let mut state = shared.state();
            let answer = PollAnswer {
                protocol: PROTOCOL,
                now: state.now,
                epoch: state.epoch,
                tasks,
                accepted,
                want_inventory: std::mem::take(&mut state.wants_inventory),
                task_keys: state.new_keys.clone(),
                roots: None,
                trust_version: state.trust_version,
                endorsements: state.endorsements.clone(),
                renew: asks,
                retry_after_ms: 0,
                gateways: state.gateways.clone(),
            };
            return json(200, &answer);
        }
        let _ = tokio::time::timeout(left, woken).await;
    }
}

fn tasks_of(shared: &Shared, node: &str) -> Vec<SignedTask> {
    let key = SigningKey::from_seed(&[9; 32]).unwrap();
    let mut state = shared.state();
    let waiting = state.tasks.get(node).cloned().unwrap_or_default();
    let signed = waiting.iter().map(|task| SignedTask::sign(task, &key).unwrap());
    let signed: Vec<SignedTask> = signed.chain(state.raw.clone()).collect();
    state.raw.clear();
    signed
}
