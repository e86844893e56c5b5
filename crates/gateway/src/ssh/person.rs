//! Somebody at the other end: how they log in, and what they ask for on their
//! channels. What each channel then carries is the business of a task of its own.

use super::feed::{Event, Feed, Feeder, Gate, feed};
use super::reel::Reel;
use super::wishes::{is_login, is_modern, is_own, name_of, size};
use super::write::Writer;
use super::{closing, framed, may_open, raw};
use crate::Gateway;
use crate::control::ControlError;
use crate::public::refused;
use crate::sessions::{Session, Surface};
use bytes::Bytes;
use protocol::PROTOCOL;
use protocol::gateway::{SshRequest, refusals};
use protocol::stream::{Environment, Kind, Signal, Size};
use russh::keys::{Certificate, HashAlg};
use russh::server::{Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Session as Line, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelOpenFailure, ChannelWriteHalf, Disconnect, Pty, Sig};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::watch;

const MOST_CHANNELS: usize = 64; // bound: shells and connections of one client at once
const MOST_COMMAND: usize = 4 * 1024; // bound: a grant with it fits into a header
const MOST_REASON: usize = 64; // bound: a word that the control plane counts under
/// Reasons as the control plane has them.
const UNKNOWN_KEY: &str = "ssh_unknown_key";
const BAD_KEY: &str = "ssh_bad_key";
const MOST_TERM: usize = 64; // bound: names of terminals are short

pub struct Person {
    gateway: Arc<Gateway>,
    address: IpAddr,
    gate: Arc<Gate>,
    login: watch::Sender<Option<Arc<Session>>>,
    session: Option<Arc<Session>>,
    channels: HashMap<ChannelId, ChannelState>,
    reel: Reel,
    /// Why a key of theirs was refused.
    refusal: Option<String>,
    /// What somebody who may come in is told instead.
    turned_away: Option<String>,
}

/// Where a channel stands.
enum ChannelState {
    /// Open, and not yet said what for.
    Waiting {
        half: ChannelWriteHalf<Msg>,
        terminal: Option<Terminal>,
        environment: Environment,
    },
    Running(Feeder),
}

struct Terminal {
    size: Size,
    term: String,
}

