//! Connections to gateways: one to each of the list that came with the last poll,
//! dialled again when it breaks, and anew when the certificate was renewed.

use super::registry::Sessions;
use super::serve::{self, Ends, Server};
use crate::backoff::Backoff;
use crate::link::{Endpoint, LinkError};
use crate::workloads::Workloads;
use protocol::gateway::limits::MAX_GATEWAYS;
use protocol::stream::{ALPN, GatewayRef};
use rustls::ClientConfig;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

const CONNECT_LIMIT: Duration = Duration::from_secs(10); // bound: then the gateway is as good as down
const FAREWELL: Duration = Duration::from_secs(1); // bound: a few frames on a line that works
const STEADY: Duration = Duration::from_secs(30); // bound: a connection that lasted was no failure
/// Counted with the refusals of streams.
const WRONG_GATEWAY: &str = "wrong_gateway_certificate";
const URI: &str = "gpuaas://gateway/";

/// What should be connected to, and how.
#[derive(Clone, Default)]
pub struct DialTarget {
    pub gateways: Vec<GatewayRef>,
    /// Grows when the certificate or the roots change.
    pub generation: u64,
    pub tls: Option<Arc<ClientConfig>>,
}

/// Keeps the connections until `stop` is canceled.
pub async fn keep(
    workloads: Workloads,
    sessions: Sessions,
    mut wanted: watch::Receiver<DialTarget>,
    backoff: Backoff,
    stop: CancellationToken,
) {
    // By id and address: a gateway that moved is another one.
    let mut lines: HashMap<GatewayRef, CancellationToken> = HashMap::new();
    let (open, cut) = (TaskTracker::new(), CancellationToken::new());
    loop {
        let (list, is_ready) = {
            let wanted = wanted.borrow_and_update();
            let count = wanted.gateways.len().min(MAX_GATEWAYS);
            (wanted.gateways[..count].to_vec(), wanted.tls.is_some())
        };
        lines.retain(|gateway, drain| {
            let stays = list.contains(gateway);
            if !stays {
                drain.cancel();
            }
            stays
        });
        for gateway in list.into_iter().filter(|_| is_ready) {
            lines.entry(gateway.clone()).or_insert_with(|| {
                let drain = stop.child_token();
                let server = Server { workloads: workloads.clone(), sessions: sessions.clone(), gateway: gateway.id };
                let line = Line { server, url: gateway.url, wanted: wanted.clone(), backoff };
                open.spawn(line.hold(drain.clone(), cut.clone()));
                drain
            });
        }
        tokio::select! {
            () = stop.cancelled() => break,
            changed = wanted.changed() => if changed.is_err() { break },
        }
    }
    // What was said last is still on its way.
    open.close();
    let _ = tokio::time::timeout(FAREWELL, open.wait()).await;
    cut.cancel();
}

/// The connection to one gateway, again and again.
struct Line {
    server: Server,
    url: String,
    wanted: watch::Receiver<DialTarget>,
    backoff: Backoff,
}

impl Line {
    /// Until `drain`, when the streams that are open are served to their end, or
    /// `cut`, when nothing is.
    async fn hold(mut self, drain: CancellationToken, cut: CancellationToken) {
        let mut failures = 0;
        while !drain.is_cancelled() {
            let began = Instant::now();
            let held = tokio::select! {
                () = cut.cancelled() => return,
                held = self.connect_and_serve(&drain) => held,
            };
            // One that lasted, or that was given up for a new certificate, was no failure.
            failures = if began.elapsed() >= STEADY || held.is_ok() { 0 } else { failures + 1 };
            match held {
                Ok(()) => continue,
                Err(error) if u32::is_power_of_two(failures) => {
                    let gateway = &self.server.gateway;
                    tracing::warn!(%error, gateway, failures, "no connection to a gateway; trying again");
                }
                Err(_) => {}
            }
            tokio::select! {
                () = drain.cancelled() => return,
                () = tokio::time::sleep(self.backoff.pause(failures.max(1))) => {}
            }
        }
    }

    async fn connect_and_serve(&mut self, drain: &CancellationToken) -> Result<(), LinkError> {
        let (generation, tls) = {
            let wanted = self.wanted.borrow();
            (wanted.generation, wanted.tls.clone())
        };
        let tls = tls.ok_or_else(|| LinkError::Unreachable("this host has no certificate yet".into()))?;
        let line = dial(&self.url, &tls).await?;
        let shown = line.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        if !shown.is_some_and(|certificate| names(certificate, &self.server.gateway)) {
            self.server.sessions.count(WRONG_GATEWAY);
            let detail = format!("its certificate is not for {URI}{}", self.server.gateway);
            return Err(LinkError::Unreachable(detail));
        }
        tracing::info!(gateway = self.server.gateway, "connected to a gateway");
        let renew = CancellationToken::new();
        let ends = Ends { drain: drain.clone(), renew: renew.clone() };
        let mut wanted = self.wanted.clone();
        let renewal = async {
            if wanted.wait_for(|wanted| wanted.generation > generation).await.is_ok() {
                renew.cancel();
            }
            std::future::pending::<()>().await
        };
        let served = tokio::select! {
            served = serve::serve(self.server.clone(), line, ends) => served,
            () = renewal => Ok(()),
        };
        let is_given_up = renew.is_cancelled() || drain.is_cancelled();
        match served {
            Ok(()) if !is_given_up => Err(LinkError::Unreachable("the gateway closed the connection".into())),
            served => served.map_err(|error| LinkError::Unreachable(error.to_string())),
        }
    }
}

async fn dial(url: &str, tls: &Arc<ClientConfig>) -> Result<TlsStream<TcpStream>, LinkError> {
    let endpoint = Endpoint::parse(url)?;
    let line = tokio::time::timeout(CONNECT_LIMIT, endpoint.dial(tls)).await;
    let line = line.map_err(|_| LinkError::Silent(CONNECT_LIMIT))??;
    let (_, session) = line.get_ref();
    if session.alpn_protocol() != Some(ALPN) {
        let detail = "it does not support streams; check the gateway's address";
        return Err(LinkError::Unreachable(detail.into()));
    }
    Ok(line)
}

/// Whether a verified certificate names the gateway, and no other.
fn names(certificate: &[u8], id: &str) -> bool {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return false };
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return false };
    let mut uris = names.value.general_names.iter().filter_map(|name| match name {
        GeneralName::URI(uri) => Some(*uri),
        _ => None,
    });
    uris.next().and_then(|uri| uri.strip_prefix(URI)) == Some(id) && uris.next().is_none()
}
