//! What is accepted of a configuration, and what is said of the rest.

use super::*;

fn load(text: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let find = |name: &str| environment.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
    Config::load(Some(&file.path().to_path_buf()), find)
}

#[test]
fn the_environment_goes_before_the_file_and_the_file_before_defaults() {
    let config =
        load("[http]\nlisten = \"127.0.0.1:1\"\nmax_connections = 7", &[("GPUAAS_LISTEN", "127.0.0.1:2")]).unwrap();
    assert_eq!((config.http.listen.as_str(), config.http.max_connections), ("127.0.0.1:2", 7));
    assert_eq!(config.database.max_connections, 32);
}

#[test]
fn lists_in_the_environment_are_separated_by_commas() {
    let environment = [
        ("GPUAAS_OIDC_ISSUER", "https://login.example.com"),
        ("GPUAAS_OIDC_CLIENT_ID", "gpuaas"),
        ("GPUAAS_OIDC_REDIRECT_URIS", "https://gpu.example.com/signed-in, http://127.0.0.1"),
    ];
    let oidc = load("", &environment).unwrap().oidc.unwrap();
    assert_eq!(oidc.redirect_uris, ["https://gpu.example.com/signed-in", "http://127.0.0.1"]);
}

#[test]
fn invalid_settings_are_named() {
    for (text, word) in [
        ("[http]\nlisten = \"nowhere\"", "http.listen"),
        ("[http]\nlitsen = \"x\"", "litsen"),
        ("[database]\nmax_connections = 1", "database.max_connections"),
        ("[oidc]\nissuer = \"http://login.example.com\"\nclient_id = \"x\"", "oidc.issuer"),
        ("nonsense", "configuration file"),
    ] {
        let error = load(text, &[]).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn addresses_do_not_print() {
    let text = "[database]\nurl = \"postgres://user:hunter2@localhost/x\"\n[mail]\nurl = \"smtps://user:hunter2@mail.example.com\"\nfrom = \"a@example.com\""; // secret-scan: allow
    let config = load(text, &[]).unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn setting_of_before_is_refused_with_its_new_name() {
    for (old, new) in renamed::SETTINGS {
        let (section, name) = old.split_once('.').unwrap();
        let error = load(&format!("[{section}]\n{name} = \"x\""), &[]).unwrap_err().to_string();
        assert!(error.contains(&format!("`{old}`, which was renamed to `{new}`")), "{error}");
        let (section, name) = new.split_once('.').unwrap();
        let error = load(&format!("[{section}]\n{name} = [[]]"), &[]).unwrap_err().to_string();
        assert!(!error.contains("unknown field"), "the new name is a setting: {error}");
    }
}

#[test]
fn variable_of_before_is_refused_with_its_new_name() {
    for (old, new) in renamed::VARIABLES {
        let error = load("", &[(old, "x")]).unwrap_err().to_string();
        assert_eq!(error, format!("the environment has {old}, which was renamed to {new}"));
        assert!(VARIABLES.iter().any(|(it, _)| it == new), "{new} is a variable");
        assert!(!VARIABLES.iter().any(|(it, _)| it == old), "{old} is none");
    }
}
