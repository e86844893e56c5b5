//! How a policy and its documentation read in the generated documents.

use serde_json::{Value, json};

use crate::{Audit, Auth, Idempotency, Permission, Policy, SecondFactor};

/// The whole policy, for programs and for people who read the document itself.
pub(crate) fn policy(policy: &Policy) -> Value {
    let mut fields = json!({
        "auth": auth_kind(policy.auth),
        "lane": policy.lane.as_str(),
        "second_factor": second_factor(policy.second_factor),
        "idempotency": idempotency(policy.idempotency),
        "audit": audit(policy.audit),
    });
    if let Some(permission) = permission(policy.auth) {
        fields["permission"] = json!(permission.to_string());
    }
    fields
}

/// Who may call, as the end of a sentence.
pub(crate) fn auth(auth: Auth) -> String {
    match auth {
        Auth::Public { because } => format!("anyone, because {because}"),
        Auth::SignedIn => "any signed-in caller, about itself".into(),
        Auth::Person => "any signed-in person, about themselves".into(),
        Auth::Organization(permission) => {
            format!("members of the organization with the permission `{permission}`")
        }
        Auth::Project(permission) => {
            format!("members of the project's organization with the permission `{permission}`")
        }
        Auth::Platform(permission) => {
            format!("platform staff with the permission `{permission}`")
        }
    }
}

/// One word for programs.
pub(crate) fn auth_kind(auth: Auth) -> &'static str {
    match auth {
        Auth::Public { .. } => "public",
        Auth::SignedIn => "signed_in",
        Auth::Person => "person",
        Auth::Organization(_) => "organization",
        Auth::Project(_) => "project",
        Auth::Platform(_) => "platform",
    }
}

pub(crate) fn permission(auth: Auth) -> Option<Permission> {
    match auth {
        Auth::Public { .. } | Auth::SignedIn | Auth::Person => None,
        Auth::Organization(it) | Auth::Project(it) | Auth::Platform(it) => Some(it),
    }
}

pub(crate) fn second_factor(second_factor: SecondFactor) -> &'static str {
    match second_factor {
        SecondFactor::Exempt => "none",
        SecondFactor::Enrolled => "where policy requires one",
        SecondFactor::Recent => "recent",
        SecondFactor::RecentOnceEnrolled => "recent, once the account has one",
    }
}

pub(crate) fn idempotency(idempotency: Idempotency) -> String {
    match idempotency {
        Idempotency::Natural => "natural".into(),
        Idempotency::KeyRequired => "key required".into(),
        Idempotency::KeyRequiredSealed => "key required, kept answer sealed".into(),
        Idempotency::Exempt { because } => format!("exempt, because {because}"),
    }
}

pub(crate) fn audit(audit: Audit) -> String {
    match audit {
        Audit::Action(action) => format!("`{action}`"),
        Audit::ReadOnly => "none, reads only".into(),
        Audit::AuditedRead(action) => format!("`{action}`, a read that is recorded"),
    }
}

/// The first line of a documentation comment.
pub(crate) fn summary(about: &[&'static str]) -> &'static str {
    about.first().copied().unwrap_or_default().trim()
}

/// What follows the first line, one string per paragraph.
pub(crate) fn paragraphs(about: &[&'static str]) -> Vec<String> {
    let rest: Vec<&str> = about.iter().skip(1).map(|it| it.trim()).collect();
    rest.split(|it| it.is_empty()).filter(|it| !it.is_empty()).map(|it| it.join(" ")).collect()
}

/// The names between braces in a path, in order.
pub(crate) fn path_parameters(path: &str) -> Vec<&str> {
    path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}')).collect()
}
