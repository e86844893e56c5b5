//! Which problems an operation can answer: those of the gates, which follow
//! from its policy, and those its handler declares.

use std::collections::BTreeMap;

use crate::{Auth, Code, EndpointInfo, OrganizationStates, SecondFactor, Verb};

/// Every problem that the operation can answer, by status. The server may
/// answer nothing else, and the document lists exactly these.
pub fn statuses(info: &EndpointInfo) -> BTreeMap<u16, Vec<Code>> {
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    // The order of the catalog, so that equal sets read the same everywhere.
    for code in Code::ALL {
        if at_gates(info, *code) || info.problems.contains(code) {
            by_status.entry(code.info().status).or_default().push(*code);
        }
    }
    by_status
}

/// Without a wildcard: a new code must say whether gates answer it.
fn at_gates(info: &EndpointInfo, code: Code) -> bool {
    let policy = info.policy;
    // A verb that may carry a body has one refused or parsed even where none is expected.
    let takes_body = matches!(info.verb, Verb::POST | Verb::PUT | Verb::PATCH);
    match code {
        Code::InvalidPath => info.path.contains('{'),
        Code::InvalidQuery | Code::InvalidHeader => true,
        Code::InvalidBody | Code::RequestTimeout | Code::PayloadTooLarge | Code::UnsupportedMediaType => takes_body,
        Code::Unauthenticated => !matches!(policy.auth, Auth::Public { .. }),
        Code::Forbidden => match policy.auth {
            Auth::Public { .. } | Auth::SignedIn => false,
            Auth::Person | Auth::Organization(_) | Auth::Project(_) | Auth::Platform(_) => true,
        },
        Code::Suspended => {
            let is_inside = matches!(policy.auth, Auth::Organization(_) | Auth::Project(_));
            is_inside && info.verb != Verb::GET && policy.organization_states == OrganizationStates::Active
        }
        // A foreign thing answers as one that does not exist.
        Code::NotFound => matches!(policy.auth, Auth::Organization(_) | Auth::Project(_)),
        Code::InProgress | Code::KeyReused => policy.idempotency.needs_key(),
        Code::SignInNeeded => policy.auth == Auth::Person && info.verb != Verb::GET,
        Code::MfaEnrollmentRequired => {
            matches!(policy.second_factor, SecondFactor::Enrolled | SecondFactor::Recent)
        }
        Code::StepUpRequired => {
            matches!(policy.second_factor, SecondFactor::Recent | SecondFactor::RecentOnceEnrolled)
        }
        Code::TooManyRequests | Code::HeadersTooLarge | Code::Internal | Code::Unavailable => true,
        // Answered before an operation is known.
        Code::MethodNotAllowed => false,
        Code::MfaRequired
        | Code::SignInAgain
        | Code::ScopeExceeded
        | Code::SelfServiceOff
        | Code::Conflict
        | Code::NameTaken
        | Code::LastOwner
        | Code::InvalidValue
        | Code::InsufficientFunds
        | Code::MailOff
        | Code::PaymentsOff
        | Code::NotPriced
        | Code::ApprovalRequired
        | Code::LimitReached
        | Code::AccessRefused => false,
    }
}
