//! Signing in through an external issuer: the browser comes back to a listener
//! on this machine, which lives for one answer.

use std::time::Duration;

use client::Client;
use contract::{
    Nothing, SecretText,
    sessions::{FinishOidc, OidcFinish, OidcStart, StartOidc, TokenSet},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use url::Url;

use crate::{
    failure::{Class, Failure},
    output::Output,
    second_factor,
};

/// Fixed, because issuers want to know where people may be sent back to.
pub const USUAL_PORT: u16 = 8765;

const PATIENCE: Duration = Duration::from_secs(300);
const REQUEST_PATIENCE: Duration = Duration::from_secs(5);
const LARGEST_REQUEST_BYTES: usize = 16 * 1024;

pub async fn sign_in(
    client: &Client,
    port: u16,
    code: Option<&SecretText>,
    output: Output,
) -> Result<TokenSet, Failure> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(|error| {
        Failure::usage(
            format!("cannot listen on local port {port}: {error}"),
            "Choose another port with --oidc-port; the server's configuration must allow it.",
        )
    })?;
    let port = listener.local_addr()?.port();
    let redirect_uri = format!("http://127.0.0.1:{port}/callback");
    let started = client.call::<StartOidc>(Nothing {}, Nothing {}, OidcStart { redirect_uri }).await;
    let started = started.map_err(|error| {
        let failure = Failure::from(error);
        match failure.class {
            Class::NotFound => {
                failure.with_advice("This server has no external identity provider. Sign in with a password.")
            }
            _ => failure,
        }
    })?;
    output.warn(format!("Open this URL in a browser on this machine:\n\n  {}\n", started.authorization_url));
    let issued = timeout(PATIENCE, answer(&listener, started.state.expose())).await.map_err(|_| {
        Failure::new(
            Class::SignedOut,
            "sign-in was not completed within five minutes",
            "Run `gpuaas login --oidc` again.",
        )
    })??;
    let body = OidcFinish { code: issued, state: SecretText::new(started.state.expose().to_owned()) };
    let signed_in = client.call::<FinishOidc>(Nothing {}, Nothing {}, body).await;
    second_factor::finish(client, signed_in, code).await
}

/// Waits for the issuer's answer; other visitors, like a request for an icon, are sent away.
async fn answer(listener: &TcpListener, state: &str) -> Result<SecretText, Failure> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let Ok(Some(target)) = timeout(REQUEST_PATIENCE, request_target(&mut stream)).await else {
            continue;
        };
        let came = came_back(&target, state);
        let (status, text) = match &came {
            None => ("404 Not Found", "Not found."),
            Some(Ok(_)) => ("200 OK", "Signed in. You can close this window and return to the terminal."),
            Some(Err(_)) => ("400 Bad Request", "Sign-in failed. See the terminal for details."),
        };
        let page = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        );
        // Whether the browser still listens changes nothing.
        let _ = timeout(REQUEST_PATIENCE, stream.write_all(page.as_bytes())).await;
        let _ = timeout(REQUEST_PATIENCE, stream.shutdown()).await;
        if let Some(came) = came {
            return came;
        }
    }
}

async fn request_target(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    while !bytes.windows(4).any(|it| it == b"\r\n\r\n") {
        let count = stream.read(&mut chunk).await.ok()?;
        if count == 0 || bytes.len() + count > LARGEST_REQUEST_BYTES {
            return None;
        }
        bytes.extend_from_slice(&chunk[..count]);
    }
    let line = std::str::from_utf8(&bytes).ok()?.lines().next()?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    Some(target.to_owned())
}

/// The code in the issuer's answer; `None` when it is not the issuer's answer.
fn came_back(target: &str, state: &str) -> Option<Result<SecretText, Failure>> {
    let url = Url::parse("http://127.0.0.1").ok()?.join(target).ok()?;
    if url.path() != "/callback" {
        return None;
    }
    let value = |name: &str| url.query_pairs().find(|(it, _)| it == name).map(|(_, it)| it.into_owned());
    // Anything on this machine can call here; only the issuer knows the state.
    if value("state").as_deref() != Some(state) {
        return None;
    }
    let refused = |detail| Err(Failure::new(Class::SignedOut, detail, "Run `gpuaas login --oidc` again."));
    Some(match (value("code"), value("error")) {
        (Some(code), None) => Ok(SecretText::new(code)),
        (_, Some(error)) => {
            let why = value("error_description").unwrap_or_default();
            refused(format!("the identity provider refused the sign-in: {error} {why}").trim_end().to_owned())
        }
        (None, None) => refused("the identity provider sent no authorization code".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oidc_callback_needs_the_right_state() {
        let code = came_back("/callback?code=a%2Fb&state=s", "s").unwrap().unwrap();
        assert_eq!(code.expose(), "a/b");
        for target in ["/favicon.ico", "/callback?code=a&state=other", "/callback?code=a", "/other?code=a&state=s"] {
            assert!(came_back(target, "s").is_none(), "{target}");
        }
    }

    #[test]
    fn oidc_refusal_names_the_reason() {
        let target = "/callback?error=access_denied&error_description=not%20you&state=s";
        let failure = came_back(target, "s").unwrap().unwrap_err();
        assert_eq!(failure.exit_code(), 3);
        assert!(failure.for_people().contains("access_denied not you"), "{}", failure.for_people());
    }
}
