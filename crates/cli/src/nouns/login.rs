//! `gpuaas login`: from a password or an external issuer to a stored session.

use clap::Args;
use client::{Client, Credential};
use contract::{
    Code, Email, Nothing, SecretText,
    organizations::{ListOrganizations, Organization, OrganizationFilter},
    sessions::{CreateSession, Credentials, ExchangeOidcToken, OidcToken, TokenSet},
    users::{WhoAmI, Whoami},
};
use serde_json::json;

use crate::{
    arguments,
    config::{Config, StoredContext, StoredSession},
    context::Context,
    failure::{Class, Done, Failure},
    oidc, prompt, second_factor,
    settings::{self, Environment, same_address},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas login --url https://gpu.example.com
  gpuaas login --context staging --url https://staging.example.com --email you@example.com
  gpuaas login --email you@example.com --password-stdin < password.txt
  gpuaas login --oidc";

/// Sign in and save the session in a context
///
/// Creates or replaces the context named by --context, or the current one, and
/// switches to it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Login {
    /// Email address; prompted for if not set
    #[arg(long, value_parser = arguments::text::<Email>, conflicts_with_all = ["oidc", "id_token_stdin"])]
    email: Option<Email>,
    /// Read the password from standard input instead of prompting
    #[arg(long, conflicts_with_all = ["oidc", "id_token_stdin"])]
    password_stdin: bool,
    /// Sign in through the external identity provider, in a browser on this machine
    #[arg(long, conflicts_with = "id_token_stdin")]
    oidc: bool,
    /// Local port for the browser's redirect; the server's configuration must allow it
    #[arg(long, requires = "oidc", default_value_t = oidc::USUAL_PORT)]
    oidc_port: u16,
    /// Read an ID token of the external identity provider from standard input
    #[arg(long)]
    id_token_stdin: bool,
    /// Authenticator or recovery code; prompted for if needed
    #[arg(long, value_parser = secret)]
    code: Option<SecretText>,
}

impl Login {
    pub async fn run(self, context: &Context) -> Done {
        let file = context.config_file()?;
        let config = file.read()?;
        // Not `Context::settings`, which refuses a context that is yet to be made.
        let settings = settings::resolve(&context.flags, &Environment::read(), &config);
        let name = settings.context;
        let before = config.contexts.get(&name).cloned().unwrap_or_default();
        let url = match settings.url {
            Some(url) => url.value,
            None => ask_for_url().await?,
        };
        let url = url.trim_end_matches('/').to_owned();
        let client = Client::new(&url, Credential::none())?;

        let tokens = self.sign_in(context, &client, &before).await?;
        let client = client.with_credential(Credential::bearer(tokens.access_token.expose()));
        let session = StoredSession::from(tokens);
        let who = client.call::<WhoAmI>(Nothing {}, Nothing {}, Nothing {}).await?;
        let mine = client.pages::<ListOrganizations>(Nothing {}, OrganizationFilter::default()).take(1000).await?;
        let kept =
            if before.url.as_deref().is_some_and(|it| same_address(it, &url)) { before } else { Default::default() };
        let organization = choose_organization(context, &kept, &mine)?;
        let moved = kept.organization != organization;
        let stored = StoredContext {
            url: Some(url.clone()),
            project: context.flags.project.clone().or(kept.project.filter(|_| !moved)),
            organization: organization.clone(),
            email: who.user.as_ref().map(|it| it.email.to_string()).or(kept.email),
            session: Some(session.clone()),
        };
        let remember = |config: &mut Config| {
            config.contexts.insert(name.clone(), stored);
            config.current = Some(name.clone());
            Ok(())
        };
        file.change(remember).await?;

        let answer = json!({
            "context": name, "url": url, "organization": organization,
            "user_id": session.user_id, "session_id": session.session_id,
        });
        context.output.done(&answer, greeting(&who, &url, &name, organization.as_deref(), &mine))?;
        if std::env::var_os("GPUAAS_TOKEN").is_some_and(|it| !it.is_empty()) {
            context.output.warn("GPUAAS_TOKEN is set and overrides this session. Unset it to use the session.");
        }
        Ok(())
    }

