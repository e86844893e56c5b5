//! The code flow: where to send a person, and what the code that comes back
//! is worth. PKCE binds the code to the sign-in, the nonce binds the token.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use kernel::secrets::{Secret, hash_token, random_token};
use reqwest::{RequestBuilder, StatusCode};
use serde::Deserialize;
use url::{Url, form_urlencoded};

use super::{FetchError, Identity, Oidc, OidcError, Profile, fetch, issuer::IssuerMetadata};

/// A sign-in that begins.
pub struct Start {
    pub authorization_url: String,
    pub state: Secret,
    pub verifier: Secret,
    pub nonce: String,
}

/// A sign-in that comes back.
pub struct Redeem<'a> {
    pub code: &'a str,
    pub verifier: &'a str,
    pub nonce: &'a str,
    pub redirect_uri: &'a str,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    access_token: Option<String>,
}

#[derive(Deserialize)]
struct UserInfo {
    sub: String,
    #[serde(flatten)]
    profile: Profile,
}

const SCOPES: &str = "openid email profile";
const TOKEN_ENDPOINT: &str = "the issuer's token endpoint";

impl Oidc {
    pub async fn start(&self, redirect_uri: &str) -> Result<Start, OidcError> {
        let known = self.addresses().await?;
        let (state, verifier, nonce) = (random_token("gps"), random_token("gpv"), text(&random_token("gpn")));
        let challenge = URL_SAFE_NO_PAD.encode(hash_token(&text(&verifier)).as_bytes());
        let mut url = Url::parse(&known.document.authorization_endpoint).expect("checked when it was fetched");
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.0.config.client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", SCOPES)
            .append_pair("state", &text(&state))
            .append_pair("nonce", &nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(Start { authorization_url: url.into(), state, verifier, nonce })
    }

    /// Exchanges the code for an identity token and verifies it.
    pub async fn redeem(&self, redeem: Redeem<'_>) -> Result<Identity, OidcError> {
        let _slot = self.0.redeeming.try_acquire().map_err(|_| OidcError::Busy)?;
        let known = self.addresses().await?;
        let tokens = self.exchange(&known, &redeem).await.inspect_err(|error| {
            if let OidcError::Away(error) = error {
                self.missed(error);
            }
        })?;
        let identity = self.verify(&tokens.id_token, Some(redeem.nonce), None).await?;
        Ok(Identity { access_token: tokens.access_token.map(Secret::from), ..identity })
    }

    async fn exchange(&self, known: &IssuerMetadata, redeem: &Redeem<'_>) -> Result<Tokens, OidcError> {
        let (status, body) = fetch::answer(TOKEN_ENDPOINT, self.token_request(known, redeem)).await?;
        match status {
            StatusCode::OK => Ok(fetch::parse(TOKEN_ENDPOINT, &body)?),
            StatusCode::BAD_REQUEST => Err(OidcError::Refused(
                "the issuer did not accept the code, which works once and expires soon: start again",
            )),
            other => {
                if other.is_client_error() {
                    tracing::error!(
                        status = other.as_u16(),
                        "the external issuer rejects the credentials of this installation: check `oidc.client_id` and `oidc.client_secret`"
                    );
                }
                Err(FetchError::Status { what: TOKEN_ENDPOINT, status: other.as_u16() }.into())
            }
        }
    }

    fn token_request(&self, known: &IssuerMetadata, redeem: &Redeem<'_>) -> RequestBuilder {
        let config = &self.0.config;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", redeem.code)
            .append_pair("redirect_uri", redeem.redirect_uri)
            .append_pair("code_verifier", redeem.verifier);
        let request = self.0.http.post(&known.document.token_endpoint);
        let request = match &config.client_secret {
            // The standard encodes both parts before they are joined.
            Some(secret) => request.basic_auth(encoded(&config.client_id), Some(encoded(secret))),
            None => {
                form.append_pair("client_id", &config.client_id);
                request
            }
        };
        request.header("content-type", "application/x-www-form-urlencoded").body(form.finish())
    }

    /// The issuer's own record of the person, where it keeps one.
    pub(super) async fn profile(&self, subject: &str, access_token: &Secret) -> Result<Option<Profile>, OidcError> {
        let known = self.addresses().await?;
        let Some(address) = &known.document.userinfo_endpoint else { return Ok(None) };
        let request = self.0.http.get(address).bearer_auth(text(access_token));
        let answered: UserInfo = fetch::json("the issuer's user info endpoint", request).await?;
        // Another person's record must not be taken for this one's.
        Ok((answered.sub == subject).then_some(answered.profile))
    }

    async fn addresses(&self) -> Result<std::sync::Arc<IssuerMetadata>, OidcError> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        self.look_again().await?;
        self.known().ok_or(OidcError::Unreached)
    }
}

fn encoded(part: &str) -> String {
    form_urlencoded::byte_serialize(part.as_bytes()).collect()
}

fn text(secret: &Secret) -> String {
    secret.expose_text().expect("tokens are text").to_owned()
}
