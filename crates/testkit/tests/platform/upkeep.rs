//! The commands for an installation's own upkeep.

use std::process::Stdio;

use serde_json::json;
use testkit::{
    Database,
    process::{CommandOutput, Daemon, command, free_port, run, said, secrets_keys},
};
use tokio::{io::AsyncWriteExt, process::Command};

const PASSWORD: &str = "correct horse battery"; // secret-scan: allow

async fn told(mut command: Command, line: &str) -> CommandOutput {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(line.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandOutput { is_success: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
}

async fn create_operator(database: &Database, email: &str, password: &str) -> CommandOutput {
    let arguments = ["admin", "create-operator", "--email", email, "--name", "First Operator"];
    told(command(&arguments, &database.url()), password).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_operator_is_made_without_an_account() {
    let database = Database::new().await;
    let said = create_operator(&database, "op@example.test", "short\n").await;
    assert!(!said.is_success && said.err.contains("12 characters"), "{said:?}");
    let said = create_operator(&database, "op@example.test", "").await;
    assert!(!said.is_success && said.err.contains("standard input"), "{said:?}");
    let said = create_operator(&database, "not an address", PASSWORD).await;
    assert!(!said.is_success && said.err.contains("name@example.com"), "{said:?}");
    let said = create_operator(&database, "op@example.test", &format!("{PASSWORD}\n")).await;
    assert!(said.is_success && !said.out.contains(PASSWORD), "{said:?}");
    let said = create_operator(&database, "OP@example.test", &format!("{PASSWORD}\n")).await;
    assert!(!said.is_success && said.err.contains("already has an account"), "{said:?}");

    let daemon = Daemon::serve(&database.url(), free_port(), &[]).await;
    let http = reqwest::Client::new();
    let credentials = json!({ "email": "op@example.test", "password": PASSWORD });
    let session = http.post(format!("{}/v1/sessions", daemon.base)).json(&credentials).send().await.unwrap();
    let session: serde_json::Value = session.json().await.unwrap();
    let audit = http.get(format!("{}/v1/platform/audit", daemon.base));
    let answer = audit.bearer_auth(session["access_token"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(answer.status(), 200, "an operator may look");
    assert!(answer.text().await.unwrap().contains("user.create_operator"), "and finds how it came to be one");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_installation_chooses_once_whether_money_is_needed() {
    let database = Database::new().await;
    let chosen = async || {
        let mut above = database.superuser().await;
        sqlx::query_scalar::<_, String>(
            "SELECT value FROM policies WHERE key = 'billing.required' AND organization_id IS NULL",
        )
        .fetch_optional(&mut above)
        .await
        .unwrap()
    };
    let create = async |email: &str, more: &[&str]| {
        let arguments = [&["admin", "create-operator", "--email", email], more].concat();
        told(command(&arguments, &database.url()), &format!("{PASSWORD}\n")).await
    };
    let said = create("one@example.test", &[]).await;
    assert!(
        said.is_success && said.out.contains("not required (default)") && said.out.contains("billing.required"),
        "{said:?}"
    );
    assert_eq!(chosen().await, None, "without a terminal nothing is assumed");
    let said = create("two@example.test", &["--billing", "sometimes"]).await;
    assert!(!said.is_success && said.err.contains("required, off"), "{said:?}");
    let said = create("two@example.test", &["--billing", "required"]).await;
    assert!(said.is_success && said.out.contains("Payment is required"), "{said:?}");
    assert_eq!(chosen().await.as_deref(), Some("true"));
    let said = create("three@example.test", &["--billing", "off"]).await;
    assert!(said.is_success && said.out.contains("is already set"), "{said:?}");
    assert_eq!(chosen().await.as_deref(), Some("true"), "it is asked once");
    let said = create("four@example.test", &[]).await;
    assert!(said.is_success && !said.out.contains("billing.required"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_is_needed_no_more() {
    let database = Database::new().await;
    Daemon::serve(&database.url(), free_port(), &[]).await.stop().await;
    let said = run(&["secrets", "new-key"], &database.url()).await;
    let new = said.out.trim().to_owned();
    let alone = [("GPUAAS_SECRETS_KEYS", new.as_str())];
    let mut serve = command(&["serve"], &database.url());
    serve.envs(alone).env("GPUAAS_LISTEN", "127.0.0.1:0");
    let refused = self::said(serve).await;
    assert!(!refused.is_success && refused.err.contains("secrets.keys"), "{refused:?}");

    let mut rotate = command(&["secrets", "rotate"], &database.url());
    rotate.env("GPUAAS_SECRETS_KEYS", format!("{new},{}", secrets_keys()));
    let moved = self::said(rotate).await;
    assert!(moved.is_success && !moved.out.starts_with("0 "), "{moved:?}");
    assert!(!moved.out.contains(new.split_once(':').unwrap().1), "the key itself is not shown");
    let daemon = Daemon::serve(&database.url(), free_port(), &alone).await;
    assert!(daemon.stop().await.success(), "the new key opens everything alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_says_where_settings_come_from_and_what_is_wrong() {
    let database = Database::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gpuaas.toml");
    std::fs::write(&file, "[telemetry]\nformat = \"text\"\n").unwrap();
    let file = file.to_str().unwrap();
    let said = run(&["--config", file, "config", "check", "--connect"], &database.url()).await;
    assert!(said.is_success && said.out.contains("The database is reachable"), "{said:?}");
    let line = |name: &str| said.out.lines().find(|it| it.starts_with(name)).unwrap().to_owned();
    assert!(line("database.url").ends_with("GPUAAS_DATABASE_URL"), "{}", said.out);
    assert!(line("telemetry.format").contains("text") && line("telemetry.format").ends_with("file"), "{}", said.out);
    assert!(line("http.max_connections").ends_with("default"), "{}", said.out);
    assert!(!said.out.contains(&database.name) && !said.out.contains(&"A".repeat(43)), "{}", said.out);

    let nowhere = "postgres://gpuaas:hunter2@127.0.0.1:1/gpuaas"; // secret-scan: allow
    let said = run(&["config", "check"], nowhere).await;
    assert!(said.is_success, "without connecting it is usable: {said:?}");
    let said = run(&["config", "check", "--connect"], nowhere).await;
    assert!(!said.is_success && said.err.contains("check `database.url`"), "{said:?}");
    assert!(!format!("{said:?}").contains("hunter2"), "{said:?}");
    std::fs::write(file, "[http]\nlitsen = \"x\"\n").unwrap();
    let said = run(&["--config", file, "config", "check"], &database.url()).await;
    assert!(!said.is_success && said.err.contains("litsen"), "{said:?}");
}
