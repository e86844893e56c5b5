//! Which server, organization, project and credential a command uses: flags
//! win over the environment, which wins over the context. Pure.

use std::{env, fmt};

use contract::SecretText;

use crate::{
    arguments::Flags,
    config::{Config, StoredContext, StoredSession},
    failure::Failure,
};

pub const FIRST_CONTEXT: &str = "default";

#[derive(Debug, Clone)]
pub struct Settings {
    pub context: String,
    pub url: Option<Setting>,
    pub organization: Option<Setting>,
    pub project: Option<Setting>,
    pub credential: CredentialSource,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub value: String,
    pub source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Flag,
    Environment,
    Context,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Flag => "flag",
            Source::Environment => "environment",
            Source::Context => "context",
        })
    }
}

/// What there is to show to the server.
#[derive(Debug, Clone)]
pub enum CredentialSource {
    Token(SecretText),
    Session(StoredSession),
    Nothing,
}

/// What the environment says; an empty variable says nothing.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub url: Option<String>,
    pub token: Option<SecretText>,
    pub organization: Option<String>,
    pub project: Option<String>,
}

impl Environment {
    pub fn read() -> Self {
        let given = |name| env::var(name).ok().filter(|it| !it.trim().is_empty());
        Self {
            url: given("GPUAAS_URL"),
            token: given("GPUAAS_TOKEN").map(|it| SecretText::new(it.trim().to_owned())),
            organization: given("GPUAAS_ORGANIZATION"),
            project: given("GPUAAS_PROJECT"),
        }
    }
}

/// The name of the context that is meant, whether or not it exists.
pub fn context_name(flags: &Flags, config: &Config) -> String {
    let named = flags.context.clone().or_else(|| config.current.clone());
    named.unwrap_or_else(|| FIRST_CONTEXT.to_owned())
}

pub fn resolve(flags: &Flags, environment: &Environment, config: &Config) -> Settings {
    let context = context_name(flags, config);
    let nothing = StoredContext::default();
    let stored = config.contexts.get(&context).unwrap_or(&nothing);
    let url = choose(&flags.url, &environment.url, &stored.url);
    // What a context holds belongs to its server: a token must not go to
    // another one, and an id would mean nothing there.
    let same_server = match (&url, &stored.url) {
        (Some(url), Some(stored)) => same_address(&url.value, stored),
        _ => true,
    };
    let stored = if same_server { stored } else { &nothing };
    let credential = match (&environment.token, &stored.session) {
        (Some(token), _) => CredentialSource::Token(token.clone()),
        (None, Some(session)) => CredentialSource::Session(session.clone()),
        (None, None) => CredentialSource::Nothing,
    };
    Settings {
        context,
        url,
        organization: choose(&flags.organization, &environment.organization, &stored.organization),
        project: choose(&flags.project, &environment.project, &stored.project),
        credential,
    }
}

/// Refuses a context that was named and does not exist.
pub fn check_context(flags: &Flags, config: &Config) -> Result<(), Failure> {
    match &flags.context {
        Some(name) if !config.contexts.contains_key(name) => Err(no_such_context(name, config)),
        _ => Ok(()),
    }
}

pub fn no_such_context(name: &str, config: &Config) -> Failure {
    let known: Vec<&str> = config.contexts.keys().map(String::as_str).collect();
    let advice = if known.is_empty() {
        format!("Create it with `gpuaas login --context {name} --url URL`.")
    } else {
        format!("Available contexts: {}. Create it with `gpuaas login --context {name} --url URL`.", known.join(", "))
    };
    Failure::usage(format!("context `{name}` not found"), advice)
}