/// Ends the connection.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error(transparent)]
    Ssh(#[from] russh::Error),
    #[error("the control plane could not be asked")]
    Control(#[source] ControlError),
}

impl Person {
    pub fn new(
        gateway: Arc<Gateway>,
        address: IpAddr,
        gate: Arc<Gate>,
        login: watch::Sender<Option<Arc<Session>>>,
    ) -> Self {
        Self {
            gateway,
            address,
            gate,
            login,
            session: None,
            channels: HashMap::new(),
            reel: Reel::default(),
            refusal: None,
            turned_away: None,
        }
    }

    /// Asks whose key it is, now that it was proven. Whatever is wrong, the client
    /// hears the same. A registered key has a fingerprint, a certificate none.
    async fn sign_in(&mut self, login: &str, key: String, fingerprint: Option<String>) -> Result<Auth, Broken> {
        let address = self.address.to_string();
        let request = SshRequest { protocol: PROTOCOL, login: login.to_owned(), key, is_proven: true, address };
        match self.gateway.control.ssh(&request).await {
            Ok(answer) => {
                let session = Session::begin(&self.gateway, Surface::Ssh, &answer);
                if let Some(fingerprint) = fingerprint {
                    session.entered_with(fingerprint);
                }
                self.login.send_replace(Some(session.clone()));
                self.session = Some(session);
                Ok(Auth::Accept)
            }
            Err(ControlError::Refused { problem, .. }) if problem.code == refusals::NO_RANK => {
                self.refusal = None;
                self.turned_away = Some(closing::of_problem(&problem));
                // The only way to tell a client something is to let it in first.
                Ok(Auth::Accept)
            }
            Err(error) if error.is_refusal() => {
                tracing::info!(address = %self.address, %error, "an SSH client was refused");
                self.refuse(reason(&error));
                Ok(Auth::reject())
            }
            Err(error) => {
                tracing::warn!(%error, "the control plane could not be asked about an SSH client");
                refused("ssh_control_away");
                Err(Broken::Control(error))
            }
        }
    }

    /// That a key is unknown says least: people have others for other places.
    fn refuse(&mut self, reason: String) {
        if reason != UNKNOWN_KEY || self.refusal.is_none() {
            self.refusal = Some(reason);
        }
    }

    /// Makes room by forgetting channels that have ended; false when there is none.
    fn has_room(&mut self) -> bool {
        self.channels.retain(|_, place| !matches!(place, ChannelState::Running(feeder) if feeder.is_over()));
        self.channels.len() < MOST_CHANNELS
    }

    fn put(&mut self, channel: ChannelId, event: Event) {
        if let Some(ChannelState::Running(feeder)) = self.channels.get_mut(&channel) {
            feeder.put(event);
        }
    }

    /// Takes a channel that says now what it is for.
    fn begin(&mut self, channel: ChannelId, line: &mut Line) -> Result<Option<ChannelContext>, Broken> {
        let session = self.session.clone();
        let (Some(session), Some(ChannelState::Waiting { .. })) = (session, self.channels.get(&channel)) else {
            line.channel_failure(channel)?;
            return Ok(None);
        };
        let (feeder, feed) = feed(&self.gate);
        let waited = self.channels.insert(channel, ChannelState::Running(feeder));
        let Some(ChannelState::Waiting { half, terminal, environment }) = waited else { return Ok(None) };
        line.channel_success(channel)?;
        Ok(Some(ChannelContext { session, writer: Writer::new(half, line.handle()), feed, terminal, environment }))
    }
}

/// Who has several keys, or a certificate beside one, is refused before they get in:
/// only those who never do are counted.
impl Drop for Person {
    fn drop(&mut self) {
        if let (Some(reason), None) = (self.refusal.take(), &self.session) {
            self.gateway.failures.count(self.address);
            refused("ssh_key");
            metrics::counter!("gpuaas_access_refused_total", "reason" => reason).increment(1);
        }
    }
}

/// What a channel's task needs.
struct ChannelContext {
    session: Arc<Session>,
    writer: Writer,
    feed: Feed,
    terminal: Option<Terminal>,
    environment: Environment,
}

impl ChannelContext {
    /// A command, or a shell when there is none.
    fn run(self, gateway: &Arc<Gateway>, reel: &Reel, command: Option<String>) {
        let kind = match (self.terminal, command) {
            (Some(Terminal { size, term }), command) => {
                Kind::Terminal { size, term, command, resume: false, from: None, recorded: None, watch: false }
            }
            (None, Some(command)) => Kind::Exec { command },
            // A shell that reads commands from a pipe.
            (None, None) => Kind::Exec { command: "exec \"$SHELL\" -l".into() },
        };
        let Self { session, writer, feed, environment, .. } = self;
        let (gateway, reel) = (gateway.clone(), reel.clone());
        tokio::spawn(framed::run(framed::Job { gateway, session, kind, environment, writer, feed, reel }));
    }
}

impl Handler for Person {
    type Error = Broken;

    /// Whether a key is known is told only to those who hold it. A certificate
    /// looks like a key that nobody knows, too, until it was proven.
    async fn auth_publickey_offered(&mut self, user: &str, offer: PublicKeyOffer<'_>) -> Result<Auth, Broken> {
        let is_fit = is_login(user) && is_modern(offer.algorithm) && self.gateway.failures.may_try(self.address);
        if is_fit {
            return Ok(Auth::Accept);
        }
        self.refuse(BAD_KEY.to_owned());
        Ok(Auth::reject())
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Broken> {
        let fingerprint = key.public_key.fingerprint(HashAlg::Sha256).to_string();
        match key.public_key.to_openssh() {
            Ok(line) => self.sign_in(user, line, Some(fingerprint)).await,
            Err(_) => {
                self.refuse(BAD_KEY.to_owned());
                Ok(Auth::reject())
            }
        }
    }

    async fn auth_openssh_certificate(&mut self, user: &str, certificate: &Certificate) -> Result<Auth, Broken> {
        match certificate.to_openssh() {
            Ok(line) => self.sign_in(user, line, None).await,
            Err(_) => {
                self.refuse(BAD_KEY.to_owned());
                Ok(Auth::reject())
            }
        }
    }

    async fn auth_succeeded(&mut self, line: &mut Line) -> Result<(), Broken> {
        if let Some(why) = &self.turned_away {
            line.disconnect(Disconnect::ByApplication, &format!("gpuaas: {why}"), "")?;
        }
        Ok(())
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Line,
    ) -> Result<(), Broken> {
        if !self.has_room() {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        let id = channel.id();
        // What comes is taken from the calls below; the library must not keep it too.
        let (_, half) = channel.split();
        self.channels.insert(id, ChannelState::Waiting { half, terminal: None, environment: Environment::default() });
        reply.accept().await;
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _: &str,
        _: u32,
        reply: ChannelOpenHandle,
        line: &mut Line,
    ) -> Result<(), Broken> {
        let Some(session) = self.session.clone() else { return Ok(()) };
        if !self.has_room() {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        let port = match u16::try_from(port) {
            Ok(port) if port > 0 && is_own(host) => port,
            _ => {
                let why =
                    format!("only ports of the allocation itself can be forwarded: use localhost, not {host}:{port}");
                reply.reject(closing::prohibited(why)).await;
                return Ok(());
            }
        };
        let kind = Kind::Tcp { port };
        if !may_open(&session, &kind) {
            refused("ssh_not_recordable");
            reply.reject(closing::prohibited(closing::not_allowed(kind.name()))).await;
            return Ok(());
        }
        let (feeder, feed) = feed(&self.gate);
        self.channels.insert(channel.id(), ChannelState::Running(feeder));
        let (_, half) = channel.split();
        let writer = Writer::new(half, line.handle());
        tokio::spawn(async move {
            match session.open(kind).await {
                Ok((stream, _)) => {
                    reply.accept().await;
                    raw::port(session, stream, writer, feed).await;
                }
                Err(error) => reply.reject(closing::as_failure(&error)).await,
            }
        });
        Ok(())
    }

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        term: &str,
        columns: u32,
        rows: u32,
        _: u32,
        _: u32,
        _: &[(Pty, u32)],
        line: &mut Line,
    ) -> Result<(), Broken> {
        match self.channels.get_mut(&channel) {
            Some(ChannelState::Waiting { terminal, .. }) if term.len() <= MOST_TERM => {
                *terminal = Some(Terminal { size: size(columns, rows), term: term.to_owned() });
                line.channel_success(channel)?;
            }
            _ => line.channel_failure(channel)?,
        }
        Ok(())
    }

    async fn window_change_request(
        &mut self,
        channel: ChannelId,
        columns: u32,
        rows: u32,
        _: u32,
        _: u32,
        _: &mut Line,
    ) -> Result<(), Broken> {
        self.put(channel, Event::Resize(size(columns, rows)));
        Ok(())
    }

    async fn shell_request(&mut self, channel: ChannelId, line: &mut Line) -> Result<(), Broken> {
        if let Some(begun) = self.begin(channel, line)? {
            begun.run(&self.gateway, &self.reel, None);
        }
        Ok(())
    }

    async fn exec_request(&mut self, channel: ChannelId, data: &[u8], line: &mut Line) -> Result<(), Broken> {
        let command = String::from_utf8(data.to_vec()).ok().filter(|it| !it.contains('\0'));
        let Some(begun) = self.begin(channel, line)? else { return Ok(()) };
        match command {
            Some(command) if command.len() <= MOST_COMMAND => begun.run(&self.gateway, &self.reel, Some(command)),
            _ => {
                tokio::spawn(async move {
                    let why = format!(
                        "a command may have at most {MOST_COMMAND} bytes of text; send longer ones as input of `sh`"
                    );
                    begun.writer.tell(&begun.session, &why).await;
                    begun.writer.close().await;
                });
            }
        }
        Ok(())
    }

    async fn subsystem_request(&mut self, channel: ChannelId, name: &str, line: &mut Line) -> Result<(), Broken> {
        if name != "sftp" {
            line.channel_failure(channel)?;
            return Ok(());
        }
        if let Some(begun) = self.begin(channel, line)? {
            tokio::spawn(raw::files(begun.session, begun.writer, begun.feed));
        }
        Ok(())
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        value: &str,
        line: &mut Line,
    ) -> Result<(), Broken> {
        let is_set = match self.channels.get_mut(&channel) {
            Some(ChannelState::Waiting { environment, .. }) => environment.set(name, value),
            _ => false,
        };
        if is_set {
            line.channel_success(channel)?
        } else {
            line.channel_failure(channel)?
        }
        Ok(())
    }

    async fn x11_request(
        &mut self,
        channel: ChannelId,
        _: bool,
        _: &str,
        _: &str,
        _: u32,
        line: &mut Line,
    ) -> Result<(), Broken> {
        Ok(line.channel_failure(channel)?)
    }

    async fn signal(&mut self, channel: ChannelId, signal: Sig, _: &mut Line) -> Result<(), Broken> {
        if let Some(signal) = Signal::named(name_of(&signal)) {
            self.put(channel, Event::Signal(signal));
        }
        Ok(())
    }

    async fn data(&mut self, channel: ChannelId, data: &[u8], _: &mut Line) -> Result<(), Broken> {
        self.put(channel, Event::Data(Bytes::copy_from_slice(data)));
        Ok(())
    }

    async fn channel_eof(&mut self, channel: ChannelId, _: &mut Line) -> Result<(), Broken> {
        self.put(channel, Event::End);
        Ok(())
    }

    async fn channel_close(&mut self, channel: ChannelId, _: &mut Line) -> Result<(), Broken> {
        self.channels.remove(&channel);
        Ok(())
    }
}

/// Why the control plane refuses a key, in the word under which it is counted.
fn reason(error: &ControlError) -> String {
    let is_word =
        |it: &str| (1..=MOST_REASON).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
    match error {
        ControlError::Refused { problem, .. } if problem.code == refusals::SSH_KEY && is_word(&problem.detail) => {
            problem.detail.clone()
        }
        _ => "ssh_refused".to_owned(),
    }
}
