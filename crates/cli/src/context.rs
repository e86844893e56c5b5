//! What every command works with: where to, as whom, and how to print. Calls
//! go through here, so a session is renewed in one place.

use std::cell::{OnceCell, RefCell};

use client::{Client, ClientError, Conversation, Credential, List, Request};
use contract::{
    Channel, Code, Endpoint, Nothing, Raw, SecretText, Timestamp,
    mfa::{FinishStepUp, StartStepUp},
};
use serde_json::Value;

use crate::{
    arguments::{Flags, Once, Paging},
    config::{ConfigFile, StoredSession},
    exact::{Exact, ExactList},
    failure::{Class, Done, Failure},
    output::{Format, Output},
    prompt, second_factor, session,
    settings::{self, CredentialSource, Environment, Settings},
    table::Columns,
};

pub struct Context {
    pub flags: Flags,
    pub output: Output,
    settings: OnceCell<Settings>,
    session: RefCell<Option<StoredSession>>,
}

/// The most that is read to find something by name.
const NAMES_READ: usize = 10_000;

impl Context {
    pub fn new(flags: Flags) -> Self {
        let output = Output { format: flags.output.unwrap_or(Format::Table), quiet: flags.quiet };
        Self { flags, output, settings: OnceCell::new(), session: RefCell::new(None) }
    }

    pub fn config_file(&self) -> Result<ConfigFile, Failure> {
        ConfigFile::locate()
    }

