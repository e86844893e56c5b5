//! Listing, explaining, setting and unsetting policies at each level.

use contract::{
    Code, Open, Page, Word,
    id::{OrganizationId, ProjectId},
    policies::{
        GetOrganizationPolicy, GetPlatformPolicy, GetProjectPolicy, ListOrganizationPolicies, ListPlatformPolicies,
        ListProjectPolicies, Policy, PolicyFilter, PolicyLevel, PolicySet, PolicySetting, PolicyUnset,
        SetOrganizationPolicy, SetPlatformPolicy, SetProjectPolicy, UnsetOrganizationPolicy, UnsetPlatformPolicy,
        UnsetProjectPolicy,
    },
};

use super::{
    Reactions,
    resolve::resolve,
    settings::{self, ALL, Guardrail, KeyInfo, RENAMED},
    store::{self, Setting},
};
use crate::{
    Platform,
    events::emit,
    four_eyes::{CorrectionRequest, Proposal, second_person},
    http::{Call, Failure, Handle, Request},
};

/// Where a policy is asked about or set.
#[derive(Debug, Clone, Copy)]
struct PolicyTarget {
    organization: Option<OrganizationId>,
    project: Option<ProjectId>,
}

const PLATFORM: PolicyTarget = PolicyTarget { organization: None, project: None };

impl PolicyTarget {
    fn organization(call: &Call) -> Self {
        Self { organization: Some(call.organization()), project: None }
    }

    fn project(call: &Call, project: ProjectId) -> Self {
        Self { organization: Some(call.organization()), project: Some(project) }
    }

    fn level(self) -> PolicyLevel {
        match (self.organization, self.project) {
            (_, Some(_)) => PolicyLevel::Project,
            (Some(_), None) => PolicyLevel::Organization,
            (None, None) => PolicyLevel::Platform,
        }
    }
}

macro_rules! level {
    ($list:ident, $get:ident, $set:ident, $unset:ident, |$call:ident, $path:ident| $place:expr) => {
        impl Handle<$list> for Platform {
            async fn handle(&self, $call: &mut Call, request: Request<$list>) -> Result<Page<Policy>, Failure> {
                let $path = request.path;
                let _ = &$path;
                let place = $place;
                list($call, place, &request.query).await
            }
        }
        impl Handle<$get> for Platform {
            async fn handle(&self, $call: &mut Call, request: Request<$get>) -> Result<Policy, Failure> {
                let $path = request.path;
                let place = $place;
                explain($call, place, key(&$path.key)?).await
            }
        }
        impl Handle<$set> for Platform {
            async fn handle(&self, $call: &mut Call, request: Request<$set>) -> Result<Policy, Failure> {
                let $path = request.path;
                let place = $place;
                set(self, $call, place, key(&$path.key)?, &request.body.value).await
            }
        }
        impl Handle<$unset> for Platform {
            async fn handle(&self, $call: &mut Call, request: Request<$unset>) -> Result<Policy, Failure> {
                let $path = request.path;
                let place = $place;
                unset(self, $call, place, key(&$path.key)?).await
            }
        }
    };
}

level!(ListPlatformPolicies, GetPlatformPolicy, SetPlatformPolicy, UnsetPlatformPolicy, |call, path| PLATFORM);
level!(
    ListOrganizationPolicies,
    GetOrganizationPolicy,
    SetOrganizationPolicy,
    UnsetOrganizationPolicy,
    |call, path| PolicyTarget::organization(call)
);
level!(
    ListProjectPolicies,
    GetProjectPolicy,
    SetProjectPolicy,
    UnsetProjectPolicy,
    |call, path| PolicyTarget::project(call, path.project_id)
);

fn key(name: &str) -> Result<&'static KeyInfo, Failure> {
    KeyInfo::find(name).ok_or_else(|| match RENAMED.iter().find(|(old, _)| *old == name) {
        Some((old, new)) => Failure::new(Code::NotFound, format_args!("the policy `{old}` was renamed to `{new}`")),
        None => Failure::not_found("policy; run `policies list` to list all policies"),
    })
}

