//! `gpuaas context`: which server, organization and project commands act on.

use clap::Subcommand;
use contract::Timestamp;
use serde_json::{Value, json};

use crate::{
    arguments::{Consent, Flags},
    config::{Config, StoredContext},
    context::Context,
    failure::{Done, Failure},
    moments, prompt,
    settings::{CredentialSource, Setting, context_name, no_such_context, same_address},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas context list
  gpuaas context use staging
  gpuaas context show
  gpuaas context set --organization acme --project training
  gpuaas context set staging --url https://staging.example.com
  gpuaas context set --project \"\"
  gpuaas context remove staging --yes";

/// Manage contexts: saved servers, organizations and projects
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Contexts {
    /// List contexts
    List,
    /// Switch to a context
    Use {
        /// Name of the context; see `context list`
        name: String,
    },
    /// Show the active settings and where each one comes from
    Show,
    /// Set the server, organization or project of a context; pass an empty value to unset it
    Set {
        /// Name of the context [default: the current context]
        name: Option<String>,
    },
    /// Remove a context and its stored session
    Remove {
        /// Name of the context; see `context list`
        name: String,
        #[command(flatten)]
        consent: Consent,
    },
}

impl Contexts {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Contexts::List => list(context),
            Contexts::Use { name } => {
                let choose = |config: &mut Config| {
                    if !config.contexts.contains_key(&name) {
                        return Err(no_such_context(&name, config));
                    }
                    config.current = Some(name.clone());
                    Ok(())
                };
                context.config_file()?.change(choose).await?;
                context.output.done(&json!({ "context": name }), format!("Switched to context `{name}`."))
            }
            Contexts::Show => show(context),
            Contexts::Set { name } => set(context, name).await,
            Contexts::Remove { name, consent } => {
                let file = context.config_file()?;
                let config = file.read()?;
                let stored = config.contexts.get(&name).ok_or_else(|| no_such_context(&name, &config))?;
                let session = if stored.session.is_some() { " without signing out of its session" } else { "" };
                prompt::confirm(consent, &format!("removes the context `{name}`{session}"), &name).await?;
                let forget = |config: &mut Config| {
                    config.contexts.remove(&name);
                    config.current.take_if(|it| *it == name);
                    Ok(())
                };
                file.change(forget).await?;
                context.output.done(&json!({}), format!("Removed context `{name}`."))
            }
        }
    }
}

fn list(context: &Context) -> Done {
    let config = context.config_file()?.read()?;
    let now = Timestamp::now();
    let row = |(name, stored): (&String, &StoredContext)| {
        let session = stored.session.as_ref().filter(|it| now < it.refresh_expires_at);
        json!({
            "name": name,
            "current": config.current.as_ref() == Some(name),
            "url": stored.url,
            "organization": stored.organization,
            "project": stored.project,
            "email": stored.email,
            "signed_in": session.is_some(),
        })
    };
    let rows = config.contexts.iter().map(row).collect();
    context.output.list(rows, &["name", "current", "url", "organization", "project", "email", "signed_in"])
}

fn show(context: &Context) -> Done {
    let settings = context.settings()?;
    let plain =
        |it: &Option<Setting>| it.as_ref().map(|it| json!({ "value": it.value, "from": it.source.to_string() }));
    let credential = match &settings.credential {
        CredentialSource::Token(_) => "token in GPUAAS_TOKEN".to_owned(),
        CredentialSource::Session(session) => {
            format!("session, renewable until {}", moments::exact(session.refresh_expires_at, Timestamp::now()))
        }
        CredentialSource::Nothing => "none: run `gpuaas login`".to_owned(),
    };
    let answer = json!({
        "context": settings.context,
        "url": plain(&settings.url),
        "organization": plain(&settings.organization),
        "project": plain(&settings.project),
        "credential": credential,
        "file": context.config_file()?.path(),
    });
    if context.output.is_for_people() && !context.output.quiet {
        let said = |it: &Option<Setting>| it.as_ref().map(|it| format!("{} (from the {})", it.value, it.source));
        let lines: Value = json!({
            "name": settings.context,
            "url": said(&settings.url),
            "organization": said(&settings.organization),
            "project": said(&settings.project),
            "credential": credential,
            "file": context.config_file()?.path(),
        });
        return context.output.item(&lines);
    }
    context.output.item_known_by(&answer, "/context")
}

async fn set(context: &Context, name: Option<String>) -> Done {
    let flags = &context.flags;
    if flags.url.is_none() && flags.organization.is_none() && flags.project.is_none() {
        return Err(Failure::usage("nothing to set", "Pass --url, --organization or --project."));
    }
    let file = context.config_file()?;
    let config = file.read()?;
    let name = name.unwrap_or_else(|| context_name(flags, &config));
    let (organization, project) = if config.contexts.contains_key(&name) {
        let of_name = Context::new(Flags { context: Some(name.clone()), ..flags.clone() });
        found(&of_name).await?
    } else {
        (flags.organization.clone(), flags.project.clone())
    };
    let change = |config: &mut Config| {
        let stored = config.contexts.entry(name.clone()).or_default();
        if let Some(url) = &flags.url {
            // What belongs to one server means nothing to another.
            if !stored.url.as_deref().is_some_and(|it| same_address(it, url)) {
                *stored = StoredContext { email: stored.email.take(), ..StoredContext::default() };
            }
            stored.url = given(url);
        }
        if let Some(organization) = &organization {
            // A project belongs to one organization.
            stored.project = None;
            stored.organization = given(organization);
        }
        if let Some(project) = &project {
            stored.project = given(project);
        }
        if config.current.is_none() {
            config.current = Some(name.clone());
        }
        Ok(())
    };
    file.change(change).await?;
    context.output.done(&json!({ "context": name }), format!("Saved context `{name}`."))
}

/// The ids of what the flags name, where somebody is signed in who can look;
/// ids outlive renaming and need no looking up later.
async fn found(context: &Context) -> Result<(Option<String>, Option<String>), Failure> {
    let (mut organization, mut project) = (context.flags.organization.clone(), context.flags.project.clone());
    if matches!(context.settings()?.credential, CredentialSource::Nothing) {
        return Ok((organization, project));
    }
    if organization.as_ref().is_some_and(|it| !it.is_empty()) {
        organization = Some(context.organization().await?.organization_id.to_string());
    }
    if project.as_ref().is_some_and(|it| !it.is_empty()) {
        project = Some(context.project().await?.project_id.to_string());
    }
    Ok((organization, project))
}

fn given(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|it| !it.is_empty())
}
