//! What a command is about to do, as people and programs read it.

use contract::Label;
use serde::Serialize;

use crate::table::harmless;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Create,
    Change,
    Replace,
    Remove,
    /// It is as it should be, or stays as it is.
    Keep,
    /// It can be done in no way that was allowed.
    Refuse,
}

impl Action {
    pub fn sign(self) -> &'static str {
        match self {
            Action::Create => "+",
            Action::Change => "~",
            Action::Replace => "-+",
            Action::Remove => "-",
            Action::Keep => "=",
            Action::Refuse => "!",
        }
    }

    pub fn verb(self) -> &'static str {
        match self {
            Action::Create => "create",
            Action::Change => "change",
            Action::Replace => "replace",
            Action::Remove => "delete",
            Action::Keep => "keep",
            Action::Refuse => "refuse",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    pub field: String,
    pub before: String,
    pub after: String,
    pub in_place: bool,
}

impl Difference {
    /// None where both are the same.
    pub fn between(field: &str, before: impl ToString, after: impl ToString, in_place: bool) -> Option<Self> {
        let (before, after) = (before.to_string(), after.to_string());
        (before != after).then(|| Self { field: field.to_owned(), before, after, in_place })
    }
}

#[derive(Debug, Serialize)]
pub struct Step {
    pub action: Action,
    pub kind: &'static str,
    pub name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Plan {
    pub stack: Label,
    pub steps: Vec<Step>,
}

impl Plan {
    pub fn count(&self, action: Action) -> usize {
        self.steps.iter().filter(|it| it.action == action).count()
    }

    pub fn does_nothing(&self) -> bool {
        self.steps.iter().all(|it| it.action == Action::Keep)
    }

    /// `2 to create, 1 to change`
    pub fn summary(&self) -> String {
        let all = [Action::Create, Action::Change, Action::Replace, Action::Remove, Action::Refuse];
        let counted = all.iter().map(|it| (self.count(*it), it)).filter(|(count, _)| *count > 0);
        let parts: Vec<String> = counted
            .map(|(count, it)| match it {
                Action::Refuse => format!("{count} not possible"),
                _ => format!("{count} to {}", it.verb()),
            })
            .collect();
        if parts.is_empty() { "no changes".to_owned() } else { parts.join(", ") }
    }

    pub fn for_people(&self) -> String {
        let mut lines = Vec::new();
        for step in &self.steps {
            let Step { action, kind, name, differences, note, .. } = step;
            // What stays as it is needs no line, unless there is something to say.
            if *action == Action::Keep && note.is_none() {
                continue;
            }
            let note = note.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            lines.push(harmless(&format!("{:<2} {kind} {name}{note}", action.sign())));
            for Difference { field, before, after, in_place } in differences {
                let said = if *in_place { "" } else { " (requires replacement)" };
                lines.push(harmless(&format!("     {field}: {before} → {after}{said}")));
            }
        }
        lines.push(format!("{}: {}, {} unchanged.", self.stack, self.summary(), self.count(Action::Keep)));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(action: Action, name: &str, differences: Vec<Difference>, note: Option<&str>) -> Step {
        Step { action, kind: "project", name: name.into(), differences, note: note.map(Into::into) }
    }

    #[test]
    fn a_plan_shows_what_changes_and_counts_what_does_not() {
        let gpus = Difference::between("gpus", 1, 2, false).into_iter().collect();
        let plan = Plan {
            stack: "lab".parse().unwrap(),
            steps: vec![
                step(Action::Create, "a", vec![], None),
                step(Action::Keep, "b", vec![], None),
                step(Action::Refuse, "c\u{1b}[31m", gpus, Some("why")),
            ],
        };
        assert_eq!(
            plan.for_people(),
            "+  project a\n!  project c\\u{1b}[31m (why)\n     gpus: 1 → 2 (requires replacement)\nlab: 1 to create, 1 not possible, 1 unchanged."
        );
        assert!(!plan.does_nothing() && Difference::between("x", "a", "a", true).is_none());
        let nothing = Plan { stack: plan.stack, steps: vec![step(Action::Keep, "b", vec![], None)] };
        assert_eq!(nothing.for_people(), "lab: no changes, 1 unchanged.");
    }
}