/// Every policy fits one page: the keys are a short list in the code.
async fn list(call: &mut Call, place: PolicyTarget, filter: &PolicyFilter) -> Result<Page<Policy>, Failure> {
    let settings = settings(call, None, place).await?;
    let wanted = |policy: &Policy| {
        let here = policy.levels.last().is_some_and(|it| it.value.is_some());
        filter.set_here.is_none_or(|it| it == here)
    };
    // What only the platform sets is no business of a tenant's list.
    let concerns = |key: &&&'static KeyInfo| place.organization.is_none() || key.deepest >= PolicyLevel::Organization;
    let items = ALL.iter().filter(concerns).map(|it| describe(it, place, &settings)).filter(wanted).collect();
    Ok(Page { items, next_cursor: None })
}

async fn explain(call: &mut Call, place: PolicyTarget, key: &'static KeyInfo) -> Result<Policy, Failure> {
    let settings = settings(call, Some(key.name), place).await?;
    Ok(describe(key, place, &settings))
}

async fn set(
    platform: &Platform,
    call: &mut Call,
    place: PolicyTarget,
    key: &'static KeyInfo,
    value: &str,
) -> Result<Policy, Failure> {
    let value = accept(call, place, key, value).await?;
    by_two(platform, call, place, key, Some(&value)).await?;
    write(call, place, key, value).await
}

async fn unset(
    platform: &Platform,
    call: &mut Call,
    place: PolicyTarget,
    key: &'static KeyInfo,
) -> Result<Policy, Failure> {
    by_two(platform, call, place, key, None).await?;
    remove(call, place, key).await
}

/// Sets or unsets a policy of the platform, as two agreed.
pub async fn change(call: &mut Call, name: &str, value: Option<&str>) -> Result<Policy, Failure> {
    let key = key(name)?;
    match value {
        None => remove(call, PLATFORM, key).await,
        Some(value) => {
            let value = accept(call, PLATFORM, key, value).await?;
            write(call, PLATFORM, key, value).await
        }
    }
}

/// Four eyes guard their own switch: whoever could turn them off alone would
/// need no second person for anything.
async fn by_two(
    platform: &Platform,
    call: &mut Call,
    place: PolicyTarget,
    key: &'static KeyInfo,
    value: Option<&str>,
) -> Result<(), Failure> {
    let guarded = settings::BILLING_FOUR_EYES;
    if place.level() != PolicyLevel::Platform || key.name != guarded.0.name || guarded.read(value) {
        return Ok(());
    }
    call.about(key.name);
    let summary = match value {
        Some(value) => format!("set the policy `{}` to {value} for the platform", key.name),
        None => format!("unset the policy `{}` for the platform", key.name),
    };
    let proposal = Proposal::Policy { key: key.name.to_owned(), value: value.map(str::to_owned) };
    second_person(platform, call, CorrectionRequest { proposal, organization: None, summary, reason: "" }).await
}

/// The value as it is stored, if it may be set there.
async fn accept(call: &mut Call, place: PolicyTarget, key: &'static KeyInfo, value: &str) -> Result<String, Failure> {
    let level = place.level();
    if level > key.deepest {
        let detail = format!("`{}` cannot be set below the level {}", key.name, key.deepest);
        return Err(Failure::new(Code::InvalidValue, detail));
    }
    let value = key.check(value).map_err(|detail| Failure::new(Code::InvalidValue, detail))?;
    if level != PolicyLevel::Platform && key.guardrail != Guardrail::None {
        let mut above = store::levels(&mut call.tx, key.name, place.organization.map(|it| it.uuid()), None).await?;
        if level == PolicyLevel::Organization {
            above.organization = None;
        }
        let above = resolve(key, &above);
        if !key.is_within(&value, &above.value) {
            let how = match key.guardrail {
                Guardrail::LowerOnly => "be lowered",
                Guardrail::RaiseOnly => "be raised",
                Guardrail::StricterOnly | Guardrail::None => "become stricter",
            };
            let detail = format!("the {} sets {}, which may only {how} at this level", above.source, above.value);
            return Err(Failure::new(Code::InvalidValue, detail));
        }
    }
    Ok(value)
}

