//! OAuth 1.0a with the method PLAINTEXT, as MAAS asks for it: who has the key
//! sends it, so the connection should be HTTPS.

use kernel::secrets::{Secret, random_token};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use platform::ports::metal::MetalError;

/// Everything but letters, digits and `-._~`, by RFC 5849.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub struct ApiKey {
    consumer: String,
    token: String,
    secret: Secret,
}

impl ApiKey {
    /// From `consumer:token:secret`, as MAAS shows keys.
    pub fn parse(key: &Secret) -> Result<ApiKey, MetalError> {
        const WRONG: MetalError = MetalError::BadAccess("an API key has three parts: `consumer:token:secret`");
        let text = key.expose_text().ok_or(WRONG)?.trim();
        let mut parts = text.split(':');
        let mut part = || parts.next().filter(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_graphic()));
        let (Some(consumer), Some(token), Some(secret)) = (part(), part(), part()) else { return Err(WRONG) };
        if parts.next().is_some() {
            return Err(WRONG);
        }
        Ok(ApiKey { consumer: consumer.to_owned(), token: token.to_owned(), secret: secret.to_owned().into() })
    }

    /// The `Authorization` header of one request.
    pub fn header(&self, seconds: i64) -> Secret {
        let nonce = random_token("n");
        let secret = encode(self.secret.expose_text().unwrap_or_default());
        // The signature is the consumer's secret, which is empty, and the token's.
        let header = format!(
            "OAuth oauth_version=\"1.0\", oauth_signature_method=\"PLAINTEXT\", oauth_consumer_key=\"{}\", \
             oauth_token=\"{}\", oauth_signature=\"{}\", oauth_nonce=\"{}\", oauth_timestamp=\"{seconds}\"",
            encode(&self.consumer),
            encode(&self.token),
            encode(&format!("&{secret}")),
            encode(nonce.expose_text().unwrap_or_default()),
        );
        header.into()
    }
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Result<ApiKey, MetalError> {
        ApiKey::parse(&text.to_owned().into())
    }

    #[test]
    fn a_key_has_three_parts() {
        assert!(key("a:b:c").is_ok() && key(" a:b:c\n").is_ok());
        for wrong in ["", "a", "a:b", "a:b:", ":b:c", "a:b:c:d", "a:b:c d"] {
            assert!(key(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_header_carries_the_key_as_rfc_5849_says() {
        let key = key("consumer:to/ken:se&cret").unwrap();
        let header = key.header(7).expose_text().unwrap().to_owned();
        assert!(header.starts_with("OAuth oauth_version=\"1.0\", oauth_signature_method=\"PLAINTEXT\", "));
        assert!(header.contains("oauth_consumer_key=\"consumer\", oauth_token=\"to%2Fken\""), "{header}");
        assert!(header.contains("oauth_signature=\"%26se%2526cret\"") && header.contains("oauth_timestamp=\"7\""));
        assert_ne!(header, key.header(7).expose_text().unwrap(), "a nonce is used once");
    }
}
