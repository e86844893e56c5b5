//! Settings and environment variables that have another name now. An old name is
//! refused with an error that names the new one.

use std::path::Path;

use super::ConfigError;

/// Old and new names of settings, as `section.name`.
pub const SETTINGS: &[(&str, &str)] =
    &[("gateway.app_domain", "gateway.web_domain"), ("gateway.apps_over_https", "gateway.web_over_https")];

/// Old and new names of environment variables.
pub const VARIABLES: &[(&str, &str)] = &[
    ("GPUAAS_GATEWAY_APP_DOMAIN", "GPUAAS_GATEWAY_WEB_DOMAIN"),
    ("GPUAAS_GATEWAY_APPS_OVER_HTTPS", "GPUAAS_GATEWAY_WEB_OVER_HTTPS"),
];

/// Refuses the first old setting of a configuration file.
pub fn refuse_settings(path: &Path, table: &toml::Table) -> Result<(), ConfigError> {
    let is_there = |setting: &str| {
        let (section, name) = setting.split_once('.').expect("settings are `section.name`");
        table.get(section).and_then(toml::Value::as_table).is_some_and(|it| it.contains_key(name))
    };
    match SETTINGS.iter().find(|(old, _)| is_there(old)) {
        Some((old, new)) => Err(ConfigError::RenamedSetting { path: path.to_owned(), old, new }),
        None => Ok(()),
    }
}

/// Refuses the first old variable of the environment.
pub fn refuse_variables(environment: impl Fn(&str) -> Option<String>) -> Result<(), ConfigError> {
    match VARIABLES.iter().find(|(old, _)| environment(old).is_some()) {
        Some((old, new)) => Err(ConfigError::RenamedVariable { old, new }),
        None => Ok(()),
    }
}