async fn write(call: &mut Call, place: PolicyTarget, key: &'static KeyInfo, value: String) -> Result<Policy, Failure> {
    let level = place.level();
    store::set(
        &mut call.tx,
        key.name,
        place.organization.map(|it| it.uuid()),
        place.project.map(|it| it.uuid()),
        &value,
    )
    .await?;
    react(call, place, key).await?;
    call.about(key.name);
    call.note("value", value.clone());
    call.note("level", level.as_str());
    let event = PolicySet { key: key.name.into(), level: level.into(), project_id: place.project, value };
    emit(&mut call.tx, place.organization, key.name, &event);
    explain(call, place, key).await
}

async fn remove(call: &mut Call, place: PolicyTarget, key: &'static KeyInfo) -> Result<Policy, Failure> {
    let level = place.level();
    let (organization, project) = (place.organization.map(|it| it.uuid()), place.project.map(|it| it.uuid()));
    call.about(key.name);
    call.note("level", level.as_str());
    if store::unset(&mut call.tx, key.name, organization, project).await? {
        react(call, place, key).await?;
        let event = PolicyUnset { key: key.name.into(), level: level.into(), project_id: place.project };
        emit(&mut call.tx, place.organization, key.name, &event);
    }
    explain(call, place, key).await
}

/// What other areas do at once.
async fn react(call: &mut Call, place: PolicyTarget, key: &KeyInfo) -> Result<(), Failure> {
    if place.level() == PolicyLevel::Platform {
        call.tx.hook::<dyn Reactions>().platform_policy_changed(&mut call.tx, key.name).await?;
    }
    Ok(())
}

async fn settings(call: &mut Call, key: Option<&str>, place: PolicyTarget) -> Result<Vec<Setting>, Failure> {
    let (organization, project) = (place.organization.map(|it| it.uuid()), place.project.map(|it| it.uuid()));
    Ok(store::settings(&mut call.tx, key, organization, project).await?)
}

fn describe(key: &'static KeyInfo, place: PolicyTarget, settings: &[Setting]) -> Policy {
    let levels = store::by_level(settings, key.name);
    let resolved = resolve(key, &levels);
    let chain = [
        (PolicyLevel::Default, Some(key.default_text())),
        (PolicyLevel::Platform, levels.platform),
        (PolicyLevel::Organization, levels.organization),
        (PolicyLevel::Project, levels.project),
    ];
    let set_at = |level: PolicyLevel| {
        let (organization, project) = (level >= PolicyLevel::Organization, level == PolicyLevel::Project);
        settings
            .iter()
            .find(|it| {
                it.key == key.name && it.organization.is_some() == organization && it.project.is_some() == project
            })
            .map(|it| it.set_at)
    };
    let levels = chain
        .into_iter()
        .filter(|(level, _)| *level <= place.level())
        .map(|(level, value)| PolicySetting {
            level: level.into(),
            overridden: value.is_some() && level > resolved.source,
            set_at: if level == PolicyLevel::Default { None } else { set_at(level) },
            value,
        })
        .collect();
    Policy {
        key: key.name.into(),
        about: key.about.trim().into(),
        unit: key.unit.into(),
        value: resolved.value,
        source: Open::Known(resolved.source),
        default: key.default_text(),
        accepts: key.accepts(),
        guardrail: key.guardrail != Guardrail::None,
        lowest_level: key.deepest.into(),
        levels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_of_before_is_refused_with_its_new_name() {
        for (old, new) in RENAMED {
            let refused = key(old).err().unwrap().into_builder();
            assert_eq!(
                (refused.code, refused.detail),
                (Code::NotFound, format!("the policy `{old}` was renamed to `{new}`"))
            );
            assert!(key(new).is_ok(), "{new} is a policy");
        }
    }

    #[test]
    fn policy_that_never_existed_is_not_found() {
        let refused = key("placement.unheard_of").err().unwrap().into_builder();
        assert!(refused.detail.contains("no such policy"), "{}", refused.detail);
    }
}
