//! Where the value of a policy comes from, in words.

use contract::{
    Timestamp,
    policies::{Policy, PolicyLevel, PolicySetting},
};
use serde_json::json;

use crate::table;

pub fn explain(policy: &Policy, now: Timestamp) -> String {
    let rows: Vec<_> = policy
        .levels
        .iter()
        .map(|it| {
            let note = match (it.level == policy.source, it.overridden) {
                (true, _) => "applies",
                (false, true) => "overridden by a higher-level guardrail",
                (false, false) => "",
            };
            json!({ "level": it.level, "value": it.value, "set_at": it.set_at, "note": note })
        })
        .collect();
    [
        format!("{} = {} {}", policy.key, policy.value, policy.unit).trim_end().to_owned(),
        format!("{}. Accepted: {}.", policy.about.trim_end_matches('.'), policy.accepts.trim_end_matches('.')),
        String::new(),
        table::rows(&rows, &["level", "value", "set_at", "note"], now),
        String::new(),
        why(policy),
    ]
    .join("\n")
}

fn why(policy: &Policy) -> String {
    let source = policy.source.as_str();
    let overridden: Vec<&PolicySetting> = policy.levels.iter().filter(|it| it.overridden).collect();
    if let Some(last) = overridden.last() {
        return format!(
            "It is a guardrail, which lower levels can only tighten. The {source} level applies because it is stricter than the {} level.",
            last.level
        );
    }
    let guardrail = if policy.guardrail { " It is a guardrail: lower levels can only tighten it." } else { "" };
    if policy.source == PolicyLevel::Default {
        return format!("It is not set at any level, so the default applies.{guardrail}");
    }
    let asked = policy.levels.last().map(|it| &it.level);
    if asked == Some(&policy.source) {
        return format!("It is set at the {source} level.{guardrail}");
    }
    format!("It is inherited from the {source} level, the closest one that sets it.{guardrail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-03-01T00:00:00Z";

    fn policy(source: PolicyLevel, guardrail: bool, levels: &[(PolicyLevel, Option<&str>, bool)]) -> Policy {
        let setting = |(level, value, overridden): &(PolicyLevel, Option<&str>, bool)| PolicySetting {
            level: (*level).into(),
            value: value.map(str::to_owned),
            set_at: value.filter(|_| *level != PolicyLevel::Default).map(|_| "2026-02-28T00:00:00Z".parse().unwrap()),
            overridden: *overridden,
        };
        Policy {
            key: "projects.max".into(),
            about: "How many projects an organization may have".into(),
            unit: "count".into(),
            value: "20".into(),
            source: source.into(),
            default: "50".into(),
            accepts: "1 to 1000".into(),
            guardrail,
            lowest_level: PolicyLevel::Organization.into(),
            levels: levels.iter().map(setting).collect(),
        }
    }

    fn explained(policy: &Policy) -> String {
        explain(policy, NOW.parse().unwrap())
    }

    #[test]
    fn the_chain_of_levels_is_shown_with_the_one_that_applies() {
        use PolicyLevel as L;
        let levels =
            [(L::Default, Some("50"), false), (L::Platform, Some("20"), false), (L::Organization, None, false)];
        let expected = [
            "projects.max = 20 count",
            "How many projects an organization may have. Accepted: 1 to 1000.",
            "",
            "LEVEL         VALUE  SET     NOTE",
            "default       50     -",
            "platform      20     1d ago  applies",
            "organization  -      -",
            "",
            "It is inherited from the platform level, the closest one that sets it.",
        ];
        assert_eq!(explained(&policy(L::Platform, false, &levels)), expected.join("\n"));
    }

    #[test]
    fn each_reason_has_its_sentence() {
        use PolicyLevel as L;
        let default = (L::Default, Some("50"), false);
        let text = explained(&policy(L::Default, false, &[default]));
        assert!(text.ends_with("It is not set at any level, so the default applies."), "{text}");
        let text = explained(&policy(L::Platform, true, &[default, (L::Platform, Some("20"), false)]));
        assert!(text.contains("It is set at the platform level. It is a guardrail"), "{text}");
        let levels = [default, (L::Platform, Some("20"), false), (L::Organization, Some("70"), true)];
        let text = explained(&policy(L::Platform, true, &levels));
        assert!(text.contains("overridden by a higher-level guardrail"), "{text}");
        assert!(text.contains("stricter than the organization level"), "{text}");
    }
}
