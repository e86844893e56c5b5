//! Documents that are written from the code: policies, lifecycles, meters.

use contract::Word;
use platform::policies::settings::{ALL, Guardrail};

use crate::areas;

/// Every generated file of the control plane, by path.
pub fn generated() -> Vec<(&'static str, String)> {
    vec![
        ("docs/generated/policies.md", policies()),
        ("docs/generated/lifecycles.md", lifecycles()),
        ("docs/generated/meters.md", meters()),
        ("docs/generated/compensation.md", compute::allocations::compensation::table()),
    ]
}

fn policies() -> String {
    let mut out = String::from(
        "# Policies\n\nWritten from `crates/platform/src/policies/settings.rs`; do not edit.\n\n\
         | key | unit | default | values | lowest level | guardrail | description |\n|---|---|---|---|---|---|---|\n",
    );
    for key in ALL {
        let guardrail = match key.guardrail {
            Guardrail::None => "",
            Guardrail::LowerOnly => "lower only",
            Guardrail::RaiseOnly => "raise only",
            Guardrail::StricterOnly => "stricter only",
        };
        out += &format!(
            "| `{}` | {} | {} | {} | {} | {guardrail} | {} |\n",
            key.name,
            key.unit,
            key.default_text(),
            key.accepts(),
            key.deepest,
            key.about.trim()
        );
    }
    out
}

fn lifecycles() -> String {
    let mut out = String::from("# Lifecycles\n\nWritten from each `lifecycle.rs`; do not edit.\n");
    for lifecycle in areas::lifecycles() {
        out += &format!(
            "
## {}

```mermaid
{}```
",
            lifecycle.name,
            (lifecycle.mermaid)()
        );
    }
    out
}

fn meters() -> String {
    let mut out = String::from(
        "# Meters\n\nWritten from the meters that resources register; do not edit.\n\n\
         Metered usage is charged if its SKU has a price with the unit and one of the kinds of the meter.\n\n\
         | meter | subject | unit | measured or counted | kinds of price | description |\n|---|---|---|---|---|---|\n",
    );
    for meter in areas::declared().meters {
        let kinds: Vec<&str> = meter.kinds.iter().map(|it| it.as_str()).collect();
        let how = if meter.unit.is_rate() { "measured over time" } else { "counted" };
        out += &format!(
            "| `{}` | {} | `{}` | {how} | `{}` | {} |\n",
            meter.name,
            meter.subject,
            meter.unit.as_str(),
            kinds.join("`, `"),
            meter.about
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lifecycle_is_sound() {
        let found: Vec<String> = areas::lifecycles().iter().flat_map(|it| (it.unsound)()).collect();
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn every_move_is_an_event_of_the_contract() {
        let known: Vec<&str> = contract::every_event().iter().map(|it| it.subject).collect();
        for lifecycle in areas::lifecycles() {
            for (_, event, _) in (lifecycle.moves)() {
                let subject = format!("{}.{event}", lifecycle.name);
                assert!(known.contains(&subject.as_str()), "declare {subject} in the contract");
            }
        }
    }
}
