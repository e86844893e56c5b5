//! `gpuaas logout`: ends the session at the server and forgets it here.

use clap::Args;
use client::{Client, ClientError, Credential};
use contract::{
    Code, Nothing, Timestamp,
    sessions::{RevokeSession, SessionPath, SignOutEverywhere},
};
use serde_json::json;

use crate::{
    config::{Config, StoredSession},
    context::Context,
    failure::{Class, Done, Failure},
    session,
    settings::{self, no_such_context},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas logout
  gpuaas logout --everywhere
  gpuaas logout --context staging";

/// Sign out of the current session
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Logout {
    /// End all of your sessions on every machine
    #[arg(long)]
    everywhere: bool,
}

impl Logout {
    pub async fn run(self, context: &Context) -> Done {
        let file = context.config_file()?;
        let config = file.read()?;
        let name = settings::context_name(&context.flags, &config);
        let stored = match config.contexts.get(&name) {
            Some(stored) => stored.clone(),
            None if context.flags.context.is_some() => return Err(no_such_context(&name, &config)),
            None => return Err(session::signed_out()),
        };
        let (Some(url), Some(held)) = (&stored.url, &stored.session) else {
            return Err(session::signed_out());
        };
        let client = Client::new(url, Credential::none())?;
        let mut current = held.clone();
        let mut ended = Ok(());
        if !session::is_fresh(held, Timestamp::now()) {
            match session::renew(&file, &name, held, &client).await {
                Ok(renewed) => current = renewed,
                Err(failure) => ended = Err(failure),
            }
        }
        if ended.is_ok() {
            ended = self.end(&client, &current).await;
        }
        let forget = |config: &mut Config| {
            if let Some(stored) = config.contexts.get_mut(&name) {
                stored.session = None;
            }
            Ok(())
        };
        file.change(forget).await?;
        match ended {
            // It had ended already, which is what was wanted.
            Err(failure) if failure.class == Class::SignedOut => (),
            Err(failure) => {
                context.output.warn(
                    "Removed the session from this machine, but it may stay valid on the server until it expires.",
                );
                return Err(failure);
            }
            Ok(()) => (),
        }
        let place = if self.everywhere { " everywhere" } else { "" };
        context.output.done(&json!({}), format!("Signed out of {url}{place}."))
    }

    async fn end(&self, client: &Client, session: &StoredSession) -> Done {
        let client = client.with_credential(Credential::bearer(session.access_token.expose()));
        let ended: Result<Nothing, ClientError> = if self.everywhere {
            client.call::<SignOutEverywhere>(Nothing {}, Nothing {}, Nothing {}).await
        } else {
            let path = SessionPath { session_id: session.session_id };
            client.call::<RevokeSession>(path, Nothing {}, Nothing {}).await
        };
        match ended {
            Err(error) if error.is(Code::NotFound) => Ok(()),
            other => other.map(|_| ()).map_err(Failure::from),
        }
    }
}
