//! What can go wrong, and what people and scripts learn of it. The classes
//! are the exit codes that `gpuaas --help` lists.

use std::{error::Error, fmt::Write, io};

use client::ClientError;
use contract::{Code, Problem};
use serde_json::{Value, json};

/// How a command ends.
pub type Done = Result<(), Failure>;

macro_rules! classes {
    ($($class:ident = $code:literal $word:literal $meaning:literal;)+) => {
        /// What kind of failure it is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Class { $($class = $code),+ }

        impl Class {
            pub const ALL: &'static [Class] = &[$(Class::$class),+];

            pub fn code(self) -> u8 {
                self as u8
            }
            /// For programs, where the server gave no code of its own.
            pub fn word(self) -> &'static str {
                match self { $(Class::$class => $word),+ }
            }
            pub fn meaning(self) -> &'static str {
                match self { $(Class::$class => $meaning),+ }
            }
        }
    };
}

classes! {
    Negative = 1 "negative" "a check failed";
    Usage = 2 "usage" "invalid command or configuration, or missing confirmation";
    SignedOut = 3 "signed_out" "not signed in, or invalid credentials";
    Forbidden = 4 "forbidden" "permission denied";
    NotFound = 5 "not_found" "not found, or you do not have access";
    Conflict = 6 "conflict" "conflict with the current state or an existing name";
    Invalid = 7 "invalid" "the server rejected a value";
    Limited = 8 "limited" "too many requests";
    Unavailable = 9 "unavailable" "the server is unreachable or unavailable";
    Server = 10 "server" "server error";
}

#[derive(Debug)]
pub struct Failure {
    pub class: Class,
    detail: String,
    advice: String,
    problem: Option<Box<Problem>>,
    /// The reader of the output has gone, so nobody would see an error.
    unheard: bool,
    /// What a remote command ended with, which is passed on.
    exited: Option<u8>,
}

const REPLAYED: &str = "This response is replayed from an earlier request with the same idempotency key. \
     After fixing the cause, use another key, or retry this one after a minute.";

impl Failure {
    pub fn new(class: Class, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { class, detail: detail.into(), advice: advice.into(), problem: None, unheard: false, exited: None }
    }

    /// The correlation id of the earlier request with the same idempotency key
    /// whose refusal this repeats.
    pub fn replay_of(&self) -> Option<&str> {
        self.problem.as_ref().filter(|it| it.is_replay).map(|it| it.correlation_id.as_str())
    }

    /// What went wrong, without what to do about it.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    pub fn is(&self, code: Code) -> bool {
        self.problem.as_ref().is_some_and(|it| it.code == code.info().name)
    }

    pub fn usage(detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Class::Usage, detail, advice)
    }

    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// A remote command's own failure: it has said what there was to say.
    pub fn exited(code: i32) -> Self {
        let exited = Some(u8::try_from(code).unwrap_or(u8::MAX));
        Self { unheard: true, exited, ..Self::new(Class::Negative, format!("the command exited with {code}"), "") }
    }

    /// Says first what it is about.
    pub fn with_prefix(mut self, about: &str) -> Self {
        self.detail = format!("{about}: {}", self.detail);
        self
    }

    pub fn exit_code(&self) -> u8 {
        match self.exited {
            Some(code) => code,
            None if self.unheard => 0,
            None => self.class.code(),
        }
    }

    pub fn is_unheard(&self) -> bool {
        self.unheard
    }

    pub fn for_people(&self) -> String {
        let mut text = format!("error: {}", self.detail);
        let problem = self.problem.as_deref();
        if let Some(field) = problem.and_then(|it| it.field.as_ref()) {
            let _ = write!(text, " (in `{field}`)");
        }
        if !self.advice.is_empty() {
            let _ = write!(text, "\n  {}", self.advice);
        }
        if let Some(problem) = problem {
            let _ = write!(text, "\n  code: {}, correlation ID: {}", problem.code, problem.correlation_id);
        }
        text
    }

    /// The server's own problem where there is one, and the like where not.
    pub fn for_programs(&self) -> Value {
        match &self.problem {
            Some(problem) => json!(problem),
            None => json!({ "code": self.class.word(), "detail": self.detail, "advice": self.advice }),
        }
    }
}

