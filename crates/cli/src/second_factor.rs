//! Second factors on a terminal: answering the challenge of a sign-in, and
//! confirming one again for what asks for it. Passkeys are for browsers; here,
//! codes and recovery codes are.

use client::{Client, ClientError};
use contract::{
    Code, Nothing, SecretText,
    mfa::{FinishMfa, MfaAnswer, MfaChallenge, MfaMethod},
    sessions::TokenSet,
};

use crate::{
    failure::{Class, Failure},
    prompt,
};

/// How often somebody may mistype before the command ends.
const ATTEMPTS: usize = 3;

/// Goes on to the second factor where a sign-in asks for one.
pub async fn finish(
    client: &Client,
    signed_in: Result<TokenSet, ClientError>,
    code: Option<&SecretText>,
) -> Result<TokenSet, Failure> {
    let mut error = match signed_in {
        Ok(tokens) => return Ok(tokens),
        Err(error) => error,
    };
    let asked = error.problem().filter(|_| error.is(Code::MfaRequired)).and_then(|it| it.challenge.clone());
    let Some(challenge) = asked else { return Err(error.into()) };
    for _ in 0..ATTEMPTS {
        let answer = answer(&challenge, code).await?;
        error = match client.call::<FinishMfa>(Nothing {}, Nothing {}, answer).await {
            Ok(tokens) => return Ok(tokens),
            Err(error) => error,
        };
        if code.is_some() || !error.is(Code::Unauthenticated) {
            break;
        }
        eprintln!("{error}");
    }
    Err(Failure::from(error).with_advice("Wait for the next code and try again, or use a recovery code."))
}

/// The answer that was given, or what the person types.
pub async fn answer(challenge: &MfaChallenge, given: Option<&SecretText>) -> Result<MfaAnswer, Failure> {
    let typed = match given {
        Some(given) => given.clone(),
        None if !prompt::is_possible() => return Err(cannot_ask()),
        None => prompt::secret(question(challenge)).await?,
    };
    let token = SecretText::new(challenge.token.expose().to_owned());
    let (code, recovery_code) = match is_code(typed.expose()) {
        true => (Some(typed), None),
        false => (None, Some(typed)),
    };
    Ok(MfaAnswer { challenge: token, code, recovery_code, passkey: None })
}

fn question(challenge: &MfaChallenge) -> &'static str {
    match challenge.methods.iter().any(|it| *it == MfaMethod::Totp) {
        true => "Authenticator or recovery code",
        false => "Recovery code (passkeys work in the console only)",
    }
}

/// Six digits are a code, anything else a recovery code.
fn is_code(text: &str) -> bool {
    let digits: Vec<char> = text.chars().filter(|it| !it.is_whitespace()).collect();
    digits.len() == 6 && digits.iter().all(char::is_ascii_digit)
}

fn cannot_ask() -> Failure {
    Failure::new(
        Class::Forbidden,
        "a second factor is required, but there is no terminal to prompt on",
        "Pass --code with an authenticator or recovery code, or use an API key: `gpuaas keys create`.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_a_code_and_the_rest_are_recovery_codes() {
        for code in ["123456", "123 456", " 000000 "] {
            assert!(is_code(code), "{code}");
        }
        for other in ["", "12345", "1234567", "abcd-efgh-ijkl-mnop", "12345a"] {
            assert!(!is_code(other), "{other}");
        }
    }
}
