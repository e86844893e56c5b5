//! Names: operations, addresses, audit actions, identifiers.

use std::collections::BTreeSet;

use super::{assert_unique, endpoints, infos, is_dotted};
use crate::{Audit, Auth, Idempotency, Lane, SecondFactor, Verb, id, wording};

#[test]
fn an_operation_has_a_name_and_an_address_of_its_own() {
    assert_unique(infos().iter().map(|it| it.operation));
    assert_unique(infos().iter().map(|it| (it.verb.as_str(), it.path)));
}

#[test]
fn addresses_are_versioned() {
    for info in infos() {
        let versioned = info.path.starts_with("/v1/") || info.path.starts_with("/.well-known/");
        assert!(versioned, "{} is at {}", info.operation, info.path);
        assert!(!info.path.ends_with('/'), "{} ends with a slash", info.operation);
    }
}

#[test]
fn every_parameter_of_an_address_is_a_field_and_every_field_a_parameter() {
    for entry in endpoints() {
        let parameters: BTreeSet<String> =
            wording::path_parameters(entry.info.path).into_iter().map(str::to_owned).collect();
        let properties = entry.path["properties"].as_object();
        let fields: BTreeSet<String> = properties.into_iter().flatten().map(|it| it.0.clone()).collect();
        assert_eq!(parameters, fields, "{}", entry.info.operation);
    }
}

#[test]
fn a_scope_is_named_in_the_address() {
    for info in infos() {
        let parameters = wording::path_parameters(info.path);
        match info.policy.auth {
            Auth::Organization(_) => {
                assert!(parameters.contains(&"organization_id"), "{}", info.operation);
            }
            Auth::Project(_) => {
                assert!(parameters.contains(&"project_id"), "{}", info.operation);
            }
            Auth::Public { .. } | Auth::SignedIn | Auth::Person | Auth::Platform(_) => {}
        }
    }
}

#[test]
fn a_permission_is_of_the_scope_that_it_is_asked_in() {
    for info in infos() {
        if let Some(permission) = wording::permission(info.policy.auth) {
            let on_platform = matches!(info.policy.auth, Auth::Platform(_));
            assert_eq!(permission.is_platform(), on_platform, "{}", info.operation);
        }
    }
}

/// Actions that can be taken at several levels, each by an endpoint of its own.
const AT_EVERY_LEVEL: &[&str] = &["policy.set", "policy.unset"];

#[test]
fn an_audit_action_names_one_thing() {
    let mut actions = Vec::new();
    for info in infos() {
        if let Audit::Action(action) | Audit::AuditedRead(action) = info.policy.audit {
            assert!(is_dotted(action), "{}: `{action}`", info.operation);
            let level = AT_EVERY_LEVEL.contains(&action).then_some(wording::auth_kind(info.policy.auth));
            actions.push((action, level));
        }
    }
    assert_unique(actions);
}

/// What thieves come for: money, doors, and the guards themselves.
const MUST_STEP_UP: &[&str] = &[
    "AddSshKey",
    "AdjustBalance",
    "ApproveCorrection",
    "BreakGlass",
    "ChangeMember",
    "ChangePassword",
    "CreateInvitation",
    "CreatePayment",
    "CreatePersonalKey",
    "CreateRefund",
    "CreateServiceAccountKey",
    "GrantCredit",
    "RemoveFactor",
    "ReplaceRecoveryCodes",
    "RequestAddressChange",
    "ReverseJournal",
    "SetOrganizationPolicy",
    "SetPlatformPolicy",
    "SetPlatformRole",
    "SetPrice",
    "UnsetPlatformPolicy",
];

#[test]
fn second_factor_is_recent_for_money_break_glass_and_policies() {
    for operation in MUST_STEP_UP {
        let info = infos().into_iter().find(|it| it.operation == *operation).expect(operation);
        assert_eq!(info.policy.second_factor, SecondFactor::Recent, "{operation}");
    }
    for info in infos().iter().filter(|it| it.policy.lane == Lane::Financial && it.verb != Verb::GET) {
        assert_eq!(info.policy.second_factor, SecondFactor::Recent, "{}", info.operation);
    }
}

#[test]
fn a_reason_is_given_where_one_is_asked_for() {
    for info in infos() {
        let mut reasons = Vec::new();
        if let Auth::Public { because } = info.policy.auth {
            reasons.push(because);
        }
        if let Idempotency::Exempt { because } = info.policy.idempotency {
            reasons.push(because);
        }
        let said = reasons.iter().all(|it| it.split(' ').count() >= 3);
        assert!(said, "{}: {reasons:?}", info.operation);
    }
}

#[test]
fn every_operation_has_a_summary_that_ends() {
    for info in infos() {
        let summary = wording::summary(info.about);
        assert!(summary.ends_with('.'), "{}: `{summary}`", info.operation);
    }
}

#[test]
fn a_success_is_one() {
    for info in infos() {
        let fits = match info.verb {
            Verb::GET => matches!(info.success, 200 | 101),
            Verb::POST | Verb::PUT | Verb::PATCH | Verb::DELETE => (200..300).contains(&info.success),
        };
        assert!(fits, "{} answers {}", info.operation, info.success);
    }
}

#[test]
fn an_identifier_says_what_it_identifies() {
    assert_unique(id::PREFIXES);
    for prefix in id::PREFIXES {
        assert!(prefix.bytes().all(|it| it.is_ascii_lowercase()), "{prefix}");
        assert_ne!(*prefix, "c", "cursors have this prefix");
    }
}
