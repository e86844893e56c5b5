//! Running PostgreSQL's programs. Where and as whom they connect travels in
//! the environment: a command line can be read by every user of the machine.

use std::{ffi::OsStr, fs::File, path::Path, process::Stdio};

use percent_encoding::percent_decode_str;
use tokio::process::Command;
use url::Url;

use super::BackupError;
use crate::dev::postgres::Binaries;

pub struct Program {
    name: &'static str,
    command: Command,
    database: String,
}

impl Program {
    pub fn new(binaries: &Binaries, name: &'static str, url: &str) -> Self {
        let mut command = Command::new(binaries.program(name));
        let variables = variables(url);
        let database = variables.iter().find(|(it, _)| *it == "PGDATABASE").map(|(_, value)| value.clone());
        command.envs(variables).arg("--no-password").stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
        Self { name, command, database: database.unwrap_or_default() }
    }

    pub fn arg(mut self, arg: impl AsRef<Path>) -> Self {
        self.command.arg(arg.as_ref());
        self
    }

    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    /// For a program that connects only where the command line names a database.
    pub fn names_database(mut self) -> Self {
        self.command.arg("--dbname").arg(&self.database);
        self
    }

    pub fn writes_to(mut self, file: File) -> Self {
        self.command.stdout(file);
        self
    }

    /// Waits for the end; what the program said against us becomes the error.
    pub async fn run(mut self) -> Result<(), BackupError> {
        self.command.stderr(Stdio::piped());
        let program = self.command.as_std().get_program().into();
        let child = self.command.spawn().map_err(|source| BackupError::Run { program, source })?;
        let program = self.command.as_std().get_program().into();
        let output = child.wait_with_output().await.map_err(|source| BackupError::Run { program, source })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().filter(|it| !it.trim().is_empty()).take(5).collect::<Vec<_>>().join("; ");
        Err(BackupError::Failed { program: self.name, said })
    }
}

/// What libpq needs to know of an address like those that the server takes.
/// Checked with the configuration, so what it cannot read is left to libpq's defaults.
fn variables(url: &str) -> Vec<(&'static str, String)> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let mut found = vec![
        ("PGHOST", url.host_str().map(decode).unwrap_or_default()),
        ("PGPORT", url.port().map(|it| it.to_string()).unwrap_or_default()),
        ("PGUSER", decode(url.username())),
        ("PGPASSWORD", url.password().map(decode).unwrap_or_default()),
        ("PGDATABASE", decode(url.path().trim_start_matches('/'))),
    ];
    for (name, value) in url.query_pairs() {
        let variable = match name.as_ref() {
            "host" => "PGHOST",
            "hostaddr" => "PGHOSTADDR",
            "port" => "PGPORT",
            "user" => "PGUSER",
            "password" => "PGPASSWORD",
            "dbname" => "PGDATABASE",
            "sslmode" | "ssl-mode" => "PGSSLMODE",
            "sslrootcert" | "ssl-root-cert" | "ssl-ca" => "PGSSLROOTCERT",
            "sslcert" | "ssl-cert" => "PGSSLCERT",
            "sslkey" | "ssl-key" => "PGSSLKEY",
            "options" => "PGOPTIONS",
            _ => continue,
        };
        found.retain(|(it, _)| *it != variable);
        found.push((variable, value.into_owned()));
    }
    found.retain(|(_, value)| !value.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_forms_are_understood() {
        let mut found = variables("postgres://gp:p%40ss%2Fword@db.example:6432/gpuaas?sslmode=verify-full"); // secret-scan: allow
        found.sort_unstable();
        let wanted = [
            ("PGDATABASE", "gpuaas"),
            ("PGHOST", "db.example"),
            ("PGPASSWORD", "p@ss/word"), // secret-scan: allow
            ("PGPORT", "6432"),
            ("PGSSLMODE", "verify-full"),
            ("PGUSER", "gp"),
        ];
        assert_eq!(found, wanted.map(|(name, value)| (name, value.to_owned())));
        let mut found = variables("postgres:///gpuaas?host=%2Frun%2Fpg&user=gp&port=5432");
        found.sort_unstable();
        let wanted = [("PGDATABASE", "gpuaas"), ("PGHOST", "/run/pg"), ("PGPORT", "5432"), ("PGUSER", "gp")];
        assert_eq!(found, wanted.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn a_password_does_not_reach_the_command_line() {
        let binaries = Binaries::find().unwrap();
        let program = Program::new(&binaries, "pg_dump", "postgres://gp:hunter2@localhost/x").names_database(); // secret-scan: allow
        let command = program.command.as_std();
        assert!(command.get_args().all(|it| !it.to_string_lossy().contains("hunter2")));
        assert!(command.get_envs().any(|(name, value)| name == "PGPASSWORD" && value == Some("hunter2".as_ref())));
    }
}