    async fn sign_in(&self, context: &Context, client: &Client, before: &StoredContext) -> Result<TokenSet, Failure> {
        if self.oidc {
            return oidc::sign_in(client, self.oidc_port, self.code.as_ref(), context.output).await;
        }
        if self.id_token_stdin {
            let [id_token] = prompt::piped_secrets()?;
            let signed_in = client.call::<ExchangeOidcToken>(Nothing {}, Nothing {}, OidcToken { id_token }).await;
            return second_factor::finish(client, signed_in, self.code.as_ref()).await;
        }
        let email = match &self.email {
            Some(email) => email.clone(),
            None if self.password_stdin => {
                return Err(Failure::usage("--password-stdin needs --email", "Pass --email you@example.com."));
            }
            None => {
                let typed = prompt::line("Email", before.email.as_deref()).await?;
                arguments::text(&typed).map_err(|error| Failure::usage(error, "Run `gpuaas login` again."))?
            }
        };
        let password = if self.password_stdin {
            let [password] = prompt::piped_secrets()?;
            password
        } else {
            prompt::secret("Password").await?
        };
        let signed_in = client.call::<CreateSession>(Nothing {}, Nothing {}, Credentials { email, password }).await;
        if let Err(error) = &signed_in
            && error.is(Code::Unauthenticated)
        {
            let failure = signed_in.map(drop).map_err(Failure::from).expect_err("the error was matched above");
            return Err(failure.with_advice("Check the email address and the password, and try again."));
        }
        second_factor::finish(client, signed_in, self.code.as_ref()).await
    }
}

/// Reads a secret that lives for seconds; others do not belong on a command line.
fn secret(text: &str) -> Result<SecretText, String> {
    Ok(SecretText::new(text.to_owned()))
}

async fn ask_for_url() -> Result<String, Failure> {
    if !prompt::is_possible() {
        return Err(Failure::usage("no server is set", "Pass --url https://gpu.example.com."));
    }
    prompt::line("Server URL, such as https://gpu.example.com", None).await
}

/// The one requested, the one used before, or the only one; by id, which no renaming breaks.
fn choose_organization(
    context: &Context,
    kept: &StoredContext,
    mine: &[Organization],
) -> Result<Option<String>, Failure> {
    let find = |text: &str| mine.iter().find(|it| it.id.to_string() == text || it.name.as_str() == text);
    if let Some(wanted) = &context.flags.organization {
        let found = find(wanted).ok_or_else(|| {
            Failure::new(
                Class::NotFound,
                format!("you are not a member of the organization `{wanted}`"),
                "Sign in without --organization, then run `gpuaas organizations list` to see yours.",
            )
        })?;
        return Ok(Some(found.id.to_string()));
    }
    let before = kept.organization.as_deref().and_then(find);
    let only = if let [only] = mine { Some(only) } else { None };
    Ok(before.or(only).map(|it| it.id.to_string()))
}

fn greeting(who: &Whoami, url: &str, name: &str, organization: Option<&str>, mine: &[Organization]) -> String {
    let person =
        who.user.as_ref().map_or_else(|| "a service account".to_owned(), |it| format!("{} <{}>", it.name, it.email));
    let mut text = format!("Signed in to {url} as {person}. Saved as context `{name}`.");
    let chosen = mine.iter().find(|it| Some(it.id.to_string().as_str()) == organization);
    match (chosen, mine) {
        (Some(chosen), _) => text.push_str(&format!("\nUsing organization {}.", chosen.name)),
        (None, []) => text.push_str(
            "\nYou are not a member of any organization yet. Create one with `gpuaas organizations create NAME`.",
        ),
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|it| it.name.as_str()).collect();
            text.push_str(&format!(
                "\nYou are a member of {}. Choose one with `gpuaas context set --organization NAME`.",
                names.join(", ")
            ));
        }
    }
    text
}
