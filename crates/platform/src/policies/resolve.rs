//! Which of the values set at the levels applies. Pure.

use contract::policies::PolicyLevel;

use super::settings::KeyInfo;

/// The values set for one key, where set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Levels {
    pub platform: Option<String>,
    pub organization: Option<String>,
    pub project: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub value: String,
    pub source: PolicyLevel,
}

/// The lowest level that is set applies, unless it loosens a guardrail.
pub fn resolve(key: &KeyInfo, levels: &Levels) -> Resolved {
    let mut applies = Resolved { value: key.default_text(), source: PolicyLevel::Default };
    let set = [
        (PolicyLevel::Platform, &levels.platform),
        (PolicyLevel::Organization, &levels.organization),
        (PolicyLevel::Project, &levels.project),
    ];
    for (source, value) in set {
        let Some(value) = value else { continue };
        // The platform may loosen the built-in default; below it, guardrails hold.
        if source == PolicyLevel::Platform || key.is_within(value, &applies.value) {
            applies = Resolved { value: value.clone(), source };
        }
    }
    applies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::settings;

    fn levels(platform: Option<&str>, organization: Option<&str>, project: Option<&str>) -> Levels {
        let own = |it: Option<&str>| it.map(str::to_owned);
        Levels { platform: own(platform), organization: own(organization), project: own(project) }
    }

    #[test]
    fn the_lowest_level_applies_and_guardrails_only_tighten() {
        let key = settings::PROJECTS_MAX.0;
        let value = |it| resolve(key, &it).value;
        assert_eq!(value(levels(None, None, None)), "100");
        assert_eq!(value(levels(Some("500"), None, None)), "500", "the platform may loosen the default");
        assert_eq!(value(levels(Some("500"), Some("50"), None)), "50");
        assert_eq!(value(levels(Some("50"), Some("500"), None)), "50", "an organization may not loosen it");
        let recording = settings::ACCESS_RECORDING.0;
        let value = |it| resolve(recording, &it).value;
        assert_eq!(value(levels(None, Some("required"), Some("off"))), "required", "a project may not loosen it");
        assert_eq!(value(levels(Some("on"), None, Some("required"))), "required");
        let days = settings::ACCESS_RECORDING_DAYS.0;
        let value = |it| resolve(days, &it).value;
        assert_eq!(value(levels(Some("365"), Some("1"), Some("2"))), "365", "what is evidence may only last longer");
        assert_eq!(value(levels(Some("30"), Some("60"), Some("90"))), "90");
        let input = settings::ACCESS_RECORD_INPUT.0;
        let value = |it| resolve(input, &it).value;
        assert_eq!(value(levels(Some("true"), Some("false"), None)), "true", "a flag may only be turned on");
        assert_eq!(value(levels(None, Some("true"), Some("false"))), "true");
        let free = settings::EVENTS_DAYS.0;
        assert_eq!(resolve(free, &levels(Some("5"), Some("50"), None)).value, "50");
    }

    #[test]
    fn every_key_is_well_formed() {
        for key in settings::ALL {
            assert!(key.check(&key.default_text()).is_ok(), "{}: its default is out of bounds", key.name);
            assert_eq!(settings::ALL.iter().filter(|it| it.name == key.name).count(), 1, "{} is unique", key.name);
            assert!(key.name.contains('.') && !key.about.trim().is_empty(), "{}", key.name);
        }
    }
}