    /// Read when first needed, so that `completion` works beside a broken file.
    pub fn settings(&self) -> Result<&Settings, Failure> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let config = self.config_file()?.read()?;
        settings::check_context(&self.flags, &config)?;
        Ok(self.settings.get_or_init(|| settings::resolve(&self.flags, &Environment::read(), &config)))
    }

    /// A client without a credential, for signing in and up.
    pub fn stranger(&self) -> Result<Client, Failure> {
        let Some(url) = &self.settings()?.url else {
            return Err(Failure::usage(
                "no server is set",
                "Run `gpuaas login --url https://gpu.example.com`, or set GPUAAS_URL.",
            ));
        };
        Ok(Client::new(&url.value, Credential::none())?)
    }

    /// Refuses where no server or no credential is known, without asking anybody.
    pub fn check_signed_in(&self) -> Done {
        self.stranger()?;
        match &self.settings()?.credential {
            CredentialSource::Nothing => Err(session::signed_out()),
            CredentialSource::Token(_) | CredentialSource::Session(_) => Ok(()),
        }
    }

    /// Asks something that takes no body.
    pub async fn ask<E>(&self, path: E::Path) -> Result<Value, Failure>
    where
        E: Endpoint<Query = Nothing, Body = Nothing>,
    {
        self.send_request(&Request::<Exact<E>>::new(path, Nothing {}, Nothing {})).await
    }

    /// Asks something that takes a query and no body.
    pub async fn query<E>(&self, path: E::Path, query: E::Query) -> Result<Value, Failure>
    where
        E: Endpoint<Body = Nothing>,
    {
        self.send_request(&Request::<Exact<E>>::new(path, query, Nothing {})).await
    }

    /// Asks for a document.
    pub async fn download<E>(&self, path: E::Path) -> Result<Raw, Failure>
    where
        E: Endpoint<Query = Nothing, Body = Nothing, Response = Raw>,
    {
        self.send_request(&Request::<E>::new(path, Nothing {}, Nothing {})).await
    }

    /// Sends a body.
    pub async fn send<E: Endpoint<Query = Nothing>>(&self, path: E::Path, body: E::Body) -> Result<Value, Failure> {
        self.send_request(&Request::<Exact<E>>::new(path, Nothing {}, body)).await
    }

    /// Sends a body whose effect the caller's own key limits to one.
    pub async fn create<E>(&self, once: &Once, path: E::Path, body: E::Body) -> Result<Value, Failure>
    where
        E: Endpoint<Query = Nothing>,
    {
        let mut request = Request::<Exact<E>>::new(path, Nothing {}, body);
        if let Some(key) = &once.idempotency_key {
            request = request.with_key(key);
        }
        self.send_request(&request).await
    }

    pub async fn send_request<E: Endpoint>(&self, request: &Request<E>) -> Result<E::Response, Failure> {
        self.signed_in(async |client: &Client| client.send(request).await).await
    }

    /// Prints a list as far as `paging` goes, and says when there is more.
    pub async fn list<E>(&self, path: E::Path, query: E::Query, paging: Paging, columns: Columns) -> Done
    where
        E: Endpoint<Path: Clone, Query: Clone, Body = Nothing>,
    {
        let most = paging.rows();
        let read = async |client: &Client| {
            let mut pages = client.pages::<ExactList<E>>(path.clone(), query.clone());
            let mut items = Vec::new();
            while items.len() <= most {
                match pages.next().await? {
                    Some(page) => items.extend(page),
                    None => break,
                }
            }
            Ok(items)
        };
        let mut items = self.signed_in(read).await?;
        if items.len() > most {
            items.truncate(most);
            self.output.warn(format!("Showing the first {most}. Use --limit to see more."));
        }
        self.output.list(items, columns)
    }

    /// Every item of a list, for finding one of them.
    pub async fn all<E>(&self, path: E::Path, query: E::Query) -> Result<Vec<E::Item>, Failure>
    where
        E: List<Query: Clone>,
    {
        self.newest::<E>(path, query, NAMES_READ, |_| true).await
    }

    /// Items of a list from its start, up to `most` or to the first that is not wanted.
    pub async fn newest<E>(
        &self,
        path: E::Path,
        query: E::Query,
        most: usize,
        wanted: impl Fn(&E::Item) -> bool,
    ) -> Result<Vec<E::Item>, Failure>
    where
        E: List<Query: Clone>,
    {
        let read = async |client: &Client| {
            let mut pages = client.pages::<E>(path.clone(), query.clone());
            let mut items = Vec::new();
            while items.len() < most && items.last().is_none_or(&wanted) {
                match pages.next().await? {
                    Some(page) => items.extend(page),
                    None => break,
                }
            }
            Ok(items)
        };
        let mut items = self.signed_in(read).await?;
        items.truncate(most);
        items.retain(|it| wanted(it));
        Ok(items)
    }

    pub async fn open<C>(&self, path: C::Path, query: C::Query) -> Result<Conversation<C>, Failure>
    where
        C: Channel<Path: Clone, Query: Clone>,
    {
        self.signed_in(async |client: &Client| client.open::<C>(path.clone(), query.clone()).await).await
    }

    /// Calls with the credential there is; where that needs the second factor
    /// again, asks for it and calls once more.
    async fn signed_in<T>(&self, call: impl AsyncFn(&Client) -> Result<T, ClientError>) -> Result<T, Failure> {
        match self.with_credential(&call).await {
            Err(failure) if failure.is(Code::StepUpRequired) && self.can_step_up() => {
                self.output.warn("Confirm your second factor to continue.");
                self.step_up(None).await?;
                self.with_credential(&call).await
            }
            other => other,
        }
    }

    /// Confirms the second factor in the session there is.
    pub async fn step_up(&self, code: Option<&SecretText>) -> Result<Value, Failure> {
        let ask = async |client: &Client| client.call::<StartStepUp>(Nothing {}, Nothing {}, Nothing {}).await;
        let challenge = self.with_credential(&ask).await?;
        let answer = second_factor::answer(&challenge, code).await?;
        let request = Request::<Exact<FinishStepUp>>::new(Nothing {}, Nothing {}, answer);
        self.with_credential(&async |client: &Client| client.send(&request).await).await
    }

    /// Whether there is somebody to ask, and a session to confirm it in.
    fn can_step_up(&self) -> bool {
        let has_session = self.settings().is_ok_and(|it| matches!(it.credential, CredentialSource::Session(_)));
        has_session && prompt::is_possible()
    }

    /// Calls with the credential there is, renewing a session that has ended.
    async fn with_credential<T>(&self, call: &impl AsyncFn(&Client) -> Result<T, ClientError>) -> Result<T, Failure> {
        let client = self.stranger()?;
        let settings = self.settings()?;
        let session = match &settings.credential {
            CredentialSource::Token(token) => {
                let client = client.with_credential(Credential::bearer(token.expose()));
                return call(&client).await.map_err(refused);
            }
            CredentialSource::Session(session) => self.session.borrow().clone().unwrap_or_else(|| session.clone()),
            CredentialSource::Nothing => return Err(session::signed_out()),
        };
        if session::is_fresh(&session, Timestamp::now()) {
            match call(&client.with_credential(bearer(&session))).await {
                // Its clock may differ from ours, or the token was revoked.
                Err(error) if error.is(Code::Unauthenticated) => (),
                other => return other.map_err(refused),
            }
        }
        let renewed = session::renew(&self.config_file()?, &settings.context, &session, &client).await?;
        self.session.replace(Some(renewed.clone()));
        call(&client.with_credential(bearer(&renewed))).await.map_err(refused)
    }
}

/// The server's advice on credentials is for programs that speak HTTP.
fn refused(error: ClientError) -> Failure {
    let failure = Failure::from(error);
    if failure.class != Class::SignedOut {
        return failure;
    }
    failure.with_advice("Run `gpuaas login`, or set GPUAAS_TOKEN to a valid API key.")
}

fn bearer(session: &StoredSession) -> Credential {
    Credential::bearer(session.access_token.expose())
}