pub fn same_address(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

fn choose(flag: &Option<String>, environment: &Option<String>, context: &Option<String>) -> Option<Setting> {
    let setting = |value: &String, source| Setting { value: value.clone(), source };
    let flag = flag.as_ref().filter(|it| !it.is_empty()).map(|it| setting(it, Source::Flag));
    let environment = || environment.as_ref().map(|it| setting(it, Source::Environment));
    let context = || context.as_ref().map(|it| setting(it, Source::Context));
    flag.or_else(environment).or_else(context)
}

#[cfg(test)]
mod tests {
    use contract::{
        Timestamp,
        id::{SessionId, UserId},
    };

    use super::*;

    fn config() -> Config {
        let session = StoredSession {
            session_id: SessionId::generate(),
            user_id: UserId::generate(),
            access_token: SecretText::new("of-the-session".into()),
            access_expires_at: Timestamp::UNIX_EPOCH,
            refresh_token: SecretText::new("r".into()),
            refresh_expires_at: Timestamp::UNIX_EPOCH,
        };
        let stored = |url: &str| StoredContext {
            url: Some(url.into()),
            organization: Some("of-the-context".into()),
            project: None,
            email: None,
            session: Some(session.clone()),
        };
        let contexts = [("work".to_owned(), stored("https://work")), ("home".to_owned(), stored("https://home"))];
        Config { current: Some("work".into()), contexts: contexts.into() }
    }

    fn value(setting: &Option<Setting>) -> Option<(&str, Source)> {
        setting.as_ref().map(|it| (it.value.as_str(), it.source))
    }

    #[test]
    fn the_current_context_is_the_default() {
        let settings = resolve(&Flags::default(), &Environment::default(), &config());
        assert_eq!(value(&settings.url), Some(("https://work", Source::Context)));
        assert_eq!(value(&settings.organization), Some(("of-the-context", Source::Context)));
        assert_eq!(value(&settings.project), None);
        assert!(matches!(settings.credential, CredentialSource::Session(_)));
    }

    #[test]
    fn flags_override_the_environment_which_overrides_the_context() {
        let environment = Environment {
            organization: Some("of-the-environment".into()),
            project: Some("of-the-environment".into()),
            ..Environment::default()
        };
        let flags = Flags { organization: Some("of-the-flag".into()), ..Flags::default() };
        let settings = resolve(&flags, &environment, &config());
        assert_eq!(value(&settings.organization), Some(("of-the-flag", Source::Flag)));
        assert_eq!(value(&settings.project), Some(("of-the-environment", Source::Environment)));
        let settings = resolve(&Flags::default(), &environment, &config());
        assert_eq!(value(&settings.organization), Some(("of-the-environment", Source::Environment)));
    }

    #[test]
    fn a_named_context_replaces_the_current_one_and_must_exist() {
        let flags = Flags { context: Some("home".into()), ..Flags::default() };
        let settings = resolve(&flags, &Environment::default(), &config());
        assert_eq!(value(&settings.url), Some(("https://home", Source::Context)));
        assert!(check_context(&flags, &config()).is_ok());
        let flags = Flags { context: Some("gone".into()), ..Flags::default() };
        let error = check_context(&flags, &config()).unwrap_err().for_people();
        assert!(error.contains("home, work"), "{error}");
    }

    #[test]
    fn a_session_and_its_ids_never_go_to_another_server() {
        let flags = Flags { url: Some("https://elsewhere".into()), ..Flags::default() };
        let settings = resolve(&flags, &Environment::default(), &config());
        assert!(matches!(settings.credential, CredentialSource::Nothing));
        assert_eq!(value(&settings.organization), None);
        let flags = Flags { url: Some("https://work/".into()), ..Flags::default() };
        assert!(matches!(resolve(&flags, &Environment::default(), &config()).credential, CredentialSource::Session(_)));
    }

    #[test]
    fn a_token_in_the_environment_overrides_the_session() {
        let environment = Environment { token: Some(SecretText::new("t".into())), ..Environment::default() };
        let settings = resolve(&Flags::default(), &environment, &config());
        assert!(matches!(settings.credential, CredentialSource::Token(_)));
        assert_eq!(value(&settings.organization), Some(("of-the-context", Source::Context)));
    }
}