/// By status and not by code, so that codes of a newer server have a class too.
fn class_of(status: u16) -> Class {
    match status {
        401 => Class::SignedOut,
        403 => Class::Forbidden,
        404 => Class::NotFound,
        409 => Class::Conflict,
        429 => Class::Limited,
        502..=504 => Class::Unavailable,
        400..=499 => Class::Invalid,
        _ => Class::Server,
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Problem(problem) => Self {
                class: class_of(problem.status),
                detail: problem.detail.clone(),
                advice: match problem.is_replay {
                    false => problem.advice.clone(),
                    true => format!("{} {REPLAYED}", problem.advice),
                },
                // What it asks for was answered or is not answered here, and is nobody's to print.
                problem: Some(Box::new(Problem { challenge: None, ..*problem })),
                unheard: false,
                exited: None,
            },
            ClientError::Unreachable { address, source } => unreachable(&address, &innermost(&*source)),
            ClientError::Malformed { status, .. } => Self::new(
                if status < 400 { Class::Server } else { class_of(status) },
                error.to_string(),
                "Check the server URL with `gpuaas context show`, and that this program is up to date.",
            ),
            other => Self::usage(other.to_string(), ""),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let unheard = error.kind() == io::ErrorKind::BrokenPipe;
        Self { unheard, ..Self::usage(format!("cannot write to standard output: {error}"), "") }
    }
}

fn unreachable(address: &str, cause: &str) -> Failure {
    // What TLS says when it is answered in plain text.
    if address.starts_with("https://") && cause.contains("InvalidContentType") {
        return Failure::new(
            Class::Unavailable,
            format!("the server at {address} does not speak TLS"),
            "Use an `http://` URL, as printed by `make dev`, or ask your operator for the `https://` one.",
        );
    }
    Failure::new(
        Class::Unavailable,
        format!("no response from {address}: {cause}"),
        "Check the server URL with `gpuaas context show`, and that the server is running.",
    )
}

/// Libraries wrap what the system said; only the last sentence helps people.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use contract::Code;

    use super::*;

    #[test]
    fn every_problem_of_the_catalog_has_the_exit_code_of_its_class() {
        let code = |it: Code| Failure::from(ClientError::Problem(Box::new(it.problem("x", "c-1")))).exit_code();
        assert_eq!(code(Code::Unauthenticated), 3);
        assert_eq!(code(Code::Forbidden), 4);
        assert_eq!(code(Code::Suspended), 4);
        assert_eq!(code(Code::NotFound), 5);
        assert_eq!(code(Code::NameTaken), 6);
        assert_eq!(code(Code::InvalidValue), 7);
        assert_eq!(code(Code::InvalidBody), 7);
        assert_eq!(code(Code::TooManyRequests), 8);
        assert_eq!(code(Code::Unavailable), 9);
        assert_eq!(code(Code::Internal), 10);
        for it in Code::ALL {
            assert!((3..=10).contains(&code(*it)), "{it:?}");
        }
    }

    #[test]
    fn client_errors_have_an_exit_code_too() {
        let source = Box::new(io::Error::from(io::ErrorKind::ConnectionRefused));
        let failure = Failure::from(ClientError::Unreachable { address: "http://host".into(), source });
        assert_eq!(failure.exit_code(), 9);
        assert!(failure.for_people().contains("connection refused"), "{}", failure.for_people());
        let plain =
            unreachable("https://127.0.0.1:8080/v1/whoami", "received corrupt message of type InvalidContentType");
        assert!(plain.exit_code() == 9 && plain.for_people().contains("`http://`"), "{}", plain.for_people());
        let malformed = |status| ClientError::Malformed { address: String::new(), status, what: String::new() };
        assert_eq!(Failure::from(malformed(200)).exit_code(), 10);
        assert_eq!(Failure::from(malformed(502)).exit_code(), 9);
        assert_eq!(Failure::from(ClientError::Unsendable("x".into())).exit_code(), 2);
    }

    #[test]
    fn people_read_detail_advice_and_correlation_id() {
        let problem = Code::NameTaken.problem("a project is called `a` already", "c-7");
        let text = Failure::from(ClientError::Problem(Box::new(problem))).for_people();
        assert_eq!(
            text,
            "error: a project is called `a` already\n  Choose another name.\n  code: name_taken, correlation ID: c-7"
        );
    }

    #[test]
    fn programs_read_the_problem_as_the_server_sent_it() {
        let problem = Code::Conflict.problem("x", "c-7");
        let failure = Failure::from(ClientError::Problem(Box::new(problem.clone())));
        assert_eq!(failure.for_programs(), json!(problem));
        let own = Failure::usage("x", "y").for_programs();
        assert_eq!(own, json!({ "code": "usage", "detail": "x", "advice": "y" }));
    }

    #[test]
    fn a_closed_output_pipe_is_not_a_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((failure.exit_code(), failure.is_unheard()), (0, true));
    }
}
