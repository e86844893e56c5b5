//! The gate for second factors: who must have one, and who must have used it
//! lately. What an endpoint asks is part of its policy in the contract.

use contract::{Auth, Code, EndpointInfo, SecondFactor, id::OrganizationId};

use super::ProblemBuilder;
use crate::{
    Platform,
    identity::{Caller, Membership, Principal, Requirement},
    policies::settings,
};

/// Refuses a person without the second factor that the endpoint asks for.
/// Programs have none: service accounts pass, and a personal key passes as far
/// as whoever made it had used theirs.
pub fn check(
    platform: &Platform,
    info: &EndpointInfo,
    caller: &Caller,
    organization: Option<OrganizationId>,
) -> Result<(), ProblemBuilder> {
    let asked = info.policy.second_factor;
    let Principal::Person { key, .. } = &caller.who else { return Ok(()) };
    if asked == SecondFactor::Exempt {
        return Ok(());
    }
    let is_enrolled = caller.second_factor.is_enrolled;
    let is_required =
        asked != SecondFactor::RecentOnceEnrolled && concerns(platform, info.policy.auth, caller, organization);
    if key.is_some() {
        let is_bound = is_enrolled || is_required;
        return match asked {
            SecondFactor::Recent if is_bound && caller.second_factor.at.is_none() => Err(ProblemBuilder::new(
                Code::StepUpRequired,
                "the key was created without a second factor: create another one in a session that used a second factor",
            )),
            _ => Ok(()),
        };
    }
    if is_required && !is_enrolled {
        let detail = "a policy requires a second factor, and your account has none";
        return Err(ProblemBuilder::new(Code::MfaEnrollmentRequired, detail));
    }
    if asked == SecondFactor::Enrolled || !is_enrolled {
        return Ok(());
    }
    let seconds = platform.policies.number(settings::MFA_STEP_UP_SECONDS);
    let now = platform.db.clock.estimate();
    match caller.second_factor.at {
        Some(at) if now <= at + settings::seconds(seconds) => Ok(()),
        _ => Err(ProblemBuilder::new(
            Code::StepUpRequired,
            format!("this request requires that you used your second factor within the last {seconds} seconds"),
        )),
    }
}

/// Whether any policy requires the person to have a second factor.
pub fn is_required(platform: &Platform, caller: &Caller) -> bool {
    let policy = platform.policies.choice(settings::MFA_REQUIRED);
    Requirement::parse(policy).concerns_person(caller.platform_role.is_some())
        || caller.memberships.iter().any(|it| concerns_member(policy, it))
}

/// Whether policy requires it for this request: an organization's own policy
/// concerns what happens in it, and the account itself.
fn concerns(platform: &Platform, auth: Auth, caller: &Caller, organization: Option<OrganizationId>) -> bool {
    let policy = platform.policies.choice(settings::MFA_REQUIRED);
    let of_platform = Requirement::parse(policy).concerns_person(caller.platform_role.is_some());
    match auth {
        Auth::Public { .. } => false,
        Auth::SignedIn | Auth::Person => is_required(platform, caller),
        Auth::Platform(_) => of_platform,
        Auth::Organization(_) | Auth::Project(_) => {
            let member = organization.and_then(|it| caller.membership(it));
            of_platform || member.is_some_and(|it| concerns_member(policy, it))
        }
    }
}

fn concerns_member(platform: &str, member: &Membership) -> bool {
    Requirement::within(platform, member.mfa_required).concerns_member(member.role)
}
